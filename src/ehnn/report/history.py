"""The metrics that were recorded while training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_EPOCHS = 10**12
LARGEST = 1e100
"""A number beyond this is no measurement, and its square would not be finite."""


@dataclass(frozen=True)
class History:
    """Metrics of one or more runs that were trained together.

    Attributes:
        epochs: ``[rows]``, ascending.
        metrics: ``[rows, runs]`` by name; NaN where there is none.
    """

    epochs: np.ndarray
    metrics: dict[str, np.ndarray]

    @classmethod
    def read(cls, rows: Any) -> History:
        """From rows ``{"epoch": 3, "loss": 0.2}``, or lists over runs; of an epoch the last row counts."""
        if not isinstance(rows, Sequence) or isinstance(rows, str):
            raise ValueError(f"history must be a list of rows, got {type(rows).__name__}")
        by_epoch = {_epoch(row): row for row in rows}
        kept = [by_epoch[epoch] for epoch in sorted(by_epoch)]
        names = dict.fromkeys(name for row in kept for name in row if name != "epoch")
        columns = {name: _column([row.get(name) for row in kept]) for name in names}
        found = {name: values for name, values in columns.items() if not np.isnan(values).all()}
        return cls(np.array(sorted(by_epoch), dtype=np.int64), found)

    @property
    def runs(self) -> int:
        return max((values.shape[1] for values in self.metrics.values()), default=0)

    def best(self) -> tuple[np.ndarray, np.ndarray] | None:
        """``[runs]`` row and value of the best validation metric; of equal ones the later, as in `fit`."""
        valid = self.metrics.get("valid")
        if valid is None:
            return None
        filled = np.where(np.isnan(valid), -np.inf, valid)
        row = len(filled) - 1 - filled[::-1].argmax(0)
        return row, np.take_along_axis(valid, row[None], 0)[0]

    def selected(self, name: str) -> np.ndarray | None:
        """``[runs]`` of a metric at the epoch that is best on validation."""
        best, values = self.best(), self.metrics.get(name)
        if best is None or values is None or values.shape[1] != len(best[0]):
            return None
        return np.take_along_axis(values, best[0][None], 0)[0]


def _epoch(row: Any) -> int:
    if not isinstance(row, Mapping) or isinstance(row.get("epoch"), bool):
        raise ValueError(f"a row of the history must have an epoch, got {str(row)[:60]!r}")
    epoch = row.get("epoch")
    if not isinstance(epoch, (int, float)) or not 0 <= epoch <= MOST_EPOCHS or epoch != epoch // 1:
        raise ValueError(f"an epoch must be a whole number from 0 to {MOST_EPOCHS:,}, got {str(epoch)[:60]}")
    return int(epoch)


def _column(values: Sequence[Any]) -> np.ndarray:
    """``[rows, runs]`` from a number or a list of numbers per row; infinite ones are missing ones."""
    lists = [value if isinstance(value, list) else [value] for value in values]
    width = max(map(len, lists))
    table = np.full((len(lists), width), np.nan)
    for place, row in zip(table, lists, strict=True):
        place[: len(row)] = [_number(value) for value in row]
    return np.where(np.isfinite(table), table, np.nan)


def _number(value: Any) -> float:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if plain and abs(value) < LARGEST else np.nan


def spread(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``[rows]`` each: mean, smallest and largest over the runs; NaN where no run has a value."""
    known = ~np.isnan(values)
    count = known.sum(1)
    mean = np.where(count > 0, np.where(known, values, 0).sum(1) / np.maximum(count, 1), np.nan)
    low = np.where(count > 0, np.where(known, values, np.inf).min(1), np.nan)
    high = np.where(count > 0, np.where(known, values, -np.inf).max(1), np.nan)
    return mean, low, high


def thin(values: np.ndarray, points: int) -> np.ndarray:
    """Places of about ``points`` of the values: the ends, and the extremes of equal stretches.

    >>> thin(np.array([0.0, 1, 9, 1, 0, 1, -9, 1]), 4).tolist()
    [0, 2, 5, 6, 7]
    """
    count = len(values)
    if count <= points:
        return np.arange(count)
    stretches = np.array_split(np.arange(count), max(points // 2, 1))
    kept = [0, count - 1]
    for places in stretches:
        known = places[~np.isnan(values[places])]
        if len(known):
            kept += [known[values[known].argmin()], known[values[known].argmax()]]
    return np.unique(kept)
