"""What tables say about nodes or sets: labels, and features as numbers."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.validate import short
from ehnn.io._csv_table import Table, is_missing, numbers
from ehnn.io._names import NODE_COLUMNS, factorize
from ehnn.io._support import suggest

from .layouts import open_table
from .sheets import Columns, Sheet

MAX_CATEGORIES = 64
ALL_DIFFERENT = 0.8
"""Texts so often different from each other tell rows apart, and nothing about them."""
_NOT_COMMA = (";", "\t")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")


def values_of(columns: Columns, name: str, count: int, hint: str = "") -> tuple[list[str | None], np.ndarray]:
    """``[count]`` the cell of each owner (None: missing), and the row that has it (-1).

    An owner may have many rows; wherever they have a value it must be the same. ``hint`` tells the user
    what else may be meant where it is not.
    """
    table, owner = columns.table, columns.owner
    cells = table.column(name)
    codes, distinct = factorize(cells)
    there = np.array([not is_missing(str(value)) for value in distinct], bool)[codes] & (owner >= 0)
    rows = np.flatnonzero(there)
    first = np.full(count, -1)
    first[owner[rows][::-1]] = rows[::-1]
    differ = codes[rows] != codes[first[owner[rows]]]
    if differ.any():
        row = int(rows[np.argmax(differ)])
        before = int(first[owner[row]])
        whose = f"{columns.what} {short(columns.names[owner[row]])}"
        raise ValueError(
            f"{table.place(row)}: column {name!r} says {short(cells[row])} of {whose}, but "
            f"{table.place(before)} says {short(cells[before])}{hint}"
        )
    return [cells[row] if row >= 0 else None for row in first.tolist()], first


def with_node_table(sheet: Sheet, path: Path, id_column: str | None) -> tuple[Sheet, list[str]]:
    """``sheet`` with the nodes of a table and what it says about them; nodes that are in no set are added.

    The list has a remark for the user where the two files do not fit together.
    """
    table = open_table(path, None)
    key = id_column or next(
        (c for c in table.columns if c == sheet.layout.node or c.lower() in ("id", "name", *NODE_COLUMNS)),
        None,
    )
    key = key or _column_of_names(table, sheet.h.node_names or ())
    if key is None:
        raise ValueError(
            f"{path}: --id-column must say which column names the nodes; found {list(table.columns)}"
        )
    ids = table.column(key)
    if "" in ids:
        raise ValueError(f"{table.place(ids.index(''))}: column {key!r} is blank")
    known = sheet.h.node_names or ()
    owner, names = factorize(ids, known)
    new = np.flatnonzero(owner >= len(known))
    remarks = []
    if len(new):
        row = int(new[0])
        text = f"{short(ids[row])} ({table.place(row)}){_alike(ids[row], known[:10_000])}"
        if len(new) == len(ids):
            raise ValueError(f"no node of {path} is in a set of {sheet.path}; the first is {text}")
        count = len(names) - len(known)
        remarks.append(f"in no set of {sheet.path}: {count} of the nodes of {path}, the first is {text}")
    absent = len(known) - len(np.unique(owner[owner < len(known)]))
    if absent:
        remarks.append(f"not in {path}: {absent} of the {len(known)} nodes of {sheet.path}")
    h = Hypergraph.from_incidence(
        sheet.h.index, len(names), sheet.h.num_edges, node_names=tuple(names), edge_names=sheet.h.edge_names
    )
    return replace(sheet, h=h, nodes=Columns(table, owner, "node", names), id_column=key), remarks


def _column_of_names(table: Table, known: Sequence[Hashable]) -> str | None:
    """The one column that holds names of nodes in half of its cells or more."""
    names = {str(name) for name in known}
    cells = {column: table.column(column) for column in table.columns}
    found = [c for c, texts in cells.items() if texts and 2 * sum(t in names for t in texts) >= len(texts)]
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

    def encode(self, values: list[str | None], first: np.ndarray, table: Table) -> np.ndarray:
        there = [v for v in values if v is not None]
        found = as_numbers(there, table)
        if not np.isfinite(found).all():
            wrong = there[int(np.argmin(np.isfinite(found)))]
            raise not_finite(table, int(first[values.index(wrong)]), self.column, wrong)
        array = np.full((len(values), 1), self.mean)
        array[[v is not None for v in values], 0] = found
        return array


@dataclass(frozen=True)
class Category:
    """A column of classes, one-hot; a missing or new one is all zeros."""

    column: str
    values: tuple[str, ...]

    def encode(self, values: list[str | None], first: np.ndarray, table: Table) -> np.ndarray:
        codes, _ = factorize(values, (*self.values, None))
        rows = np.flatnonzero(codes < len(self.values))
        array = np.zeros((len(values), len(self.values)))
        array[rows, codes[rows]] = 1
        return array


Feature = Number | Category


def learn_feature(columns: Columns, name: str, count: int) -> Feature | str:
    """How a column becomes numbers, or why it cannot."""
    values, first = values_of(columns, name, count)
    there = [v for v in values if v is not None]
    distinct = sorted(set(there))
    parsed = as_numbers(distinct, columns.table)
    good = np.isfinite(parsed)
    if not there:
        return f"column {name!r} is blank"
    if good.all():
        return Number(name, float(np.mean(as_numbers(there, columns.table))))
    wrong = distinct[int(np.argmin(good))]
    row = int(first[values.index(wrong)])
    if good.any() and not np.isnan(parsed).any():
        raise not_finite(columns.table, row, name, wrong)
    if good.sum() > len(good) / 2 and len(good) > 4:
        raise ValueError(
            f"{columns.table.place(row)}: column {name!r} holds numbers elsewhere, got {short(wrong)}; "
            "leave the cell blank, or leave the column out with --feature-columns"
        )
    if len(distinct) > MAX_CATEGORIES:
        return f"column {name!r} has {len(distinct)} different texts, more than {MAX_CATEGORIES}"
    if len(distinct) > max(2, ALL_DIFFERENT * len(there)):
        return f"column {name!r} has {len(distinct)} different texts in {len(there)} cells, like names"
    return Category(name, tuple(distinct))


def new_texts(feature: Feature, columns: Columns) -> str | None:
    """A remark where a column of classes has some that were not there in training."""
    if isinstance(feature, Number):
        return None
    new = set(columns.table.column(feature.column)) - set(feature.values)
    new = {value for value in new if not is_missing(value)}
    if not new:
        return None
    what = f"{columns.table.path}: column {feature.column!r}"
    return f"{what} has {len(new)} texts that were not there in training, {short(min(new))} for one"


def many_classes(feature: Feature, columns: Columns, count: int) -> str | None:
    """A remark where most of the texts that are read as classes are different ones."""
    if isinstance(feature, Number):
        return None
    there = sum(v is not None for v in values_of(columns, feature.column, count)[0])
    if len(feature.values) <= there / 2:
        return None
    classes = f"is read as {len(feature.values)} classes, of {there} texts"
    return f"{columns.table.path}: column {feature.column!r} {classes}"


def as_numbers(texts: Sequence[str], table: Table) -> np.ndarray:
    """The numbers that cells of a column say, NaN where they say none.

    Where commas do not separate the cells, ``4,3`` is a number, if all cells are numbers that way.

    Raises:
        ValueError: every comma may as well stand between thousands.
    """
    found = _as_floats(texts)
    if np.isnan(found).any() and table.delimiter in _NOT_COMMA and not any("." in text for text in texts):
        pointed = _as_floats([text.replace(",", ".") for text in texts])
        if np.isnan(pointed).any():
            return found
        unsure = [text for text in texts if "," in text]
        if all(map(_THOUSANDS.fullmatch, unsure)):
            raise ValueError(
                f"{table.path}: {unsure[0]!r} may be {unsure[0].replace(',', '')} or "
                f"{unsure[0].replace(',', '.')}; write thousands without a comma and fractions with a point"
            )
        return pointed
    return found


def _as_floats(texts: Sequence[str]) -> np.ndarray:
    try:
        return numbers(texts, float)
    except ValueError:
        return np.array([_as_float(text) for text in texts], dtype=np.float64)


def _as_float(text: str) -> float:
    try:
        return float(numbers([text], float)[0])
    except ValueError:
        return float("nan")


def not_finite(table: Table, row: int, column: str, text: str) -> ValueError:
    """Names the cell that should be a number."""
    return ValueError(f"{table.place(row)}: column {column!r} must be a finite number, got {short(text)}")


def encode(features: Sequence[Feature], columns: Columns | None, count: int) -> Tensor:
    """``[count, channels]`` of all columns side by side, in float64."""
    parts = [np.zeros((count, 0))]
    for feature in features:
        assert columns is not None
        values, first = values_of(columns, feature.column, count)
        parts.append(feature.encode(values, first, columns.table))
    return torch.from_numpy(np.concatenate(parts, 1))


def feature_from(about: dict[str, Any]) -> Feature:
    """Inverse of ``vars(feature)`` through JSON."""
    if "mean" in about:
        return Number(str(about["column"]), float(about["mean"]))
    return Category(str(about["column"]), tuple(map(str, about["values"])))
