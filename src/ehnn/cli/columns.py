"""What tables say about nodes or sets: labels, and features as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.io._csv_table import Table, numbers
from ehnn.io._names import factorize
from ehnn.io._support import shorten, suggest

from .layouts import NODE, open_table
from .sheets import Columns, Sheet

MISSING = frozenset(("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"))
MAX_CATEGORIES = 64


def values_of(columns: Columns, name: str, count: int) -> tuple[list[str | None], np.ndarray]:
    """``[count]`` the cell of each owner (None: missing), and the row that has it (-1).

    An owner may have many rows; wherever they have a value it must be the same.
    """
    table, owner = columns.table, columns.owner
    cells = table.column(name)
    codes, distinct = factorize(cells)
    there = np.array([value not in MISSING for value in distinct], bool)[codes] & (owner >= 0)
    rows = np.flatnonzero(there)
    first = np.full(count, -1)
    first[owner[rows][::-1]] = rows[::-1]
    differ = codes[rows] != codes[first[owner[rows]]]
    if differ.any():
        row = int(rows[np.argmax(differ)])
        before = int(first[owner[row]])
        raise ValueError(
            f"{table.place(row)}: column {name!r} says {shorten(cells[row])}, but of the same one "
            f"{table.place(before)} says {shorten(cells[before])}"
        )
    return [cells[row] if row >= 0 else None for row in first.tolist()], first


def with_node_table(sheet: Sheet, path: Path, id_column: str | None) -> tuple[Sheet, list[str]]:
    """``sheet`` with the nodes of a table and what it says about them; nodes that are in no set are added.

    The list has a remark for the user where the two files do not fit together.
    """
    table = open_table(path, None)
    key = id_column or next(
        (c for c in table.columns if c == sheet.layout.node or c.lower() in ("id", "name", *NODE)), None
    )
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
        text = f"{shorten(ids[row])} ({table.place(row)}){suggest(ids[row], known[:10_000])}"
        if len(new) == len(ids):
            raise ValueError(f"no node of {path} is in a set of {sheet.path}; the first is {text}")
        count = len(names) - len(known)
        remarks.append(f"{count} of the nodes of {path} are in no set of {sheet.path}, the first is {text}")
    h = Hypergraph.from_incidence(
        sheet.h.index, len(names), sheet.h.num_edges, node_names=tuple(names), edge_names=sheet.h.edge_names
    )
    return replace(sheet, h=h, nodes=Columns(table, owner), id_column=key), remarks


# ---------------------------------------------------------------------- features


@dataclass(frozen=True)
class Number:
    """A column of numbers; a missing one is taken to be the mean."""

    column: str
    mean: float

    def encode(self, values: list[str | None], first: np.ndarray, table: Table) -> np.ndarray:
        there = [v for v in values if v is not None]
        try:
            found = numbers(there, float)
        except ValueError:
            found = np.array([as_number(v) for v in there], dtype=np.float64)
        if not np.isfinite(found).all():
            wrong = there[int(np.argmin(np.isfinite(found)))]
            row = int(first[values.index(wrong)])
            raise ValueError(
                f"{table.place(row)}: column {self.column!r} must be a number, got {shorten(wrong)}"
            )
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
    parsed = np.array([as_number(v) for v in distinct], dtype=np.float64)
    good = np.isfinite(parsed)
    if not there:
        return f"column {name!r} is blank"
    if good.all():
        return Number(name, float(np.mean([as_number(v) for v in there])))
    if good.sum() > len(good) / 2 and len(good) > 4:
        wrong = distinct[int(np.argmin(good))]
        place = columns.table.place(int(first[values.index(wrong)]))
        raise ValueError(
            f"{place}: column {name!r} holds numbers elsewhere, got {shorten(wrong)}; leave the cell blank, "
            "or leave the column out with --feature-columns"
        )
    if len(distinct) > MAX_CATEGORIES:
        return f"column {name!r} has {len(distinct)} different texts, more than {MAX_CATEGORIES}"
    return Category(name, tuple(distinct))


def new_texts(feature: Feature, columns: Columns) -> str | None:
    """A remark where a column of classes has some that were not there in training."""
    if isinstance(feature, Number):
        return None
    new = set(columns.table.column(feature.column)) - set(feature.values) - MISSING
    if not new:
        return None
    what = f"{columns.table.path}: column {feature.column!r}"
    return f"{what} has {len(new)} texts that were not there in training, {shorten(min(new))} for one"


def as_number(text: str) -> float:
    """The number that a cell says; NaN where it says none."""
    try:
        return float(numbers([text], float)[0])
    except ValueError:
        return float("nan")


def encode(features: Sequence[Feature], columns: Columns | None, count: int) -> Tensor:
    """``[count, channels]`` of all columns side by side."""
    parts = [np.zeros((count, 0))]
    for feature in features:
        assert columns is not None
        values, first = values_of(columns, feature.column, count)
        parts.append(feature.encode(values, first, columns.table))
    return torch.from_numpy(np.concatenate(parts, 1)).to(torch.get_default_dtype())


def feature_from(about: dict[str, Any]) -> Feature:
    """Inverse of ``vars(feature)`` through JSON."""
    if "mean" in about:
        return Number(str(about["column"]), float(about["mean"]))
    return Category(str(about["column"]), tuple(map(str, about["values"])))
