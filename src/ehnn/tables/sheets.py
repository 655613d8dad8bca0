"""A file or DataFrame of sets as a hypergraph with names, and columns about nodes and sets."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph
from ehnn.io import from_named_edges
from ehnn.io._cells import NO_NAME
from ehnn.io._csv_roles import read_roles, role_words
from ehnn.io._csv_sides import Side, as_floats
from ehnn.io._csv_table import Table
from ehnn.io._csv_values import ONE_ROLE, ONE_WEIGHT, NotNumbersError, check_one, parse
from ehnn.io._support import raw_bytes, read_text, reading_once

from .alike import alike_names, counted_names, one_writing, says_none
from .doubts import check_names, doubts, lists_as_names, repeated_rows, shortened_names
from .frames import is_frame
from .hif import check_options, is_hif, read_attributes
from .layouts import Layout, check_source, open_table
from .lists import between, joined_members, separator_of, split_lists
from .matrices import (
    check_marks,
    columns_of_counts,
    is_one_hot,
    read_matrix,
    read_one_hot_sets,
    zeros_as_names,
)
from .number_formats import why_texts
from .sheet import Columns, IncidenceNames, Sheet, first_rows


@reading_once()
def read_sheet(data: Any, layout: Layout, loose: bool = False) -> Sheet:
    """Read ``data``, a file or DataFrame of sets, whose columns ``layout`` names.

    With ``loose``, a column with the names of sets need not be there.

    Raises:
        ValueError: names the file, the line and the column.

    >>> from pathlib import Path
    >>> _ = Path("members.csv").write_text("person,club\\nann,chess\\nbo,chess\\nbo,tennis\\n")
    >>> read_sheet("members.csv", Layout(node="person", edge="club")).h.node_names
    ('ann', 'bo')
    """
    found = _read(data, layout, loose)
    alike = [*alike_names(found.h.node_names or (), "nodes"), *alike_names(found.h.edge_names or (), "sets")]
    alike += counted_names(found.h.node_names or ()) if found.layout.kind in ("sets", "lines") else []
    remarks = (*found.remarks, *(f"{found.path}: {told}" for told in alike))
    return replace(found, digest=digest_of(data), remarks=remarks)


def digest_of(data: Any) -> str:
    """A SHA-256 sum of a file, or of the cells of a DataFrame."""
    if not is_frame(data):
        return hashlib.sha256(raw_bytes(data)).hexdigest()
    found = hashlib.sha256()
    for name, cells in open_table(data).columns.items():
        found.update(json.dumps([name, cells.texts.tolist()]).encode() + cells.codes.tobytes())
    return found.hexdigest()


def _read(data: Any, layout: Layout, loose: bool) -> Sheet:
    check_source(data)
    if not is_frame(data):
        path = Path(data)
        told, layout = layout.kind != "auto", layout.of_file(path)
        if layout.kind == "lines":
            return _lines(path, layout, told)
        if layout.kind == "hif":
            if told or is_hif(path):
                return read_attributes(path, layout)
            layout = replace(layout, kind="auto")
        else:
            check_options(path, layout)
    table = open_table(data, layout.delimiter, layout.header)
    layout = replace(layout.of_table(table, loose), delimiter=table.delimiter or None)
    found = {"sets": _sets, "pairs": _pairs, "matrix": read_matrix}[layout.kind](layout, table)
    if table.header or not table.comments:
        return found
    above = f"{table.path}: lines at the top that begin with '#' are left out: {table.comments}"
    return replace(found, remarks=(above, *found.remarks))


def _pairs(layout: Layout, table: Table) -> Sheet:
    assert layout.node is not None
    assert layout.edge is not None
    keys = (layout.node, layout.edge)
    check_names(table, *keys)
    node, edge = (
        Side.read(table, key, None, "text", None, what)
        for key, what in zip(keys, ("node", "hyperedge"), strict=True)
    )
    rows = np.flatnonzero((node.owner >= 0) & (edge.owner >= 0))
    weight = None if layout.weight is None else _weights(table, layout.weight, rows)
    ends, roles = (node.owner[rows], edge.owner[rows]), None
    if weight is not None and layout.weight is not None:
        check_one(table, layout.weight, rows, ends, weight.numpy(), ONE_WEIGHT)
    if layout.role is not None:
        words = layout.role_words or role_words(table, layout.role, rows)
        roles = read_roles(table, layout.role, rows, ends, words)
        check_one(table, layout.role, rows, ends, roles, ONE_ROLE)
        layout = replace(layout, role_words=words)
    if layout.edge_weight is not None:
        filled = table.column(layout.edge_weight).where(bool)
        _weights(table, layout.edge_weight, np.flatnonzero((edge.owner >= 0) & filled))
    h = Hypergraph.from_incidence(
        ends, len(node.names), len(edge.names), incidence_weight=weight, roles=roles,
        edge_weight=None if layout.edge_weight is None else as_floats(edge.numbers(layout.edge_weight)),
        node_names=tuple(node.names), edge_names=tuple(edge.names),
    )  # fmt: skip
    first = first_rows(edge.owner, len(edge.names))
    sides = Columns(table, node.owner, "node", node.names), Columns(table, edge.owner, "set", edge.names)
    pair = np.full(table.size, -1)
    pair[rows] = _incidence_numbers(h, *ends)
    within = Columns(table, pair, "the node in the set", IncidenceNames(h))
    again, nameless = len(rows) - h.num_incidences, _nameless(node.owner, edge.owner, h)
    remarks = [f"{table.path}: {again} of {len(rows)} rows repeat a node of a set; they count once"] * bool(
        again
    )
    for key in keys:
        remarks += doubts(table, key, "leave it blank")
    remarks += [f"{table.path}: {told}" for told in lists_as_names(layout, h)]
    if len(nameless):
        told = f"rows without a name in column {short(layout.node)} are left out: {len(nameless)}"
        remarks.append(f"{table.path}: {told}, the first is {table.place(int(nameless[0]))}")
    setless = np.flatnonzero((node.owner >= 0) & (edge.owner < 0))
    if len(setless):
        told = f"rows without a name in column {short(layout.edge)} put their node in no set: {len(setless)}"
        told += f", the first is {table.place(int(setless[0]))}"
        above = "; where a blank cell means the name above it, as merged cells do, fill it in"
        remarks.append(f"{table.path}: {told}{above * (len(setless) > len(rows))}")
    if weight is not None and len(zeros := np.flatnonzero(weight.numpy() == 0)):
        told = f"column {short(layout.weight)} is 0 in {len(zeros)} rows, which count as members of the set"
        remarks.append(f"{table.path}: {told}, the first is {table.place(int(rows[zeros[0]]))}")
    return Sheet(
        table.path, layout, h, *sides, lambda e: table.place(int(first[e])), remarks=tuple(remarks),
        incidences=within,
    )  # fmt: skip


def _weights(table: Table, column: str, rows: np.ndarray) -> Tensor:
    """The weights in some rows; a ValueError names the line of the first that is none."""
    try:
        values = as_floats(parse(table, column, rows, float))
    except NotNumbersError as error:
        texts = filter(None, table.column(column).tolist())
        raise ValueError(f"{error}{next(filter(None, (why_texts([text]) for text in texts)), '')}") from error
    wrong = np.flatnonzero(~(np.isfinite(values.numpy()) & (values.numpy() >= 0)))
    if len(wrong):
        row = int(rows[wrong[0]])
        told = f"column {short(column)} has weights, which must be finite and not negative"
        raise ValueError(f"{table.place(row)}: {told}, got {short(table.column(column)[row])}")
    return values


def _nameless(node: np.ndarray, edge: np.ndarray, h: Hypergraph) -> np.ndarray:
    """Rows of a set without a node, other than those that say that a set has none."""
    filled = np.append(h.orders.numpy() > 0, False)  # the last is of rows without a set
    return np.flatnonzero((node < 0) & filled[edge])


def _incidence_numbers(h: Hypergraph, node: np.ndarray, edge: np.ndarray) -> np.ndarray:
    """``[len(node)]`` the column of ``h.index`` with each (node, hyperedge)."""
    of_h = h.index.numpy()
    return np.searchsorted(of_h[1] * h.num_nodes + of_h[0], edge * h.num_nodes + node)


def _sets(layout: Layout, table: Table) -> Sheet:
    names = _set_names(table, layout.edge)
    about = Columns(table, np.arange(table.size), "set", names)
    remarks: list[str] = []
    columns = [table.column(name) for name in layout.members]
    first = layout.one_hot is None
    if len(columns) > 1 and first:
        layout = replace(layout, one_hot=is_one_hot(columns))
    if len(columns) > 1 and layout.one_hot:
        h = read_one_hot_sets(layout.members, table)
    elif len(columns) > 1:
        remarks += [*zeros_as_names(columns, table), *columns_of_counts(layout.members, columns, table)]
        if first:
            check_marks(columns, table)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        lists = [["" if name in NO_NAME else name for name in row] for row in rows]
        lists, told = one_writing(lists)
        remarks += [f"{table.path}: {one}" for one in told]
        words = sorted({str(text) for cells in columns for text in cells.texts if text} & NO_NAME)
        if words:
            remarks.append(
                f"{table.path}: cells that say {', '.join(words)} are taken as blank in --member-columns"
            )
        h = _from_lists(lists, table.path, remarks)
    elif layout.members[0] in table.lists:
        h = _from_lists(table.lists[layout.members[0]], table.path, remarks)
    else:
        lists, separator, remarks = split_lists(columns[0].tolist(), layout.separator, table)
        layout, h = replace(layout, separator=separator), _from_lists(lists, table.path, remarks)
    if layout.edge_weight is not None:
        h = h.replace(edge_weight=_weights(table, layout.edge_weight, np.arange(table.size)))
    h = h.replace(edge_names=names)
    if layout.edge is None:
        remarks += repeated_rows(table)
    else:
        remarks += doubts(table, layout.edge)
    empty = np.flatnonzero(h.orders.numpy() == 0)
    if len(empty):
        remarks.append(
            f"{table.path}: sets without a member: {len(empty)}, the first is {table.place(int(empty[0]))}"
        )
    return Sheet(table.path, layout, h, None, about, table.place, remarks=tuple(remarks))


def _from_lists(lists: Sequence[Sequence[str]], path: str, remarks: list[str]) -> Hypergraph:
    """A hypergraph from lists of names, in which blanks do not count; ``remarks`` say what is there twice."""
    members = [[name for name in map(str.strip, one) if name] for one in lists]
    h = from_named_edges(members)
    missing = [name for name in h.node_names or () if says_none(str(name))]
    if missing:
        told = f"{missing[0]!r} is taken for the name of a member; where it means that there is none"
        remarks.append(f"{path}: {told}, leave it out")
    remarks += [f"{path}: {told}" for told in shortened_names(h.node_names or ())]
    again = sum(map(len, members)) - h.num_incidences
    if again:
        remarks.append(f"{path}: members that a set has twice count once: {again}")
    return h


def _set_names(table: Table, column: str | None) -> tuple[str, ...]:
    """The names in a column, distinct; the numbers of the rows from 1 where there is none."""
    if column is None:
        return tuple(map(str, range(1, table.size + 1)))
    names = table.column(column)
    if "" in names.texts:
        raise ValueError(
            f"{table.place(names.first(''))}: column {short(column)} is blank; give the set a name, or leave "
            "out the row"
        )
    if len(names.texts) != len(names):
        first = first_rows(names.codes, len(names.texts))[names.codes]
        again = int(np.flatnonzero(first != np.arange(len(names)))[0])
        before = int(first[again])
        if all(table.column(c)[again] == table.column(c)[before] for c in table.columns):
            raise ValueError(f"{table.place(again)}: the row repeats {table.place(before)}; leave one out")
        raise ValueError(
            f"{table.place(again)}: {short(names[again])} names a second set in column {short(column)}; "
            "where a row is one member of a set, give --node-column and --edge-column"
        )
    return tuple(names.tolist())


def _lines(path: Path, layout: Layout, told: bool) -> Sheet:
    rows = read_text(path).splitlines(keepends=True)
    above = next((i for i, row in enumerate(rows) if row.strip() and not _is_comment(row)), len(rows))
    comments, text = sum(map(_is_comment, rows[:above])), "".join(rows[above:])
    lines = [line for line in text.splitlines() if line.strip()]
    remarks = [f"{path}: lines that begin with '# ' are left out: {comments}"] * bool(comments)
    if not lines:
        raise ValueError(f"{path} is empty: expected a set of names in each line")
    separator = layout.separator or separator_of(lines)
    if layout.separator is None:
        remarks += [f"{path}: {told}" for told in between(separator, lines)]
    if separator is None or len(separator) > 1:
        lists = [line.split(separator) for line in lines]
    else:
        lines_of = io.StringIO(text, newline="")
        reader = csv.reader(lines_of, delimiter=separator, skipinitialspace=True, strict=True)
        try:
            lists = [row for row in reader if any(map(str.strip, row))]
        except csv.Error as error:
            raise ValueError(f"{path}, line {above + reader.line_num}: {error}") from error
    h = _from_lists(lists, str(path), remarks)
    remarks += [f"{path}: {one}" for one in joined_members(lists)]
    if not told and h.num_edges > 2 and bool((h.orders == 2).all()):
        raise ValueError(
            f"{path}: each of the {h.num_edges} lines has two names. A node and its set: --layout pairs "
            "--no-header --node-column 1 --edge-column 2. Two nodes that form a set: --layout lines"
        )
    if not told and _is_table([line.split(separator) for line in lines]):
        raise ValueError(
            f"{path}: all {len(lines)} lines have as many names, none of them in two columns. A table: "
            "give --node-column and --edge-column, or --member-columns. A set in each line: --layout lines"
        )
    names = tuple(map(str, range(1, h.num_edges + 1)))
    layout = replace(layout, separator=separator)
    return Sheet(
        str(path), layout, h.replace(edge_names=names), None, None, lambda e: f"{path}, set {e + 1}",
        remarks=tuple(remarks),
    )  # fmt: skip


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Whether lines are rows of one length, no name is in two columns, and a column has names again."""
    if len(rows) < 10 or len(rows[0]) < 3 or len(set(map(len, rows))) > 1:
        return False
    columns = [set(map(str.strip, column)) for column in zip(*rows, strict=True)]
    apart = sum(map(len, columns)) == len(set().union(*columns))
    return apart and 2 * min(map(len, columns)) <= len(rows)


def _is_comment(row: str) -> bool:
    """Whether a line above the sets is a comment: ``# text``, not ``#name``."""
    return row.rstrip() == "#" or row.startswith("# ")
