"""Models that score candidates: a number for each set of nodes, whether it is a hyperedge."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNMLP, EHNNTransformer, Layer, Stack, baselines
from ehnn.nn.dropout import Dropout
from ehnn.tasks.hyperedges import Scored

from .models import Given, Plan, find

ENCODER = ("nodes", "all")


class OverlapScorer(nn.Module):
    """EHNN: nodes → nodes and hyperedges → candidates, which sees in how many nodes a candidate meets each.

    Two layers read the relation to the candidates: one that averages the sources of each size 𝓘, and one that
    sums them, so that it can count how many hyperedges share 𝓘 nodes with the candidate.

    Shapes: a `Scored` hypergraph with features → ``[num_candidates, 1]``.
    """

    def __init__(self, encoder: Stack, mean: Layer, sum_: Layer, width: int, dropout: float) -> None:
        super().__init__()
        self.encoder, self.mean, self.sum = encoder, mean, sum_
        self.head = _head(width, dropout)

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        overlap = _scored(h).to_candidates(self.encoder.path[-1])
        rows = self.encoder(h, x)
        return self.head(self.mean(rows, overlap) + self.sum(rows, overlap))


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
        counting = EHNNMLP(width, width, aggregation="sum", scale=1 / 32)
        return OverlapScorer(encoder, own(width, width), counting, width, dropout)
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
