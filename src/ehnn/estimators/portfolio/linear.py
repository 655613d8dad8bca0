"""Linear members: logistic regression of classes and labels, ridge regression of numbers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .gate import gate
from .outputs import Output

Array = np.ndarray
_STEPS, _MOST = 120, 300
"""Steps of a fit at most, and of one with rare classes."""
_CLOSE, _CLOSER = 1e-3, 1e-4
"""Tolerances on the gradient, a mean over the rows: the usual one, and the smallest, for a weak penalty and
many rows. There, a few rows that are still wrong hardly change the mean."""
_RARE = 0.05
"""The tolerance on the gradient is at most this fraction of the rarest class's share. Otherwise the fit could
stop before it learns that class."""
_FAR = 3.0
"""Other rows are clipped to this multiple of the largest value of a sparse column in fit."""
_SOFTMAX = 20
"""The probabilities of the classes take as long as this many columns."""
SEARCH, _LEAST = 2.0, 8000
"""If one fit takes more than SEARCH seconds, the penalty is searched on a sample of at least _LEAST rows."""
_CONSTANT = 1e-6
"""Columns that vary by less than this share of their largest value are constant but for rounding."""


def linear_seconds(rows: int, columns: float, width: int, every: int = 0) -> float:
    """What a fit takes on one core, roughly, with its part of the search of the penalty.

    ``columns`` that are not zero, in the mean row; ``every``: with those that are. The solver passes over
    its coefficients some forty times in each step.
    """
    one = 5e-3 + width * (1e-8 * rows * (columns + _SOFTMAX) + 8e-6 * every)
    return one + 2 * min(one, SEARCH)


def search_rows(rows: int, seconds: float) -> int:
    """How many rows the search of the penalty reads, of a fit with these `linear_seconds`."""
    one = max(seconds - 2 * SEARCH, seconds / 3)
    return min(rows, max(_LEAST, int(rows * SEARCH / max(one, SEARCH))))


@dataclass
class Linear:
    """Scores linear in the (scaled) columns of a block.

    Columns that are mostly not zero are standardised; sparse ones are divided by their largest value.

    Attributes:
        center, scale: ``[columns]``, learned.
        low, high: ``[columns]`` of dense ones: the range in fit, extended by its width on either side, to
            which other rows are clipped.
        weight: ``[columns, width]``. bias: ``[width]``.
        rough: end early, as in the search of ``strength``.
        gated: read only the columns that a test keeps; see `gate`.
    """

    output: Output
    strength: float = 1.0
    rough: bool = False
    gated: bool = False
    arrays: dict[str, Array] = field(default_factory=dict)

    def fit(self, x: Any, target: Array, rows: Array, weight: Array | None, seed: int) -> Linear:
        """Learn from the ``rows`` (numbers) of ``x`` ``[all rows, columns]``, sparse or dense."""
        center, scale = _scale(x[rows])
        if self.gated:
            scale *= gate(x[rows], target[rows], self.output)
        self.arrays = {"center": center, "scale": scale}
        if not hasattr(x, "tocsr") and len(rows):
            low, high = x[rows].min(0), x[rows].max(0)
            self.arrays |= {"low": 2 * low - high, "high": 2 * high - low}
        ready = self._ready(x[rows])
        given = None if weight is None else weight[rows]
        solve = {"classes": _classes, "labels": _labels, "numbers": _numbers}[self.output.kind]
        self.arrays["weight"], self.arrays["bias"] = solve(ready, target[rows], given, self)
        return self

    def scores(self, x: Any) -> Array:
        """``[all rows, width]``."""
        found = self._ready(x) @ self.arrays["weight"] + self.arrays["bias"]
        return self.output.clean(np.asarray(found, np.float64))

    def _ready(self, x: Any) -> Any:
        if hasattr(x, "tocsr"):
            ready = x.multiply(self.arrays["scale"]).tocsr()
            ready.data = ready.data.clip(-_FAR, _FAR)
            return ready
        if "low" in self.arrays:
            x = np.clip(x, self.arrays["low"], self.arrays["high"])
        return (x - self.arrays["center"]) * self.arrays["scale"]


def _scale(x: Any) -> tuple[Array, Array]:
    """Center and factor of the columns."""
    if hasattr(x, "tocsr"):
        top = np.asarray(abs(x).max(0).todense()).ravel() if x.shape[0] else np.ones(x.shape[1])
        return np.zeros(x.shape[1], np.float32), _inverse(top)
    center = x.mean(0)
    largest = np.abs(x).max(0, initial=0.0)
    span = np.ptp(x, 0) if len(x) else np.zeros(x.shape[1])  # exact, where a standard deviation is rounded
    scale = np.where(span > _CONSTANT * largest, x.std(0), 0.0)
    often = (x != 0).mean(0) >= 0.1
    center = np.where(often, center, 0.0)
    return center.astype(np.float32), _inverse(np.where(often, scale, largest))


def _inverse(scale: Array) -> Array:
    return np.where(scale > 1e-9, 1 / np.maximum(scale, 1e-9), 0.0).astype(np.float32)


def _classes(x: Any, y: Array, weight: Array | None, of: Linear) -> tuple[Array, Array]:
    from sklearn.linear_model import LogisticRegression

    found = np.unique(y)
    coefficients = np.zeros((x.shape[1], of.output.width), np.float32)
    bias = np.full(of.output.width, -8.0)
    if len(found) < 2 or x.shape[1] == 0:
        bias = np.log(of.output.prior(y, weight))
        return coefficients, bias
    model = LogisticRegression(C=of.strength, **_until(y, of))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged: the validation rows judge it
        model.fit(x, y, weight)
    coef, intercept = model.coef_, model.intercept_
    if len(found) == 2:
        coef, intercept = np.concatenate([-coef, coef]) / 2, np.concatenate([-intercept, intercept]) / 2
    coefficients[:, found] = coef.T
    bias[found] = intercept
    if len(found) < of.output.width:  # classes without a row here are the least likely
        bias[np.setdiff1d(np.arange(of.output.width), found)] = intercept.min() - 4.0
    return coefficients, bias


def _until(y: Array, of: Linear) -> dict[str, Any]:
    """When a fit of classes ends."""
    rare = _CLOSE if of.rough else _RARE * float(np.unique(y, return_counts=True)[1].min()) / len(y)
    weak = _CLOSE if of.strength <= 1 else 0.5 / len(y)
    return {"max_iter": _MOST if rare < _CLOSE else _STEPS, "tol": max(_CLOSER, min(_CLOSE, rare, weak))}


def _labels(x: Any, y: Array, weight: Array | None, of: Linear) -> tuple[Array, Array]:
    binary = replace(of, output=Output("classes", 2))
    parts = []
    for column in y.T:
        rows = np.flatnonzero(~np.isnan(column))
        given = None if weight is None else weight[rows]
        parts.append(_classes(x[rows], column[rows].astype(np.int64), given, binary))
    return np.stack([w[:, 1] - w[:, 0] for w, _ in parts], 1), np.array([b[1] - b[0] for _, b in parts])


def _numbers(x: Any, y: Array, weight: Array | None, of: Linear) -> tuple[Array, Array]:
    from sklearn.linear_model import Ridge

    weights, biases = [], []
    for column in y.T:
        rows = np.flatnonzero(~np.isnan(column))
        given = None if weight is None else weight[rows]
        if x.shape[1] == 0 or not len(rows):
            weights.append(np.zeros(x.shape[1]))
            biases.append(float(np.mean(column[rows])) if len(rows) else 0.0)
            continue
        model = Ridge(alpha=1 / of.strength, solver="auto").fit(x[rows], column[rows], given)
        weights.append(model.coef_)
        biases.append(float(model.intercept_))
    return np.stack(weights, 1).astype(np.float32), np.array(biases)
