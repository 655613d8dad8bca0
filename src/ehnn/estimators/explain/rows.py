"""Explanations of nodes, of hyperedges (nodes of the dual hypergraph) and of incidences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph, batch

from ..auto import AutoNodes, MatchedRows
from ..auto_incidences import AutoIncidences
from ..finite import finite_outputs
from .candidates import Columns, Known, feature_changes, hyperedge_changes, member_changes, named
from .explanation import Explanation
from .near import Near, neighbourhood
from .occlusion import Change, Scale, explained

Array = np.ndarray
KINDS = {"node": ("hyperedge", "co-member"), "hyperedge": ("member", "hyperedge")}
"""What the hyperedges of a row, and the other rows in them, are called."""
_STARTS = 200
"""Members of a hyperedge from which the neighbourhood of an incidence starts."""


class NodeQuestions:
    """Explains nodes of one hypergraph, with a fitted `NodeEstimator`.

    Args:
        graph: whose nodes are the rows (the dual, for hyperedges).
        most: things of each kind that are left out, one at a time.
        incidences: of the neighbourhood; see `neighbourhood`.
        matched: what is known of ``graph`` from fit; None: found by names.
    """

    def __init__(
        self,
        estimator: Any,
        graph: Hypergraph,
        most: int,
        incidences: int,
        matched: MatchedRows | None = None,
    ) -> None:
        self.estimator, self.most, self.incidences = estimator, most, incidences
        self.graph = estimator._read(graph.to("cpu"))
        self.logits: Tensor = estimator._row_logits(graph, matched)
        self.decided: Tensor = estimator._decided(self.logits)
        self.auto: AutoNodes | None = estimator.model_ if isinstance(estimator.model_, AutoNodes) else None
        self.matched = matched or estimator._matched_in(self.graph)
        target = None
        if self.auto is not None and self.matched is not None:
            target = self.auto.fit_nodes.labels(self.matched.nodes, self.auto.portfolio.output)
        self.known = Known(estimator.targets_, target)
        reader = estimator.reader_
        features = (
            None if reader is None else reader.node_features if _of_nodes(estimator) else reader.edge_features
        )
        self.columns = Columns.of(self.graph, features)

    def explain(self, row: int, target: Any) -> Explanation:
        """The explanation of one row (its number)."""
        scale = Scale.of(self.known.targets, self.logits[row], self.decided[row], target)
        near = neighbourhood(self.graph, np.array([row]), self.incidences)
        node = int(np.searchsorted(near.nodes, row))
        of_edges, of_members = KINDS[self.estimator._row]
        h, most = self.graph, self.most
        found, more = hyperedge_changes(near, node, of_edges, h.edge_names, most, self.known, scale.column)
        beside, others = member_changes(near, node, of_members, h.node_names, most, self.known)
        own, columns = feature_changes(h, row, self.columns, most)
        changes = [*found, *beside, *own]
        if self.known.there(np.array([row]))[0]:
            changes.append(Change("own label", self.known.text(row), "known in fit", hide=True))
        untried = {of_edges: more + int(h.degrees[row]) - int(near.h.degrees[node])}
        untried |= {of_members: others, "feature": columns}

        def score(copies: list[Hypergraph], some: Sequence[Change]) -> Tensor:
            rows = np.arange(len(copies)) * near.h.num_nodes + node
            union = batch(copies)
            hidden, matched = rows[[change.hide for change in some]], self.matched
            if matched is not None:
                matched = matched.copies(near.nodes, near.edges, len(copies), hidden)
            return self.estimator._row_logits(union, matched)[torch.from_numpy(rows)]

        return explained(
            named(h.node_names, row), near, node, changes, score, scale, self.logits[row], self.decided[row],
            untried,
        )  # fmt: skip


class IncidenceQuestions:
    """Explains incidences of one hypergraph, with a fitted `IncidenceClassifier`.

    Left out are other hyperedges of the node (with the node's label there), the other members of the
    hyperedge, and features of the node.
    """

    def __init__(self, estimator: Any, graph: Hypergraph, most: int, incidences: int) -> None:
        self.estimator, self.most, self.incidences = estimator, most, incidences
        self.graph: Hypergraph = estimator._graph(graph)
        self.auto: AutoIncidences = estimator.model_
        self.matched = self.auto.matched(self.graph)
        self.logits = finite_outputs(self.auto.logits(self.graph, self.matched))
        self.decided: Tensor = estimator._decided(self.logits)
        self.known = Known(estimator.targets_, self._labels())
        reader = estimator.reader_
        self.columns = Columns.of(self.graph, None if reader is None else reader.node_features)

    def explain(self, row: int, target: Any) -> Explanation:
        """The explanation of one row (its number in ``graph.index``)."""
        h, most = self.graph, self.most
        nodes, edges = h.index.numpy()
        node, edge = int(nodes[row]), int(edges[row])
        scale = Scale.of(self.known.targets, self.logits[row], self.decided[row], target)
        start = nodes[edges == edge][:_STARTS]
        near = neighbourhood(h, np.union1d(start, node), self.incidences, np.array([edge]))
        here, within = (int(np.searchsorted(a, b)) for a, b in ((near.nodes, node), (near.edges, edge)))
        place = int(np.searchsorted(near.incidences, row))
        nothing = Known(self.known.targets, None)
        found, more = hyperedge_changes(
            near, here, "hyperedge", h.edge_names, most, nothing, scale.column, but=within
        )
        found = [self._with_label(change, near) for change in found]
        beside, others = member_changes(near, here, "co-member", h.node_names, most, nothing, within)
        own, columns = feature_changes(h, node, self.columns, most)
        more += int(h.degrees[node]) - int(near.h.degrees[here])
        untried = {"hyperedge": more, "co-member": others, "feature": columns}

        def score(copies: list[Hypergraph], some: Sequence[Change]) -> Tensor:
            kept = [np.setdiff1d(np.arange(near.h.num_incidences), change.drop) for change in some]
            starts = np.cumsum([0, *(len(k) for k in kept[:-1])])
            rows = starts + [np.searchsorted(k, place) for k in kept]
            dropped = [near.incidences[change.drop] for change in some]
            matched = self.matched.copies(near.nodes, [near.incidences[k] for k in kept], dropped)
            return finite_outputs(self.auto.logits(batch(copies), matched))[torch.from_numpy(rows)]

        name = (named(h.node_names, node), named(h.edge_names, edge))
        return explained(
            name, near, here, [*found, *beside, *own], score, scale, self.logits[row], self.decided[row],
            untried,
        )  # fmt: skip

    def _labels(self) -> Array:
        """Known labels of the incidences, encoded."""
        bank, target = self.matched.bank, self.matched.target.copy()
        if bank is not None:
            rows = np.flatnonzero(bank["same"] >= 0)
            if target.ndim == 1:
                target[bank["same"][rows]] = bank["values"][rows].argmax(1)
            else:
                target[bank["same"][rows]] = np.where(bank["known"], bank["values"], np.nan)[rows]
        return target

    def _with_label(self, change: Change, near: Near) -> Change:
        """A hyperedge of the node, with the known label of the node there."""
        label = self.known.text(int(near.incidences[change.drop[0]]))
        return replace(change, detail=", ".join(filter(None, [label, change.detail])))


def _of_nodes(estimator: Any) -> bool:
    return estimator._row == "node"
