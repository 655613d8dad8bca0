"""Columns that tell nothing of the labels, switched off by a test."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .outputs import Output

Array = np.ndarray
_LEVEL = 0.05
"""The chance that one or more of many columns of noise stay on."""
_COLUMNS, _OFF, _ROWS, _EACH = 8, 0.5, 100, 50
"""A gate is worth trying with so many columns, of which this share is off, so many labelled rows, and at most
so many rows for each column: with more rows a linear model learns by itself which columns are noise."""


def gate(x: Any, target: Array, output: Output) -> Array:
    """``[columns]`` 1 for each column of ``x`` ``[rows, columns]`` that the labels depend on, 0 for others.

    A column stays on if the F test of its means in the classes (of several labels or of numbers: of their
    linear regressions on it, the best one) gives p < 0.05 / tests, after Bonferroni.

    Args:
        x: dense, or a sparse matrix.
        target: encoded, ``[rows]`` or ``[rows, width]``; see `Output`.
    """
    from sklearn.feature_selection import f_classif, f_regression

    classes = output.kind == "classes"
    least, columns = np.ones(x.shape[1]), [target] if classes else list(target.T)
    if not x.shape[1]:
        return least.astype(np.float32)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a constant column: its p is NaN, and it is off
        for column in columns:
            rows = np.flatnonzero(~np.isnan(column))
            if len(rows) > 2 and np.ptp(column[rows]) > 0:
                least = np.fmin(least, (f_classif if classes else f_regression)(x[rows], column[rows])[1])
    return (least < _LEVEL / (least.size * len(columns))).astype(np.float32)


def worth_gating(x: Any, target: Array, output: Output) -> bool:
    """Whether, of the dense columns that vary, a gate leaves some on and switches most off.

    ``x`` ``[rows, columns]`` and the encoded ``target`` have a row for each node, of which some are labelled.
    """
    rows = np.flatnonzero(output.labelled(target))
    if hasattr(x, "tocsr") or not _ROWS <= len(rows) <= _EACH * x.shape[1]:
        return False
    known = x[rows]
    known = known[:, np.ptp(known, 0) > 0]
    if known.shape[1] < _COLUMNS:
        return False
    on = gate(known, target[rows], output)
    return bool(on.any() and on.mean() <= 1 - _OFF)
