"""What members predict: log-probabilities of classes, log-odds of labels, or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from ..targets import Classes, MultiLabel, Targets

Array = np.ndarray
SALT = 0x9E3779B9
"""Mixed into every seed, so that our draws differ from data that the user drew with the same seed."""
_LEAST = 1e-7
"""The least probability: one row with a zero would make every mean log loss infinite."""


@dataclass(frozen=True)
class Output:
    """The scores of one kind of target, ``[rows, width]``.

    Attributes:
        kind: ``"classes"`` (scores are log-probabilities), ``"labels"`` (log-odds) or ``"numbers"``.
        width: number of classes, labels or numbers.

    Encoded targets are ``[rows]`` integers for classes (-1: missing), else ``[rows, width]`` with NaN where
    missing, as in `ehnn.estimators.targets`.
    """

    kind: str
    width: int

    @classmethod
    def of(cls, targets: Targets) -> Output:
        """The output of encoded ``targets``."""
        kind = {Classes: "classes", MultiLabel: "labels"}.get(type(targets), "numbers")
        return cls(kind, targets.num_outputs)

    def matrix(self, target: Array) -> tuple[Array, Array]:
        """``[rows, width]`` values (one-hot for classes, 0 where missing), and where they are known."""
        if self.kind == "classes":
            values = np.zeros((len(target), self.width), np.float32)
            rows = np.flatnonzero(target >= 0)
            values[rows, target[rows]] = 1.0
            return values, np.repeat((target >= 0)[:, None], self.width, 1).astype(np.float32)
        known = ~np.isnan(target)
        return np.nan_to_num(target).astype(np.float32), known.astype(np.float32)

    def labelled(self, target: Array) -> Array:
        """``[rows]`` bool."""
        return target >= 0 if self.kind == "classes" else ~np.isnan(target).all(1)

    def hide(self, target: Array, rows: Array) -> Array:
        """``target`` with the labels of the boolean ``rows`` alone."""
        hidden = target.copy()
        hidden[~rows] = -1 if self.kind == "classes" else np.nan
        return hidden

    def prior(self, target: Array, weight: Array | None = None) -> Array:
        """``[width]``: shares of the classes (one more of each), of the labels, or mean numbers."""
        values, known = self.matrix(target)
        if weight is not None:
            values, known = values * weight[:, None], known * weight[:, None]
        if self.kind == "numbers":
            return values.sum(0) / np.maximum(known.sum(0), 1e-12)
        more = 1.0 / self.width if self.kind == "classes" else 0.5
        return (values.sum(0) + more) / (known.sum(0) + 1.0)

    def from_shares(self, shares: Array) -> Array:
        """Scores of probabilities (numbers stay as they are)."""
        if self.kind == "numbers":
            return shares
        shares = np.clip(shares, _LEAST, 1 - _LEAST)
        return self.clean(np.log(shares)) if self.kind == "classes" else np.log(shares) - np.log1p(-shares)

    def clean(self, scores: Array) -> Array:
        """Scores from logits: normalised, and no probability under a floor."""
        if self.kind == "numbers":
            return scores
        if self.kind == "labels":
            return np.clip(scores, -16.0, 16.0)
        scores = np.maximum(scores - logsumexp(scores, 1, keepdims=True), np.log(_LEAST))
        return scores - logsumexp(scores, 1, keepdims=True)

    def sharpen(self, scores: Array, power: float) -> Array:
        """Scores times an inverse temperature; numbers times a factor."""
        return scores if power == 1 else self.clean(scores * power)

    def blend(self, scores: Sequence[Array], weights: Sequence[float]) -> Array:
        """The weighted mean, of probabilities where there are any."""
        if self.kind == "classes":
            return self.from_shares(sum(w * np.exp(s) for w, s in zip(weights, scores, strict=True)))
        if self.kind == "labels":
            return self.from_shares(sum(w * expit(s) for w, s in zip(weights, scores, strict=True)))
        return sum(w * s for w, s in zip(weights, scores, strict=True))  # type: ignore[return-value]

    def losses(self, scores: Array, target: Array) -> Array:
        """``[rows]``: log loss, mean log loss of the known labels, or mean squared error."""
        if self.kind == "classes":
            return -np.take_along_axis(scores, np.maximum(target, 0)[:, None], 1)[:, 0]
        values, known = self.matrix(target)
        if self.kind == "labels":
            each = -(values * log_expit(scores) + (1 - values) * log_expit(-scores))
        else:
            each = (values - scores) ** 2
        return (each * known).sum(1) / np.maximum(known.sum(1), 1)

    def hits(self, scores: Array, target: Array) -> Array:
        """``[rows]``: whether the class is right, the share of right labels, or minus the squared error."""
        if self.kind == "classes":
            return (scores.argmax(1) == target).astype(np.float64)
        if self.kind == "numbers":
            return -self.losses(scores, target)
        values, known = self.matrix(target)
        return (((scores > 0) == (values > 0)) * known).sum(1) / np.maximum(known.sum(1), 1)
