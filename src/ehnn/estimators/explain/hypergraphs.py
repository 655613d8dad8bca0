"""Explanations of whole hypergraphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from ehnn.hypergraph import Hypergraph

from .candidates import Known
from .explanation import Explanation
from .near import Near, select
from .occlusion import Change, Scale, explained

Array = np.ndarray


class GraphQuestions:
    """Explains whole hypergraphs, with a fitted `HypergraphEstimator`.

    Left out are one hyperedge, one node (from all its hyperedges, and itself), or one feature, which takes
    its mean over the nodes of the hypergraph in all of them.
    """

    def __init__(self, estimator: Any, members: list[Hypergraph], most: int) -> None:
        self.estimator, self.members, self.most = estimator, members, most

    def explain(self, number: int, target: Any) -> Explanation:
        """The explanation of one hypergraph (its number)."""
        h = self.members[number]
        logits = self.estimator._logits([h])
        decided = self.estimator._decided(logits)
        scale = Scale.of(Known(self.estimator.targets_, None).targets, logits[0], decided[0], target)
        changes, untried = self._changes(h)
        copies = {id(change): copy for change, copy in changes}

        def score(_: list[Hypergraph], some: Sequence[Change]) -> Tensor:
            return self.estimator._logits([copies.get(id(change), h) for change in some])

        near = Near(h, np.arange(h.num_nodes), np.arange(h.num_edges), np.arange(h.num_incidences), True)
        return explained(
            number, near, 0, [change for change, _ in changes], score, scale, logits[0], decided[0], untried
        )

    def _changes(self, h: Hypergraph) -> tuple[list[tuple[Change, Hypergraph]], dict[str, int]]:
        """Things to leave out, and the hypergraph without each: large hyperedges and degrees first."""
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
        width = 0 if h.x is None else h.x.shape[1]
        for column in range(min(width, self.most)):
            assert h.x is not None
            x = h.x.clone()
            x[:, column] = x[:, column].mean()
            found.append((Change("feature", column), h.replace(x=x)))
        untried = {"hyperedge": h.num_edges, "node": h.num_nodes, "feature": width}
        return found, {kind: count - self.most for kind, count in untried.items()}
