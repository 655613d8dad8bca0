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

from ehnn._utils.validation import short

from ._cells import is_missing
from ._columns import classes
from ._csv_table import Table, read_table
from ._csv_values import NotNumbersError, one_per_owner, parse
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
        owner, names = _keys(table, key, kind)
        own_table = None if own is None else read_table(own, table.delimiter)
        own_owner, own_names = (owner, []) if own_table is None else _keys(own_table, key, kind)
        listed: Sequence[Hashable] = own_names
        if kind == "index":
            rows = table.size + (0 if own_table is None else own_table.size)
            listed = range(_size([*own_names, *names], rows, size, what, table.path))
        codes, known = factorize(names, listed)
        if own_table is not None and len(known) > len(listed):
            row = int(np.argmax(owner == np.argmax(codes >= len(listed))))
            name = short(table.column(key)[row])
            raise ValueError(f"{table.place(row)}: {what} {name} is not in {own_table.path}")
        owner = _renumbered(owner, codes)
        known = _integers(known) if kind == "auto" else known
        if own_table is None:
            return cls(known, owner, table, owner)
        return cls(known, owner, own_table, _renumbered(own_owner, factorize(own_names, listed)[0]))

    def numbers(self, column: str) -> np.ndarray:
        """``[names]`` float64 from a column."""
        rows = np.flatnonzero((self.table_owner >= 0) & self.table.column(column).where(bool))
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
        rows = np.flatnonzero((self.table_owner >= 0) & ~cells.where(is_missing))
        if self.names and not rows.size:
            raise ValueError(f"{self.table.path}: column {short(column)} has no label at all")
        values = self._parsed(column, rows)
        if not ours and values.dtype.kind == "i" and (values == -1).any():
            warnings.warn(
                f"{self.table.path}: column {short(column)} has -1, which means that there is no label; a "
                "class needs another number, or text",
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
        return classes(cells.texts[cells.codes[rows]].tolist()).numpy()


def as_floats(values: np.ndarray) -> Tensor:
    """Of torch's default dtype."""
    return torch.from_numpy(values).to(torch.get_default_dtype())


def _keys(table: Table, key: str, kind: str) -> tuple[np.ndarray, list[Any]]:
    """``[rows]`` the place of each row's name (-1: blank), and the distinct names."""
    owner, names = table.column(key).owners()
    if kind not in ("number", "index"):
        return owner, names
    rows = np.flatnonzero(owner >= 0)
    codes, found = factorize(parse(table, key, rows, int).tolist())
    owner = np.full(table.size, -1)
    owner[rows] = codes
    return owner, found


def _renumbered(owner: np.ndarray, number: np.ndarray) -> np.ndarray:
    """``owner`` by new numbers, -1 where it is."""
    return np.where(owner >= 0, np.append(number, -1)[owner], -1)


def _size(values: list[int], entries: int, size: int | None, what: str, path: str) -> int:
    low, high = min(values, default=0), max(values, default=-1)
    if low < 0 or (size is not None and high >= size):
        upper = "" if size is None else f" and below {size}"
        raise ValueError(f"{path}: {what} numbers must not be negative{upper}, got {low} to {high}")
    if size is not None:
        return size
    check_bound(high, entries, what, lambda: path)
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
