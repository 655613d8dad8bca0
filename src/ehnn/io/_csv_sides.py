"""The two sides of a CSV file of incidences: its nodes and its hyperedges, with their columns."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph.validate import short

from ._columns import classes
from ._csv_table import NotNumbersError, Table, given, is_missing, one_per_owner, parse, read_table, select
from ._names import factorize
from ._support import check_bound


@dataclass
class Side:
    """The nodes, or the hyperedges."""

    names: Sequence[Hashable]
    owner: np.ndarray  # [rows of the incidence file] place in ``names``, −1 where blank
    table: Table  # where the columns are: a table of their own, or the incidence file
    table_owner: np.ndarray  # [rows of ``table``]

    @classmethod
    def read(
        cls,
        table: Table,
        key: str,
        own: str | os.PathLike[str] | None,
        kind: str,
        size: int | None,
        what: str,
    ) -> Side:
        """Find out who is who. ``kind`` is the ``names`` of `read_csv`."""
        mask, values = _keys(table, key, kind)
        own_table = None if own is None else read_table(own, table.delimiter)
        own_mask, own_values = (mask, []) if own_table is None else _keys(own_table, key, kind)
        if kind == "index":
            listed: Sequence[Hashable] = range(_size([*own_values, *values], size, what, table.path))
        else:
            listed = list(dict.fromkeys(own_values))
        codes, names = factorize(values, listed)
        if own_table is not None and len(names) > len(listed):
            row = int(np.flatnonzero(mask)[np.argmax(codes >= len(listed))])
            name = short(table.column(key)[row])
            raise ValueError(f"{table.place(row)}: {what} {name} is not in {own_table.path}")
        owner = _spread(mask, codes)
        names = _integers(names) if kind == "auto" else names
        if own_table is None:
            return cls(names, owner, table, owner)
        return cls(names, owner, own_table, _spread(own_mask, factorize(own_values, listed)[0]))

    def numbers(self, column: str) -> np.ndarray:
        """``[names]`` float64 from a column."""
        rows = np.flatnonzero((self.table_owner >= 0) & given(self.table.column(column)))
        values = parse(self.table, column, rows, float)
        return one_per_owner(self.table, column, values, rows, self.table_owner, self.names)

    def features(self, columns: Sequence[str] | None, prefix: str) -> Tensor | None:
        """``[names, columns]``; None: the columns ``prefix0``, ``prefix1`` … there are."""
        chosen = _series(prefix, self.table) if columns is None else _several(columns)
        return as_floats(np.stack([self.numbers(c) for c in chosen], 1)) if chosen else None

    def labels(self, columns: str | Sequence[str] | None) -> Tensor | None:
        """``[names]`` from one column given by its name, ``[names, columns]`` from a list."""
        ours = columns is None  # of `write_csv`, which writes −1 where there is no label
        if columns is None:
            columns = "y" if "y" in self.table.columns else _series("y", self.table)
        parts = [self._label(column, ours) for column in _several(columns)]
        if not parts:
            return None
        return parts[0] if isinstance(columns, str) else torch.stack(parts, 1)

    def _label(self, column: str, ours: bool) -> Tensor:
        """Whole numbers, else numbers, else classes; −1, or NaN among numbers, where there is none."""
        cells = self.table.column(column)
        there = np.fromiter((not is_missing(cell) for cell in cells), bool, len(cells))
        rows = np.flatnonzero((self.table_owner >= 0) & there)
        if self.names and not rows.size:
            raise ValueError(f"{self.table.path}: column {column!r} has no label at all")
        values = self._parsed(column, rows)
        if not ours and values.dtype.kind == "i" and (values == -1).any():
            warnings.warn(
                f"{self.table.path}: column {column!r} has -1, which means that there is no label; a class "
                "needs another number, or text",
                stacklevel=5,
            )
        missing = -1 if values.dtype.kind == "i" else np.nan
        found = one_per_owner(self.table, column, values, rows, self.table_owner, self.names, missing)
        return torch.from_numpy(found) if values.dtype.kind == "i" else as_floats(found)

    def _parsed(self, column: str, rows: np.ndarray) -> np.ndarray:
        for kind in (int, float):
            try:
                return parse(self.table, column, rows, kind)
            except NotNumbersError:
                pass
        cells = self.table.column(column)
        return classes([cells[row] for row in rows.tolist()]).numpy()


def as_floats(values: np.ndarray) -> Tensor:
    """Of torch's default dtype."""
    return torch.from_numpy(values).to(torch.get_default_dtype())


def _keys(table: Table, key: str, kind: str) -> tuple[np.ndarray, list[Any]]:
    """Which rows have a name, and the names of those."""
    cells = table.column(key)
    mask = given(cells)
    if kind in ("number", "index"):
        return mask, parse(table, key, np.flatnonzero(mask), int).tolist()
    return mask, cells if mask.all() else select(cells, mask)


def _spread(mask: np.ndarray, codes: np.ndarray) -> np.ndarray:
    owner = np.full(mask.size, -1, np.int64)
    owner[mask] = codes
    return owner


def _size(values: list[int], size: int | None, what: str, path: str) -> int:
    low, high = min(values, default=0), max(values, default=-1)
    if low < 0 or (size is not None and high >= size):
        upper = "" if size is None else f" and below {size}"
        raise ValueError(f"{path}: {what} numbers must not be negative{upper}, got {low} to {high}")
    if size is not None:
        return size
    check_bound(high, len(values), what, lambda: path)
    return high + 1


def _integers(names: list[Hashable]) -> list[Hashable]:
    """The names as integers if they spell exactly 0 … n−1, otherwise as they are."""
    wanted = set(map(str, range(len(names))))
    return list(map(int, names)) if wanted.issuperset(names) else names  # type: ignore[arg-type]


def _series(prefix: str, table: Table) -> list[str]:
    """``prefix0``, ``prefix1`` … as far as there are such columns."""
    return list(takewhile(table.columns.__contains__, (f"{prefix}{i}" for i in count())))


def _several(columns: str | Sequence[str]) -> list[str]:
    return [columns] * bool(columns) if isinstance(columns, str) else list(columns)
