"""Columns of names in which something else may stand."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable

import numpy as np

from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph
from ehnn.io._csv_table import Table

from .alike import says_none
from .frames import FrameTable
from .layouts import Layout
from .lists import list_among
from .number_formats import is_number

_SUMS = frozenset((
    "total", "grand total", "subtotal", "sum", "summe", "gesamt", "gesamtergebnis", "insgesamt", "totale",
    "итого",
))  # fmt: skip
_SHOWN = 3
_SHORTENED = re.compile(r"\d(\.\d+)?(E\+?|e\+)\d+")


def doubts(table: Table, column: str, blank: str = "leave out its row") -> list[str]:
    """Remarks on names in a column that may be none, or several in one; ``blank``: how to say none."""
    cells, found = table.column(column), []
    if isinstance(table, FrameTable) and column in table.rounded:
        found.append("numbers with a point that are rounded: several may be one; keep long numbers as text")
    missing = cells.where(lambda text: text and says_none(text))
    if missing.any():
        names = sorted({cells[int(row)] for row in np.flatnonzero(missing)})
        told = f"the name{'s' * (len(names) > 1)} {', '.join(map(repr, names[:_SHOWN]))}"
        told += ", …" * (len(names) > _SHOWN) + f" in {missing.sum()} rows"
        found.append(f"{told}; where it means that there is none, {blank}")
    found += [*_swallowed_rows(table, column), *shortened_names(cells.texts.tolist())]
    sums = cells.where(lambda text: text.casefold().rstrip(":") in _SUMS)
    if sums.sum() == 1:
        name = cells[int(np.argmax(sums))]
        found.append(f"the name {name!r} in one row; where that is a row of sums, leave it out")
    return [f"{table.path}: column {short(column)} has {told}" for told in found]


def _swallowed_rows(table: Table, column: str) -> list[str]:
    """A remark where a name holds a line break and what separates cells: a stray quote joins rows."""
    cells, mark = table.column(column), table.delimiter
    joined = cells.where(lambda text: mark and "\n" in text and mark in text)
    if not joined.any():
        return []
    row = int(np.argmax(joined))
    told = f"the name {short(cells[row], 40)}, which holds a line break and {mark!r}"
    return [f"{told}; is a quote missing or too many before {table.place(row)}?"]


def repeated_rows(table: Table) -> list[str]:
    """A remark where rows repeat an earlier row in all columns: a test on copies of training rows is easy."""
    keys, factors = np.zeros(table.size, np.uint64), np.random.default_rng(0)
    for cells in table.columns.values():  # a sum by random factors, equal for equal rows
        factor = factors.integers(1, 2**63, dtype=np.uint64)
        keys += (cells.codes.astype(np.uint64) + np.uint64(1)) * factor
    again = table.size - len(np.unique(keys))
    if not again:
        return []
    told = f"{again} of {table.size} rows repeat an earlier row; where they are copies, leave them out"
    return [f"{table.path}: {told}, because a test on copies of rows of training is too easy"]


def shortened_names(names: Iterable[Hashable]) -> list[str]:
    """A remark on names such as ``1.2E+11``, or ``1.2e+11`` as pandas writes them."""
    name = next((name for name in names if _SHORTENED.fullmatch(str(name))), None)
    if name is None:
        return []
    return [f"names such as {name!r}: a spreadsheet may have made one of several long numbers"]


def check_names(table: Table, node: str, edge: str) -> None:
    """A ValueError where a column of names holds lists."""
    for column, option in ((node, "--node-column"), (edge, "--edge-column")):
        if column in table.lists:
            raise ValueError(f"{table.path}: {option}: {_row_is_set(column, node, edge)}")


def _row_is_set(column: str, node: str, edge: str) -> str:
    other = edge if column == node else node
    how = f"--edge-column {other} --member-columns {column}"
    what = "" if column == node else f"; each name of column {short(node)} is a set then, and has the labels"
    return f"column {short(column)} holds lists; where a row is a list of names: {how}{what}"


def lists_as_names(layout: Layout, h: Hypergraph) -> list[str]:
    """A remark where each set has one member, or each node one set, and these look like lists."""
    assert layout.node is not None
    assert layout.edge is not None
    for column, names, counts in (
        (layout.node, h.node_names, h.orders),
        (layout.edge, h.edge_names, h.degrees),
    ):
        example = None if bool((counts > 1).any()) else list_among([str(name) for name in names or ()])
        if example is not None:
            told = _row_is_set(column, layout.node, layout.edge).replace("holds lists", "may hold lists")
            return [f"{told}; one of them is {short(example)}"]
    return []


def no_sets(layout: Layout, h: Hypergraph) -> list[str]:
    """A remark on a table to learn from whose rows are pairs of nodes, or whose sets have one member each."""
    if layout.kind != "pairs" or h.num_edges < 3:
        return []
    nodes = set(h.node_names or ())
    shared = [name for name in h.edge_names or () if name in nodes and not is_number(str(name))]
    if 2 * len(shared) > h.num_edges:
        told = (
            f"{len(shared)} of {h.num_edges} names of sets are names of nodes too, {short(shared[0])} for one"
        )
        how = f"--member-columns {layout.node} {layout.edge}"
        return [f"{told}; where a row is a pair of nodes, which is a set of two: {how}"]
    if not bool((h.orders > 1).any()):
        return [f"no set in column {short(layout.edge)} has two members, so the sets tell nothing of nodes"]
    return []
