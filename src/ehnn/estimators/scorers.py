"""Models that score candidates: a number for each set of nodes, whether it is a hyperedge."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNMLP, EHNNTransformer, Layer, Stack, baselines
from ehnn.nn.dropout import Dropout
from ehnn.tasks.hyperedges import Scored

from .models import Given, Plan, find

ENCODER = ("nodes", "all", "nodes", "all")


class OverlapScorer(nn.Module):
    """EHNN: an encoder of nodes and hyperedges, then layers from both to the candidates.

    Three layers read the relation to the candidates. One pools the nodes of a candidate. Two see in how many
    nodes (𝓘) it meets each hyperedge: one averages the hyperedges of each size, one sums them, so that it can
    count. Nodes have a layer of their own because hyperedges that share a single node, often hundreds, would
    drown them in one mean.

    Shapes: a `Scored` hypergraph with features → ``[num_candidates, 1]``.
    """

    def __init__(
        self, encoder: Stack, layer: Callable[[int, int], Layer], width: int, dropout: float
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.nodes, self.edges = layer(width, width), layer(width, width)
        self.counts = EHNNMLP(width, width, aggregation="sum", scale=1 / 32)
        self.head = _head(width, dropout)

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        rows = self.encoder(h, x)
        nodes, edges = rows.split([h.num_nodes, h.num_edges])
        overlap = _scored(h).to_candidates("edges")
        y = self.nodes(nodes, _scored(h).to_candidates("nodes"))
        return self.head(y + self.edges(edges, overlap) + self.counts(edges, overlap))


class PoolingScorer(nn.Module):
    """Node embeddings, pooled over the nodes of a candidate by a layer of AllSet.

    Shapes: a `Scored` hypergraph with features → ``[num_candidates, 1]``.
    """

    def __init__(self, encoder: nn.Module, pool: Layer, width: int, dropout: float) -> None:
        super().__init__()
        self.encoder, self.pool = encoder, pool
        self.head = _head(width, dropout)

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        return self.head(self.pool(self.encoder(h, x), _scored(h).to_candidates("nodes")))


def make_scorer(plan: Plan, d_in: int, edge_features: bool) -> nn.Module:
    """The scorer of a model: EHNN by overlaps, any other by pooled embeddings of nodes."""
    if not isinstance(plan.model, str):
        return Given(plan.model, d_in, 1)
    find(plan.model)
    width, dropout = plan.width, plan.dropout
    if plan.model.startswith("ehnn-"):
        options = {"dropout": 0.0} | dict(plan.options or {})
        kind: Any = EHNNTransformer if plan.model == "ehnn-transformer" else EHNNMLP
        own = partial(kind, **options)
        path = ("all", "nodes", "all") if edge_features else ENCODER
        encoder = Stack(d_in, width, own, width=width, path=path, dropout=dropout)
        return OverlapScorer(encoder, own, width, dropout)
    pool: Layer
    if plan.model == "all-set-transformer":
        pool = baselines.AllSetTransformer(width, width)
    else:
        pool = baselines.AllDeepSets(width, width)
    return PoolingScorer(plan.nodes(d_in, width, edge_features), pool, width, dropout)


def _head(width: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU(), Dropout(dropout), nn.Linear(width, 1)
    )


def _scored(h: Hypergraph) -> Scored:
    if not isinstance(h, Scored):
        raise ValueError(f"a hypergraph with candidates to score is expected, got {type(h).__name__}")
    return h
