"""Which columns become features."""

from __future__ import annotations

from collections.abc import Sequence

from ehnn._utils.validation import short
from ehnn.io._csv_table import Table

from .columns import Feature, learn_feature, values_of
from .feature_doubts import (
    alike_texts,
    counts_rows,
    first_of,
    formatted_numbers,
    joined_texts,
    many_classes,
    odd_numbers,
)
from .frames import FrameTable
from .layouts import expand
from .number_formats import why_texts
from .reader import Reader
from .sheet import Columns, Sheet

_WEIGHTS = {"weight": "--weight-column", "edge_weight": "--edge-weight-column"}


def choose_features(
    reader: Reader, sheet: Sheet, own_table: bool, wanted: Sequence[str] | None
) -> tuple[tuple[Feature, ...], tuple[Feature, ...], list[str]]:
    """Features of nodes and of sets, and remarks on columns that are not used.

    ``own_table``: nodes have a table of their own; ``wanted`` are columns that the user named.
    """
    taken = {reader.label, reader.id_column} | sheet.layout.named
    of_nodes: list[str] = []
    if own_table and sheet.nodes is not None:
        of_nodes = [c for c in sheet.nodes.table.columns if c not in taken]
    of_sets: list[str] = []
    if wanted is not None:
        of_nodes, of_sets = _chosen(reader, sheet, wanted)
    node_found, node_told = _learned(sheet.nodes, of_nodes, sheet.h.num_nodes, wanted is not None)
    set_found, set_told = _learned(sheet.edges, of_sets, sheet.h.num_edges, wanted is not None)
    remarks = _unread(sheet, own_table, {*taken, *of_nodes, *of_sets})
    remarks += _called_alike(reader, sheet, taken - set(of_nodes)) if own_table else []
    return node_found, set_found, [*node_told, *set_told, *remarks]


def _chosen(reader: Reader, sheet: Sheet, wanted: Sequence[str]) -> tuple[list[str], list[str]]:
    """The columns of --feature-columns: of what has the labels, or else of the others."""
    sides = [sheet.edges, sheet.nodes] if reader.task == "sets" else [sheet.nodes, sheet.edges]
    there = [side for side in sides if side is not None]
    if wanted and not there:
        raise ValueError(f"--feature-columns: {sheet.path} says nothing about {reader.task}; give --nodes")
    found: dict[str, list[str]] = {"node": [], "set": []}
    for name in wanted:
        side = next((s for s in there if _holds(s, name)), there[0])
        found[side.what] += [c for c in expand(side.table, [name]) if c not in found[side.what]]
    if reader.label in (*found["node"], *found["set"]):
        raise ValueError(
            f"--feature-columns: {reader.label!r} is the label, which would give the answer away"
        )
    return found["node"], found["set"]


def _holds(columns: Columns, name: str) -> bool:
    """Whether a name or pattern is of a column of this table."""
    try:
        return bool(expand(columns.table, [name]))
    except ValueError:
        return False


def _learned(
    columns: Columns | None, names: Sequence[str], count: int, must: bool
) -> tuple[tuple[Feature, ...], list[str]]:
    if columns is None or not names:
        return (), []
    found = [_feature(columns, name, count, must) for name in names]
    path, unused = columns.table.path, ": not used" * (not must)
    problems = [
        f"{path}: {why}{unused}{_hint(columns, name, count)}"
        for name, why in zip(names, found, strict=True)
        if isinstance(why, str)
    ]
    if problems and must:
        raise ValueError(f"--feature-columns: {problems[0]}")
    features = tuple(f for f in found if not isinstance(f, str))
    doubts = [
        formatted_numbers(f, columns)
        or joined_texts(f, columns)
        or alike_texts(f, columns)
        or many_classes(f, columns, count)
        or odd_numbers(f, columns, count)
        for f in features
    ]
    told = first_of(problems, path, "are not used")
    return features, [*told, *first_of(list(filter(None, doubts)), path, "are like that")]


def _hint(columns: Columns, name: str, count: int) -> str:
    """What may make a column useful that is not used."""
    return "" if _is_faulty(columns.table, name) else why_texts(values_of(columns, name, count).used)


def _is_faulty(table: Table, name: str) -> bool:
    return isinstance(table, FrameTable) and name in table.faults


def _feature(columns: Columns, name: str, count: int, must: bool) -> Feature | str:
    """How a column becomes numbers, or why it does not: the order of the rows may give the labels away."""
    if not must and _is_faulty(columns.table, name):
        return f"column {short(name)} holds other things than texts, numbers and lists of names"
    if not must and counts_rows(columns.table, name):
        return f"column {short(name)} counts the rows"
    return learn_feature(columns, name, count)


def _called_alike(reader: Reader, sheet: Sheet, taken: set[str | None]) -> list[str]:
    """A remark on columns of the table of nodes that are not read because one of the sets is called so."""
    table = None if sheet.nodes is None else sheet.nodes.table
    if table is None or table.path == sheet.path:
        return []
    unread = [c for c in table.columns if c in taken - {reader.label, reader.id_column}]
    told = f"columns called as those of {sheet.path} that say who is in which set: {short(unread, 300)}"
    return [f"{table.path}: {told}; not used; to learn from them: --feature-columns"] * bool(unread)


def _unread(sheet: Sheet, own_table: bool, used: set[str | None]) -> list[str]:
    """A remark on columns of the table of sets that nothing reads."""
    columns = sheet.edges or sheet.nodes
    if columns is None or (own_table and columns is sheet.nodes):
        return []
    table = columns.table
    unread = [c for c in table.columns if c not in used]
    remarks = []
    for name, option in _WEIGHTS.items():
        if name in unread and sheet.layout.kind != "hif":
            remarks.append(f"{table.path}: column {name!r} is not read; as weights: {option} {name}")
            unread.remove(name)
    if unread:
        told = f"columns that are not read: {short(unread, 300)}; to learn from them: --feature-columns"
        names = [c for c in unread if columns is sheet.edges and _may_name(table, c)]
        if names and sheet.layout.edge is None:
            told += f"; if {names[0]!r} names the sets: --edge-column {names[0]}"
        remarks.append(f"{table.path}: {told}")
    return remarks


def _may_name(table: Table, column: str) -> bool:
    """Whether each row has a short text of its own, which is no record or list."""
    texts = table.columns[column].texts
    return len(texts) == table.size and all(0 < len(t) < 80 and t[0] not in "[{" for t in texts)
