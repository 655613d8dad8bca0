"""A file of sets as a hypergraph with names, and as columns of what is said about nodes and sets."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import typer

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.validate import short
from ehnn.io import from_named_edges, read_edge_lines, read_hif
from ehnn.io._csv_sides import Side
from ehnn.io._csv_table import NO_NAME, Table
from ehnn.io._names import factorize
from ehnn.io._support import read_text

from .layouts import Layout, open_table

SEPARATORS = ("\t", ";", "|", ",")
_LITERAL = re.compile(r"(\[.*\]|\{.*\}|\(.*\)|(frozenset|set|array|Index)\(.*\))\Z", re.DOTALL)
"""A cell that is a list in Python's or JSON's writing, or meant to be one."""
_ADJACENT = re.compile(r"""['"]\s+['"]""")


@dataclass
class Columns:
    """A table whose rows are about nodes, or about sets; ``owner`` (``[rows]``) says which, -1: none.

    ``what`` they are ("node", "set") and their ``names`` are for messages.
    """

    table: Table
    owner: np.ndarray
    what: str
    names: Sequence[Hashable]


@dataclass
class Sheet:
    """What was read. Names are text. ``nodes`` and ``edges``: what the file says about them, if it does.

    ``line(edge)`` is where a set stands, for messages; ``id_column`` is that of a table of nodes.
    """

    path: Path
    layout: Layout
    h: Hypergraph
    nodes: Columns | None
    edges: Columns | None
    line: Callable[[int], str]
    id_column: str | None = None


def read_sheet(path: Path, layout: Layout, loose: bool = False) -> Sheet:
    """Read a file of sets; ``loose``: a column with the names of sets need not be there.

    Raises:
        ValueError: names the file, the line and the column.
    """
    layout = layout.of_file(path)
    if layout.kind == "lines":
        return _lines(path, layout)
    if layout.kind == "hif":
        return _hif(path, layout)
    table = open_table(path, layout.delimiter)
    layout = replace(layout.of_table(table, loose), delimiter=table.delimiter)
    return (_sets if layout.kind == "sets" else _pairs)(path, layout, table)


def _pairs(path: Path, layout: Layout, table: Table) -> Sheet:
    assert layout.node is not None
    assert layout.edge is not None
    node, edge = (
        Side.read(table, key, None, "text", None, what)
        for key, what in ((layout.node, "node"), (layout.edge, "hyperedge"))
    )
    rows = np.flatnonzero((node.owner >= 0) & (edge.owner >= 0))
    h = Hypergraph.from_incidence(
        (node.owner[rows], edge.owner[rows]), len(node.names), len(edge.names),
        node_names=tuple(node.names), edge_names=tuple(edge.names),
    )  # fmt: skip
    first = _first(edge.owner, len(edge.names))
    sides = Columns(table, node.owner, "node", node.names), Columns(table, edge.owner, "set", edge.names)
    return Sheet(path, layout, h, *sides, lambda e: table.place(int(first[e])))


def _sets(path: Path, layout: Layout, table: Table) -> Sheet:
    columns = [table.column(name) for name in layout.members]
    if len(columns) == 1:
        lists, separator = _split(columns[0], layout.separator, table)
        layout = replace(layout, separator=separator)
    else:
        rows = zip(*columns, strict=True)
        lists = [["" if name in NO_NAME else name for name in row] for row in rows]
    names = _set_names(table, layout.edge)
    h = _from_lists(lists).replace(edge_names=names)
    return Sheet(path, layout, h, None, Columns(table, np.arange(table.size), "set", names), table.place)


def _from_lists(lists: Sequence[Sequence[str]]) -> Hypergraph:
    """A hypergraph from lists of names, in which blanks do not count."""
    return from_named_edges([[name for name in map(str.strip, one) if name] for one in lists])


def _set_names(table: Table, column: str | None) -> tuple[str, ...]:
    """The names in a column, distinct; the numbers of the rows from 1 where there is none."""
    if column is None:
        return tuple(map(str, range(1, table.size + 1)))
    names = table.column(column)
    codes, distinct = factorize(names)
    if "" in names:
        raise ValueError(f"{table.place(names.index(''))}: column {column!r} is blank")
    if len(distinct) != len(names):
        first = _first(codes, len(distinct))[codes]
        again = int(np.flatnonzero(first != np.arange(len(names)))[0])
        before = int(first[again])
        if all(table.column(c)[again] == table.column(c)[before] for c in table.columns):
            raise ValueError(f"{table.place(again)}: the row repeats {table.place(before)}; leave one out")
        raise ValueError(
            f"{table.place(again)}: {short(names[again])} names a second set in column {column!r}; "
            "where a row is one member of a set, give --node-column and --edge-column"
        )
    return tuple(names)


def _split(cells: list[str], separator: str | None, table: Table) -> tuple[list[list[str]], str | None]:
    """The lists in a column, ``a;b;c`` or ``["a", "b"]`` as JSON and Python write them; what is between."""
    meant = [_LITERAL.match(cell) is not None for cell in cells if cell]
    if separator is None and 2 * sum(meant) > len(meant):
        return [_literal(cell, row, table) for row, cell in enumerate(cells)], None
    if separator is None:
        separator = separator_of(cells)
        _say_if_rare(separator, cells)
    if separator is None and any(len(cell.split()) > 1 for cell in cells):
        separator = " "
    return [cell.split(None if separator == " " else separator) for cell in cells], separator


def _say_if_rare(separator: str | None, cells: list[str]) -> None:
    """A separator that was guessed and is in few cells may be a slip of the pen."""
    holding = sum(separator in cell for cell in cells) if separator else 0
    if separator and 2 * holding < sum(map(bool, cells)):
        typer.echo(
            f"Note: members are split at {separator!r}, which is in {holding} of {len(cells)} cells; "
            "another one: --separator",
            err=True,
        )


def separator_of(texts: Sequence[str]) -> str | None:
    """The first separator in a fifth of the texts that may be of several members; None is any white space.

    A semicolon or a bar counts where it is rarer too: names of several words do not hold one.
    """
    several = [text for text in texts if len(text.split()) > 1 or any(s in text for s in SEPARATORS)]
    often = (s for s in SEPARATORS if sum(s in text for text in several) * 5 >= len(several) > 0)
    rare = (s for s in (";", "|") if any(s in text for text in several))
    return next(often, next(rare, None))


def _literal(cell: str, row: int, table: Table) -> list[str]:
    """The names in ``["a", "b"]`` as JSON and Python write it; None and null are blanks."""
    if cell in NO_NAME:
        return []
    try:
        names = [_name(name) for name in _parsed(cell)]
        "".join(names).encode()  # half of a character could be written to no file
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        example = '["a", "b"]'
        raise ValueError(
            f"{table.place(row)}: {short(cell)} is not a list of names, such as {example}, as other cells are"
        ) from None
    return names


def _name(value: Any) -> str:
    if not isinstance(value, (str, int, float, type(None))):
        raise TypeError
    return "" if value is None else str(value)


def _parsed(cell: str) -> Sequence[Any]:
    try:
        found = json.loads(cell)
    except ValueError:
        if _ADJACENT.search(cell):  # as NumPy prints: Python would make one name of two
            raise
        found = ast.literal_eval(cell)
    if isinstance(found, str):  # ('ann')
        return [found]
    if isinstance(found, set):
        return sorted(found, key=str)
    if not isinstance(found, (list, tuple)):
        raise TypeError
    return found


def _lines(path: Path, layout: Layout) -> Sheet:
    text = read_text(path)
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError(f"{path} is empty: expected a set of names in each line")
    separator = layout.separator or separator_of(lines)
    if separator is None or len(separator) > 1:
        h = read_edge_lines(path, separator=separator, named=True, skip_blank=True)
    else:
        lines_of = io.StringIO(text, newline="")
        reader = csv.reader(lines_of, delimiter=separator, skipinitialspace=True, strict=True)
        try:
            h = _from_lists([row for row in reader if any(map(str.strip, row))])
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from error
    names = tuple(map(str, range(1, h.num_edges + 1)))
    layout = replace(layout, separator=separator)
    return Sheet(path, layout, h.replace(edge_names=names), None, None, lambda e: f"{path}, set {e + 1}")


# ---------------------------------------------------------------------- HIF


class Attributes(Table):
    """The attributes of the nodes or edges of a HIF file, as columns of text."""

    def place(self, row: int) -> str:
        return f"{self.path}, record {row}"


def _hif(path: Path, layout: Layout) -> Sheet:
    h = read_hif(path).replace(x=None, edge_x=None, y=None, edge_weight=None, incidence_weight=None)
    nodes, edges = (
        tuple(map(str, range(count) if names is None else names))
        for names, count in ((h.node_names, h.num_nodes), (h.edge_names, h.num_edges))
    )
    h = h.replace(node_names=nodes, edge_names=edges)
    data = json.loads(read_text(path))
    return Sheet(
        path, layout, h, _attributes(path, data, "node", nodes), _attributes(path, data, "edge", edges),
        lambda e: f"{path}, edge {short(edges[e])}",
    )  # fmt: skip


def _attributes(path: Path, data: dict[str, Any], what: str, names: Sequence[str]) -> Columns:
    records = data.get(f"{what}s", [])
    owner, _ = factorize([str(record[what]) for record in records], names)
    attributes = [record.get("attrs") or {} for record in records]
    keys = dict.fromkeys(chain.from_iterable(attributes))
    columns = {key: ["" if a.get(key) is None else str(a[key]).strip() for a in attributes] for key in keys}
    table = Attributes(str(path), ",", columns, len(records))
    return Columns(table, owner, "set" if what == "edge" else what, names)


def _first(owner: np.ndarray, count: int) -> np.ndarray:
    """``[count]`` the first row of each owner; -1 where it has none."""
    rows = np.flatnonzero(owner >= 0)
    first = np.full(count, -1)
    first[owner[rows][::-1]] = rows[::-1]
    return first
