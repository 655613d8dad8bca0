"""Figures of predictions: accuracy, macro-F1 and others, with intervals."""

from __future__ import annotations

import numpy as np

from .outputs import Output

Array = np.ndarray


def summary(
    output: Output, scores: Array, target: Array, weight: Array, bias: Array | float = 0.0
) -> dict[str, float]:
    """The main figures of scores: for classes ``accuracy``, ``macro_f1``, ``log_loss``; for labels the share
    of right ones and the log loss; for numbers ``r2`` and ``mse`` (on the standardised scale)."""
    loss = _average(output.losses(scores, target), weight)
    if output.kind == "numbers":
        return {"r2": r2(scores, target, weight), "mse": loss}
    scores = scores + bias
    hits = _average(output.hits(scores, target), weight)
    if output.kind == "labels":
        return {"accuracy": hits, "log_loss": loss}
    return {
        "accuracy": hits,
        "macro_f1": macro_f1(target, scores.argmax(1), output.width, weight),
        "log_loss": loss,
    }


def confusion(target: Array, predicted: Array, width: int, weight: Array | None = None) -> Array:
    """``[width, width]`` weights of (true, predicted)."""
    flat = np.bincount(target * width + predicted, weight, width * width)
    return flat.reshape(width, width)


def macro_f1(target: Array, predicted: Array, width: int, weight: Array | None = None) -> float:
    """Mean F1 of the classes that occur in the labels or in the predictions, as in scikit-learn."""
    table = confusion(target, predicted, width, weight)
    size = table.sum(0) + table.sum(1)
    there = size > 0
    return float((2 * np.diag(table)[there] / size[there]).mean()) if there.any() else 0.0


def r2(scores: Array, target: Array, weight: Array) -> float:
    """Mean R² of the columns, over the rows where they are known."""
    found = []
    for column in range(target.shape[1]):
        rows = ~np.isnan(target[:, column])
        y, w = target[rows, column], weight[rows]
        error = (w * (y - scores[rows, column]) ** 2).sum()
        total = (w * (y - _average(y, w)) ** 2).sum()
        found.append(1 - error / total if total > 0 else float(error <= 0))
    return float(np.mean(found))


def _average(values: Array, weight: Array) -> float:
    return float((values * weight).sum() / max(weight.sum(), 1e-12))
