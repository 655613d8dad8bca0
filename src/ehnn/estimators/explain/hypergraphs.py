"""Explanations of whole hypergraphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph

from .candidates import Columns
from .explanation import Explanation
from .near import Near, select
from .occlusion import Change, Scale, explained

Array = np.ndarray


class GraphQuestions:
    """Explains whole hypergraphs, with a fitted `HypergraphEstimator`.

    Left out are one hyperedge, one node (from all its hyperedges, and itself), or one feature, which takes
    its mean in ``columns`` in all nodes.
    """

    def __init__(self, estimator: Any, members: list[Hypergraph], columns: Columns, most: int) -> None:
        self.estimator, self.members, self.columns, self.most = estimator, members, columns, most

    def explain(self, number: int, target: Any) -> Explanation:
        """The explanation of one hypergraph (its number)."""
        h = self.members[number]
        logits = self.estimator._logits([h])
        decided = self.estimator._decided(logits)
        scale = Scale.of(self.estimator.targets_, logits[0], decided[0], target)
        changes, untried = self._changes(h)
        copies = {id(change): copy for change, copy in changes}

        def score(_: list[Hypergraph], some: Sequence[Change]) -> Tensor:
            return self.estimator._logits([copies.get(id(change), h) for change in some])

        near = Near(h, np.arange(h.num_nodes), np.arange(h.num_edges), np.arange(h.num_incidences), True)
        return explained(
            number, near, 0, [change for change, _ in changes], score, scale, logits[0], decided[0], untried
        )

    def _changes(self, h: Hypergraph) -> tuple[list[tuple[Change, Hypergraph]], dict[str, int]]:
        """Things to leave out, and the hypergraph without each.

        Large hyperedges and degrees come first, and features that are furthest from their means.
        """
        node, edge = h.index.numpy()
        orders, degrees = h.orders.numpy(), h.degrees.numpy()
        nodes, edges = np.arange(h.num_nodes), np.arange(h.num_edges)
        found = []
        for e in np.argsort(-orders, kind="stable")[: self.most].tolist():
            copy = select(h, np.flatnonzero(edge != e), nodes, np.delete(edges, e))
            found.append((Change("hyperedge", e, f"{orders[e]} members"), copy))
        for v in np.argsort(-degrees, kind="stable")[: self.most].tolist():
            copy = select(h, np.flatnonzero(node != v), np.delete(nodes, v), edges)
            found.append((Change("node", v, f"in {degrees[v]} hyperedges"), copy))
        features, varied = self._features(h)
        untried = {"hyperedge": h.num_edges, "node": h.num_nodes, "feature": varied}
        return found + features, {kind: count - self.most for kind, count in untried.items()}

    def _features(self, h: Hypergraph) -> tuple[list[tuple[Change, Hypergraph]], int]:
        """Features that take their mean, and how many are not at their mean everywhere."""
        if h.x is None or not h.num_nodes:
            return [], 0
        own, mean = h.x.double(), torch.from_numpy(self.columns.mean)
        gap = (own - mean).abs().mean(0).numpy()
        gap /= np.where(self.columns.deviation > 0, self.columns.deviation, 1.0)
        found = []
        varied = int((gap > 0).sum())
        for column in np.argsort(-gap, kind="stable")[: min(self.most, varied)].tolist():
            x = own.clone()
            x[:, column] = mean[column]
            told = f"mean {own[:, column].mean():.4g}, in fit {mean[column]:.4g}"
            found.append((Change("feature", column, told), h.replace(x=x)))
        return found, varied
