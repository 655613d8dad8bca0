"""Figures of predictions on held-out rows: those that people expect of a classifier or a regressor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_RESAMPLES, _MOST = 300, 20_000
"""Draws of a bootstrap interval, and the most rows that are drawn from."""


def class_figures(
    true: np.ndarray, proba: np.ndarray, predicted: np.ndarray | None = None, seed: int = 0
) -> dict[str, Any]:
    """Accuracy, balanced accuracy, macro-F1, AUROC (one class against the rest, mean) and log loss.

    ``intervals`` has the 95 % interval of each (bootstrap; Wilson's for the accuracy); a figure that is not
    defined is None.

    Args:
        true: ``[rows]`` numbers of classes.
        proba: ``[rows, classes]``.
        predicted: ``[rows]`` numbers of classes; None: the most likely ones.

    >>> found = class_figures(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]))
    >>> round(found["accuracy"], 3), found["balanced_accuracy"], found["auroc"]
    (0.667, 0.75, 1.0)
    """
    predicted, size = proba.argmax(1) if predicted is None else predicted, proba.shape[1]
    measures: dict[str, Callable[[np.ndarray], float | None]] = {
        "accuracy": lambda rows: float((true[rows] == predicted[rows]).mean()),
        "balanced_accuracy": lambda rows: _balanced(_confusion(true[rows], predicted[rows], size)),
        "macro_f1": lambda rows: _macro_f1(_confusion(true[rows], predicted[rows], size)),
        "log_loss": lambda rows: float(-np.log(np.maximum(proba[rows, true[rows]], 1e-15)).mean()),
    }
    every = np.arange(len(true))
    found: dict[str, Any] = {name: measure(every) for name, measure in measures.items()}
    found["auroc"] = mean_auroc(true, proba)
    found["intervals"] = {name: interval(measure, len(true), seed) for name, measure in measures.items()}
    found["intervals"]["accuracy"] = wilson(found["accuracy"], len(true))
    return found


def wilson(share: float, count: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of ``count`` rows; it has a width at 0 and 1 too.

    >>> [round(end, 3) for end in wilson(1.0, 20)]
    [0.839, 1.0]
    """
    middle = share + z * z / (2 * count)
    half = z * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    low, high = (middle - half) / (1 + z * z / count), (middle + half) / (1 + z * z / count)
    return max(0.0, float(low)), min(1.0, float(high))


def number_figures(true: np.ndarray, predicted: np.ndarray, seed: int = 0) -> dict[str, Any]:
    """R² (None where all numbers are one), mean absolute and root mean squared error."""
    error = true - predicted
    total = ((true - true.mean()) ** 2).sum()
    return {
        "r2": float(1 - (error**2).sum() / total) if total > 0 else None,
        "mean_absolute_error": float(np.abs(error).mean()),
        "root_mean_squared_error": float(np.sqrt((error**2).mean())),
        "intervals": {
            "mean_absolute_error": interval(lambda rows: float(np.abs(error[rows]).mean()), len(true), seed)
        },
    }


def interval(
    measure: Callable[[np.ndarray], float | None], count: int, seed: int = 0
) -> tuple[float, float] | None:
    """The 95 % bootstrap interval of a measure of rows; None for fewer than 2 rows or many thousands."""
    if not 2 <= count <= _MOST:
        return None
    draw = np.random.default_rng(seed)
    drawn = [measure(draw.integers(0, count, count)) for _ in range(_RESAMPLES)]
    there = [value for value in drawn if value is not None]
    low, high = np.quantile(there, [0.025, 0.975])
    return float(low), float(high)


def mean_auroc(true: np.ndarray, proba: np.ndarray) -> float | None:
    """The mean over the classes of the AUROC of each against the rest; None where no class has both."""
    classes = [c for c in range(proba.shape[1]) if 0 < (true == c).sum() < len(true)]
    if not classes:
        return None
    return float(np.mean([_auroc(proba[:, c], true == c) for c in classes]))


def _auroc(scores: np.ndarray, positive: np.ndarray) -> float:
    """The share of (positive, negative) pairs in the right order; ties count half."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[place]
    pos = positive.sum()
    return float((rank[positive].sum() - pos * (pos + 1) / 2) / (pos * (len(scores) - pos)))


def _confusion(true: np.ndarray, predicted: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(true * size + predicted, minlength=size * size).reshape(size, size)


def _balanced(table: np.ndarray) -> float:
    there = table.sum(1) > 0
    return float((np.diag(table)[there] / table.sum(1)[there]).mean())


def _macro_f1(table: np.ndarray) -> float:
    size = table.sum(0) + table.sum(1)
    there = size > 0
    return float((2 * np.diag(table)[there] / size[there]).mean())
