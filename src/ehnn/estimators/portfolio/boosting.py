"""Boosted trees of scikit-learn, kept as plain arrays so that they are saved without pickling."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .outputs import Output

Array = np.ndarray
_FIELDS = ("feature_idx", "num_threshold", "left", "right", "value", "is_leaf")


def boosting_seconds(rows: int, columns: float, output: Output) -> float:
    """What a fit of 100 trees for each score (one for two classes) takes on one core, roughly."""
    scores = 1 if output.kind == "classes" and output.width == 2 else output.width
    return 100 * scores * (6e-4 + 7e-9 * rows * columns)


@dataclass
class Boosting:
    """Histogram gradient boosting: a sum of small trees for each score.

    Attributes:
        arrays: ``feature``, ``threshold``, ``left``, ``right``, ``value`` of the nodes of all trees one after
            the other (a leaf is its own child); ``root``, ``column`` of each tree; ``base`` of each column.
    """

    output: Output
    trees: int = 100
    rate: float = 0.1
    leaves: int = 15
    arrays: dict[str, Array] = field(default_factory=dict)

    def fit(self, x: Array, target: Array, rows: Array, weight: Array | None, seed: int) -> Boosting:
        """Learn from the ``rows`` (numbers) of the dense ``x``."""
        models = list(self._models(x[rows], target[rows], None if weight is None else weight[rows], seed))
        self.arrays = _flat(models, self.output.width)
        return self

    def _models(self, x: Array, y: Array, weight: Array | None, seed: int) -> Any:
        """(model, the columns of its trees) for each output, or one for all classes."""
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        same: dict[str, Any] = {
            "max_iter": self.trees, "learning_rate": self.rate, "max_leaf_nodes": self.leaves,
            "min_samples_leaf": max(2, min(20, len(x) // 25)), "l2_regularization": 1.0, "max_bins": 63,
            "early_stopping": False, "random_state": seed % 2**31,
        }  # fmt: skip
        if self.output.kind == "classes":
            found = np.unique(y)
            if len(found) < 2:
                yield None, found, np.log(self.output.prior(y, weight))
                return
            yield HistGradientBoostingClassifier(**same).fit(x, y, weight), found, None
            return
        for column, values in enumerate(y.T):
            rows = np.flatnonzero(~np.isnan(values))
            given = None if weight is None else weight[rows]
            if self.output.kind == "numbers":
                model = HistGradientBoostingRegressor(**same) if len(rows) else None
                base = 0.0
            else:
                share = (values[rows].sum() + 0.5) / (len(rows) + 1)
                base = float(np.log(share / (1 - share)))
                model = HistGradientBoostingClassifier(**same) if len(np.unique(values[rows])) == 2 else None
            if model is not None:
                model.fit(x[rows], values[rows], given)
            yield model, np.array([column]), np.array([base])

    def scores(self, x: Array) -> Array:
        """``[all rows, width]``."""
        a = self.arrays
        found = np.repeat(a["base"][None], len(x), 0).astype(np.float64)
        for start in range(0, len(x), 8192):  # small enough for the cache
            part = np.ascontiguousarray(x[start : start + 8192].T)
            here = np.arange(part.shape[1])
            for root, column in zip(a["root"], a["column"], strict=True):
                node = np.full(part.shape[1], root)
                while True:
                    low = part[a["feature"][node], here] <= a["threshold"][node]
                    after = np.where(low, a["left"][node], a["right"][node])
                    if np.array_equal(after, node):
                        break
                    node = after
                found[start : start + 8192, column] += a["value"][node]
        return self.output.clean(found)


def _flat(models: list[Any], width: int) -> dict[str, Array]:
    """The arrays of all trees."""
    base = np.full(width, -8.0) if len(models) == 1 and width > 1 else np.zeros(width)
    parts: dict[str, list[Array]] = {name: [] for name in _FIELDS}
    roots, columns, size = [], [], 0
    for model, found, given in models:
        if model is None:
            base[found if len(given) == len(found) else slice(None)] = given
            continue
        start = np.asarray(model._baseline_prediction).ravel()
        binary = len(found) == 2 and len(start) == 1
        base[found] = [-start[0] / 2, start[0] / 2] if binary else start
        for trees in model._predictors:
            for k, tree in enumerate(trees):
                nodes = tree.nodes
                for column, sign in ((found[0], -0.5), (found[1], 0.5)) if binary else ((found[k], 1.0),):
                    here = size + np.arange(len(nodes))
                    leaf = nodes["is_leaf"].astype(bool)
                    parts["feature_idx"].append(np.where(leaf, 0, nodes["feature_idx"]))
                    parts["num_threshold"].append(np.where(leaf, 0.0, nodes["num_threshold"]))
                    parts["left"].append(np.where(leaf, here, size + nodes["left"].astype(np.int64)))
                    parts["right"].append(np.where(leaf, here, size + nodes["right"].astype(np.int64)))
                    parts["value"].append(sign * nodes["value"])
                    roots.append(size)
                    columns.append(column)
                    size += len(nodes)

    def joined(name: str, kind: Any) -> Array:
        return np.concatenate(parts[name]).astype(kind) if parts[name] else np.zeros(0, kind)

    return {
        "feature": joined("feature_idx", np.int64), "threshold": joined("num_threshold", np.float64),
        "left": joined("left", np.int64), "right": joined("right", np.int64),
        "value": joined("value", np.float64), "base": base,
        "root": np.array(roots, np.int64), "column": np.array(columns, np.int64),
    }  # fmt: skip
