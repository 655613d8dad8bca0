"""What tables say about nodes or sets: labels, and features as numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.optional import suggest
from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph
from ehnn.io._cells import is_missing
from ehnn.io._csv_table import Table
from ehnn.io._csv_values import as_numbers
from ehnn.io._names import NODE_COLUMNS, factorize

from .alike import known_as
from .doubts import doubts
from .frames import FrameTable
from .layouts import found_columns, open_table
from .number_formats import no_number, why_texts
from .sheet import Columns, Sheet

MAX_CATEGORIES = 64
ALL_DIFFERENT = 0.8
"""Texts so often different from each other tell rows apart, and nothing about them."""


@dataclass(frozen=True)
class Values:
    """What a column says of each owner.

    Attributes:
        codes: ``[owners]`` place in ``texts``, -1 where nothing is said.
        texts: ``[distinct]``.
        rows: ``[owners]`` the row that says it, -1 where none does.
    """

    codes: np.ndarray
    texts: np.ndarray
    rows: np.ndarray

    @property
    def used(self) -> list[str]:
        """The distinct texts that an owner has, sorted."""
        return sorted(self.texts[np.unique(self.codes[self.codes >= 0])].tolist())

    def tolist(self) -> list[str | None]:
        """``[owners]``, None where nothing is said."""
        texts = np.array([*self.texts, None], dtype=object)
        return texts[self.codes].tolist()

    def row_of(self, text: str) -> int:
        """The first row with ``text``."""
        code = int(np.flatnonzero(self.texts == text)[0])
        return int(self.rows[np.argmax(self.codes == code)])


def values_of(columns: Columns, name: str, count: int, hint: str = "") -> Values:
    """What a column says of each of ``count`` owners.

    An owner may have many rows; wherever they have a value it must be the same. ``hint`` tells the user
    what else may be meant where it is not.
    """
    table, owner = columns.table, columns.owner
    cells = table.column(name)
    rows = np.flatnonzero(~cells.where(is_missing) & (owner >= 0))
    first = np.full(count, -1)
    first[owner[rows][::-1]] = rows[::-1]
    differ = cells.codes[rows] != cells.codes[first[owner[rows]]]
    if differ.any():
        row = int(rows[np.argmax(differ)])
        before = int(first[owner[row]])
        whose = f"{columns.what} {short(columns.names[owner[row]])}"
        raise ValueError(
            f"{table.place(row)}: column {short(name)} says {short(cells[row])} of {whose}, but "
            f"{table.place(before)} says {short(cells[before])}{hint}"
        )
    codes = np.where(first >= 0, cells.codes[first].astype(np.int64) if len(cells) else -1, -1)
    return Values(codes, cells.texts, first)


def with_node_table(sheet: Sheet, data: Any, id_column: str | None = None) -> Sheet:
    """``sheet`` with the nodes of a table and what it says about them; nodes that are in no set are added.

    There is a remark for the user where the two tables do not fit together.
    """
    table = open_table(data, name="the table of nodes")
    path = table.path
    key = id_column or _id_column(table, sheet)
    if key is None:
        hint = _SETS if sheet.layout.edge in table.columns else ""
        raise ValueError(
            f"{path}: --id-column must say which column names the nodes; found {found_columns(table)}{hint}"
        )
    if key not in table.columns and not (isinstance(table, FrameTable) and key in table.index):
        raise ValueError(
            f"{table.top}: there is no column {short(key)} with the names of the nodes; found "
            f"{found_columns(table)}; --id-column says what it is called{suggest(key, table.columns)}"
        )
    ids = table.column(key)
    if "" in ids.texts:
        raise ValueError(f"{table.place(ids.first(''))}: column {short(key)} is blank")
    known = sheet.h.node_names or ()
    number, names = factorize(ids.texts.tolist(), known)
    owner = number[ids.codes]
    new = np.flatnonzero(owner >= len(known))
    remarks = doubts(table, key)
    guessed = id_column is None and key != sheet.layout.node and len(table.columns) > 1
    if len(new):
        row = int(new[0])
        hint = _alike(ids[row], known[:10_000]) or known_as([ids[row]], known)
        text = f"{short(ids[row])} ({table.place(row)}){hint}"
        if len(new) == len(ids):
            of_sets = _SETS if set(ids.texts.tolist()) <= set(sheet.h.edge_names or ()) else ""
            took = f"; column {short(key)} was taken for the names, --id-column says otherwise" * guessed
            raise ValueError(
                f"no node of {path} is in a set of {sheet.path}; the first is {text}{of_sets or took}"
            )
        count = len(names) - len(known)
        remarks.append(f"in no set of {sheet.path}: {count} of the nodes of {path}, the first is {text}")
    absent = len(known) - len(np.unique(owner[owner < len(known)]))
    if absent:
        remarks.append(f"not in {path}: {absent} of the {len(known)} nodes of {sheet.path}")
    h = Hypergraph.from_incidence(
        sheet.h.index, len(names), sheet.h.num_edges, edge_weight=sheet.h.edge_weight,
        incidence_weight=sheet.h.incidence_weight, roles=sheet.h.roles, node_names=tuple(names),
        edge_names=sheet.h.edge_names,
    ).replace(num_roles=sheet.h.num_roles)  # fmt: skip
    about = Columns(table, owner, "node", names)
    return replace(sheet, h=h, nodes=about, id_column=key, remarks=(*sheet.remarks, *remarks))


_SETS = (
    "; it is about the sets: to predict their labels, exchange --node-column and --edge-column, which makes "
    "each set a node"
)


def _id_column(table: Table, sheet: Sheet) -> str | None:
    """The column of names: by what it is called, or the one with names of nodes in half of its cells."""
    if sheet.layout.node in table.columns:
        return sheet.layout.node
    called = next((c for c in table.columns if c.lower() in ("id", "name", *NODE_COLUMNS)), None)
    if called is not None:
        return called
    names = {str(name) for name in sheet.h.node_names or ()}
    found = [
        c
        for c, cells in table.columns.items()
        if c != sheet.layout.edge
        and 2 * cells.where(names.__contains__).sum() >= table.size
        and 10 * len(cells.texts) >= 9 * table.size  # ages may be numbers of nodes too, and repeat
    ]
    return found[0] if len(found) == 1 else None


def _alike(name: str, known: Sequence[Hashable]) -> str:
    """A hint at a name that may be meant: other digits make another name, they are no slip."""
    digits = "".join(filter(str.isdigit, name))
    return suggest(name, (k for k in known if "".join(filter(str.isdigit, str(k))) == digits))


# ---------------------------------------------------------------------- features


@dataclass(frozen=True)
class Number:
    """A column of numbers; a missing one is taken to be the mean."""

    column: str
    mean: float

    @property
    def channels(self) -> int:
        """How many numbers it becomes."""
        return 1

    def encode(self, values: Values, table: Table) -> np.ndarray:
        """``[owners, 1]``."""
        used = values.used
        found = as_numbers(used, table)
        good = _fits(found)
        if not good.all():
            wrong = used[int(np.argmin(good))]
            raise not_finite(table, values.row_of(wrong), self.column, wrong)
        return _lookup(values, dict(zip(used, found.tolist(), strict=True)), self.mean)[:, None]


@dataclass(frozen=True)
class Category:
    """A column of classes, one-hot; a missing or new one is all zeros."""

    column: str
    values: tuple[str, ...]

    @property
    def channels(self) -> int:
        """How many numbers it becomes."""
        return len(self.values)

    def encode(self, values: Values, table: Table) -> np.ndarray:
        """``[owners, classes]``."""
        place = _lookup(values, {text: i for i, text in enumerate(self.values)}, -1).astype(np.int64)
        return (place[:, None] == np.arange(len(self.values))).astype(np.float64)


Feature = Number | Category


def _lookup(values: Values, number: dict[str, Any], missing: float) -> np.ndarray:
    """``[owners]`` the number of each text, ``missing`` where there is none."""
    found = [number.get(text, missing) for text in values.texts.tolist()]
    return np.array([*found, missing], np.float64)[values.codes]


def _fits(numbers: np.ndarray) -> np.ndarray:
    """Which are finite in single precision."""
    return np.abs(numbers) <= np.finfo(np.float32).max


def learn_feature(columns: Columns, name: str, count: int) -> Feature | str:
    """How a column becomes numbers, or why it cannot."""
    hint = "; leave out one of the two rows, or the column, by naming others with --feature-columns"
    values = values_of(columns, name, count, hint)
    distinct, there = values.used, int((values.codes >= 0).sum())
    if not there:
        return f"column {short(name)} is blank"
    parsed = as_numbers(distinct, columns.table)
    good = _fits(parsed)
    if good.all():
        found = _lookup(values, dict(zip(distinct, parsed.tolist(), strict=True)), np.nan)
        return Number(name, float(np.nanmean(found)))
    wrong = distinct[int(np.argmin(good))]
    row = values.row_of(wrong)
    if good.any() and not np.isnan(parsed).any():
        raise not_finite(columns.table, row, name, wrong)
    if good.sum() > len(good) / 2 and len(good) > 4:
        told = f"column {short(name)} holds numbers elsewhere, got {short(wrong)}"
        how = no_number(wrong) or "; leave the cell blank"
        raise ValueError(
            f"{columns.table.place(row)}: {told}{how}, or leave the column out with --feature-columns"
        )
    if len(distinct) > MAX_CATEGORIES:
        return f"column {short(name)} has {len(distinct)} different texts, more than {MAX_CATEGORIES}"
    if len(distinct) > max(2, ALL_DIFFERENT * there):
        return f"column {short(name)} has {len(distinct)} different texts in {there} cells, like names"
    return Category(name, tuple(distinct))


def not_finite(table: Table, row: int, column: str, text: str) -> ValueError:
    """Names the cell that should be a number."""
    number = float(as_numbers([text], table)[0])
    wanted = "a number below 3.4e38" if np.isfinite(number) else "a finite number"
    told = f"column {short(column)} must be {wanted}, got {short(text)}{why_texts([text])}"
    return ValueError(f"{table.place(row)}: {told}")


def encode(features: Sequence[Feature], columns: Columns | None, count: int) -> Tensor:
    """``[count, channels]`` of all columns side by side, in float64."""
    parts = [np.zeros((count, 0))]
    for feature in features:
        assert columns is not None
        parts.append(feature.encode(values_of(columns, feature.column, count), columns.table))
    return torch.from_numpy(np.concatenate(parts, 1))


def said(features: Sequence[Feature], columns: Columns | None, count: int) -> np.ndarray:
    """``[count, channels]``: where `encode` has what a table says, not what stands for a missing cell."""
    parts = [np.zeros((count, 0), bool)]
    for feature in features:
        assert columns is not None
        there = values_of(columns, feature.column, count).codes >= 0
        parts.append(np.repeat(there[:, None], feature.channels, 1))
    return np.concatenate(parts, 1)


def feature_from(about: dict[str, Any]) -> Feature:
    """Inverse of ``vars(feature)`` through JSON."""
    if "mean" in about:
        return Number(str(about["column"]), float(about["mean"]))
    return Category(str(about["column"]), tuple(map(str, about["values"])))
