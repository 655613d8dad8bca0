"""Tables of 0 and 1: a column for each set, or for each member."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph
from ehnn.io._cells import Cells, is_missing
from ehnn.io._csv_table import Table

from .doubts import doubts
from .layouts import Layout
from .number_formats import is_number
from .sheet import Columns, Sheet

_YES = frozenset((
    "1", "1.0", "true", "yes", "y", "x", "t", "✓", "✔", "☑", "☒", "wahr", "ja", "vrai", "oui",
    "verdadero", "si", "sí", "vero", "sì", "verdadeiro", "sim", "waar",
))  # fmt: skip
_NO = frozenset((
    "0", "0.0", "false", "no", "n", "f", "✗", "✘", "☐", "falsch", "nein", "faux", "non",
    "falso", "não", "onwaar", "nee",
))  # fmt: skip


def is_yes(text: str) -> bool:
    """Whether a cell says yes, as programs and people write it."""
    return text.lower() in _YES


def is_truth(text: str) -> bool:
    """Whether a cell says yes or no, or nothing."""
    return text.lower() in _YES or text.lower() in _NO or is_missing(text)


def is_one_hot(columns: Sequence[Cells]) -> bool:
    """Whether all cells say yes or no, and some say each, or one mark stands beside blanks.

    Names of members are other texts.
    """
    texts = {str(text).lower() for cells in columns for text in cells.texts}
    if not all(map(is_truth, texts)):
        return False
    marks = {text for text in texts if not is_missing(text)}
    return bool(texts & _YES) and (bool(texts & _NO) or (len(marks) == 1 and marks != texts))


def read_one_hot_sets(names: Sequence[str], table: Table) -> Hypergraph:
    """A row per set and a column of 0 and 1 for each member, which is called as its column."""
    columns = _truths(names, table, "--member-columns")
    edge, node = _ones(columns)
    return Hypergraph.from_incidence((node, edge), len(columns), len(columns[0]), node_names=tuple(names))


def _truths(names: Sequence[str], table: Table, option: str) -> list[Cells]:
    """The columns, which must hold 0 and 1."""
    columns = [table.column(name) for name in names]
    for name, cells in zip(names, columns, strict=True):
        wrong = ~cells.where(is_truth)
        if wrong.any():
            row = int(np.argmax(wrong))
            told = f"column {short(name)} of {option} must hold 0 and 1, got {short(cells[row])}"
            raise ValueError(f"{table.place(row)}: {told}")
    return columns


def zeros_as_names(columns: Sequence[Cells], table: Table) -> list[str]:
    """A remark where members are numbers and one is 0; a ValueError where they are counts."""
    texts = {str(text) for cells in columns for text in cells.texts}
    if not all(is_missing(text) or is_number(text) for text in texts):
        return []
    zeros = np.sum([cells.where(lambda t: is_number(t) and float(t) == 0) for cells in columns], 0)
    if (zeros > 1).any():
        raise ValueError(
            f"{table.place(int(np.argmax(zeros > 1)))}: --member-columns hold numbers, and 0 in several "
            "columns: to say who is a member, write 0 and 1; for counts, give a row per member with "
            "--weight-column; where there is no member, leave the cell blank"
        )
    if not zeros.any():
        return []
    return [f"{table.path}: '0' is taken for the name of a member; where there is none, leave the cell blank"]


def check_marks(columns: Sequence[Cells], table: Table) -> None:
    """A ValueError where columns of members seem to hold marks or counts: fewer texts than columns, repeated.

    A set that is full would need as many names as there are columns.
    """
    texts = sorted({str(text) for cells in columns for text in cells.texts if not is_missing(text)})
    if not 0 < len(texts) < len(columns):
        return
    place = {text: i for i, text in enumerate(texts)}
    counts = np.zeros((len(columns[0]), len(texts)), np.int64)
    for cells in columns:
        codes = np.array([place.get(str(text), -1) for text in cells.texts])[cells.codes]
        rows = np.flatnonzero(codes >= 0)
        counts[rows, codes[rows]] += 1
    several, again = (counts.sum(1) > 1).sum(), (counts > 1).any(1).sum()
    numbers = all(map(is_number, texts))
    one = len(texts) == 1 and sum(texts[0] in cells.texts for cells in columns) > 1
    if not one and not (again if numbers else 2 * again > several):
        return
    raise ValueError(
        f"{table.path}: the {len(columns)} columns of --member-columns hold {short(texts, 60)} alone, which "
        "look like marks or counts, not names. To say who is a member, write 1 and 0; for counts, give a "
        "row per member with --weight-column; if they are names, leave out those that a row has twice"
    )


def columns_of_counts(names: Sequence[str], columns: Sequence[Cells], table: Table) -> list[str]:
    """A remark where one column of members holds numbers alone, and the others hold none of these."""
    texts = [{str(text) for text in cells.texts if not is_missing(text)} for cells in columns]
    numbers = [bool(own) and all(map(is_number, own)) for own in texts]
    if sum(numbers) != 1 or len(columns) < 3:
        return []
    place = numbers.index(True)
    others = set().union(*(own for i, own in enumerate(texts) if i != place))
    if not texts[place].isdisjoint(others) or any(map(is_number, others)):
        return []
    told = f"column {short(names[place])} of --member-columns holds numbers, which are taken for members"
    return [f"{table.path}: {told}; if they say how many there are, leave the column out"]


def read_matrix(layout: Layout, table: Table) -> Sheet:
    """A row per node and a column of 0 and 1 for each set, which is called as its column."""
    columns = _truths(layout.sets, table, "--set-columns")
    names = _node_names(table, layout.node)
    node, edge = _ones(columns)
    h = Hypergraph.from_incidence(
        (node, edge), table.size, len(columns), node_names=names, edge_names=layout.sets
    )
    about = Columns(table, np.arange(table.size), "node", names)
    return Sheet(
        table.path, layout, h, about, None, lambda e: f"{table.path}, column {short(layout.sets[e], 40)}",
        remarks=() if layout.node is None else tuple(doubts(table, layout.node)),
    )  # fmt: skip


def _ones(columns: Sequence[Cells]) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each cell that says yes."""
    rows = [np.flatnonzero(cells.where(is_yes)) for cells in columns]
    column = np.repeat(np.arange(len(columns)), [len(part) for part in rows])
    return np.concatenate([*rows, np.zeros(0, np.int64)]).astype(np.int64), column


def _node_names(table: Table, column: str | None) -> tuple[str, ...]:
    if column is None:
        return tuple(map(str, range(1, table.size + 1)))
    cells = table.column(column)
    if "" in cells.texts:
        raise ValueError(f"{table.place(cells.first(''))}: column {short(column)} is blank")
    if len(cells.texts) != table.size:
        again = int(np.argmax(np.bincount(cells.codes) > 1))
        row = int(np.flatnonzero(cells.codes == again)[1])
        told = f"{short(cells[row])} names a second node in column {short(column)}"
        raise ValueError(f"{table.place(row)}: {told}")
    return tuple(cells.tolist())
