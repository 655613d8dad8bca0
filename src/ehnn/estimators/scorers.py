"""Models that score candidates: one number per set of nodes, high for likely hyperedges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNMLP, Block, Layer, Stack, baselines
from ehnn.nn.dropout import Dropout
from ehnn.ops import segment_sum
from ehnn.tasks.hyperedges.affinity import RANKS
from ehnn.tasks.hyperedges.scoring import Scored

from .models import Given, NetworkSpec, find

ENCODER = ("nodes", "all", "nodes", "all")
LAYER: dict[str, Any] = {"global_interaction": False, "order_encoding": "number"}
"""Options of every EHNN layer here. All candidates share one hypergraph, so the global term (𝓘 = 0) is the
same for all. As a large constant it hinders training.
"""


class Scorer(nn.Module):
    """Encodes the hypergraph once and scores any number of candidates.

    Args:
        encoder: gives the rows that `score` reads.
        parts: how many rows of ``width`` channels `score` gives to the head for a candidate.
        width, dropout: of the head.
        affinity: whether the head reads the affinities of the candidates too, by a layer of their own.

    Shapes: a `Scored` hypergraph with features → ``[num_candidates, 1]``.
    """

    def __init__(self, encoder: nn.Module, parts: int, width: int, dropout: float, affinity: bool) -> None:
        super().__init__()
        self.encoder = encoder
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(parts)])
        self.affinity = nn.Sequential(nn.Linear(len(RANKS), width), nn.ReLU()) if affinity else None
        self.head = _head((parts + affinity) * width, width, dropout)

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        return self.score(self.encoder(h, x), h)

    def score(self, encoded: Tensor, h: Hypergraph) -> Tensor:
        """The candidates of ``h``, whose ``encoder(h)`` is given."""
        raise NotImplementedError

    def judge(self, parts: Sequence[Tensor], h: Hypergraph) -> Tensor:
        """Apply the head to ``parts``, each with its own norm, and to the affinities if there are any."""
        rows = [norm(part) for norm, part in zip(self.norms, parts, strict=True)]
        if self.affinity is not None:
            near = _scored(h).affinity
            if near is None:
                raise ValueError(
                    "candidates with affinities are expected: Scored.of(..., affinity=Affinity.of(h))"
                )
            rows.append(self.affinity(near))
        return self.head(torch.cat(rows, 1))


class OverlapScorer(Scorer):
    """EHNN: an encoder of nodes and hyperedges, then layers from both to the candidates.

    Three layers read the relation to the candidates. One pools the nodes of a candidate. Two see in how many
    nodes (𝓘) it meets each hyperedge: one averages the hyperedges of each size, one sums them, so that it can
    count. Nodes have a layer of their own: in one mean with hyperedges that share a single node, often
    hundreds, they would hardly count. `pair_products` of the nodes are added, because nodes of a set that
    never met can still be compared. Each part has its own LayerNorm before they are joined; otherwise the
    sums, which grow with the degrees, would dominate the means.
    """

    def __init__(
        self,
        encoder: Stack,
        layer: Callable[[int, int], Layer],
        count: Layer,
        width: int,
        dropout: float,
        affinity: bool,
    ) -> None:
        super().__init__(encoder, 4, width, dropout, affinity)
        self.nodes, self.edges, self.counts = layer(width, width), layer(width, width), count

    def score(self, encoded: Tensor, h: Hypergraph) -> Tensor:
        nodes, edges = encoded.split([h.num_nodes, h.num_edges])
        overlap = _scored(h).to_candidates("edges")
        y = (
            self.nodes(nodes, _scored(h).to_candidates("nodes")),
            self.edges(edges, overlap),
            self.counts(edges, overlap),
            pair_products(nodes, _scored(h).candidates),
        )
        return self.judge(y, h)


def pair_products(x: Tensor, sets: Hypergraph) -> Tensor:
    r"""``[num_nodes, d] → [num_sets, d]``: the mean over the pairs of nodes of a set of their products.

    .. math:: \sum_{u \ne v} x_u x_v = \Big(\sum_v x_v\Big)^2 - \sum_v x_v^2

    for each channel by itself, divided by the number of pairs; a set of one node has none, and zeros.

    >>> sets = Hypergraph.from_edges([[0, 1, 2], [1]], num_nodes=3)
    >>> pair_products(torch.tensor([[1.0], [2.0], [4.0]]), sets).flatten().tolist()  # (2 + 4 + 8) / 3
    [4.666666507720947, 0.0]
    """
    pairs = sets.incidence
    order = pairs.lengths.to(x.dtype).unsqueeze(1)
    total = segment_sum(x, pairs).square() - segment_sum(x.square(), pairs)
    return total / (order * (order - 1)).clamp(min=1)


class PoolingScorer(Scorer):
    """Node embeddings, pooled over the nodes of a candidate by a layer of AllSet, beside `pair_products`."""

    def __init__(self, encoder: nn.Module, pool: Layer, width: int, dropout: float, affinity: bool) -> None:
        super().__init__(encoder, 2, width, dropout, affinity)
        self.pool = pool
        self.register_load_state_dict_pre_hook(_add_products)

    def score(self, encoded: Tensor, h: Hypergraph) -> Tensor:
        pooled = self.pool(encoded, _scored(h).to_candidates("nodes"))
        y = (pooled, pair_products(encoded, _scored(h).candidates))
        return self.judge(y, h)


class MeanScorer(nn.Module):
    """The mean of what several scorers say; each encodes the hypergraph once."""

    def __init__(self, scorers: Iterable[nn.Module]) -> None:
        super().__init__()
        self.scorers = nn.ModuleList(scorers)

    def forward(self, h: Hypergraph) -> Tensor:
        return self.score(self.encoder(h), h)

    def encoder(self, h: Hypergraph) -> list[Tensor]:
        """What `score` reads: ``encoder(h)`` of each scorer."""
        return [scorer.encoder(h) for scorer in self._scorers()]

    def score(self, encoded: Sequence[Tensor], h: Hypergraph) -> Tensor:
        """``[num_candidates, 1]`` of ``h``, whose ``encoder(h)`` is given."""
        found = [scorer.score(rows, h) for scorer, rows in zip(self._scorers(), encoded, strict=True)]
        return torch.stack(found).mean(0)

    def _scorers(self) -> list[Scorer]:
        return cast("list[Scorer]", list(self.scorers))


def _add_products(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Read files from before version 0.2, which had no pair products: they get weight 0."""
    if f"{prefix}norm.weight" not in state:
        return
    for name, fresh in (("weight", torch.ones_like), ("bias", torch.zeros_like)):
        kept = state[f"{prefix}norms.0.{name}"] = state.pop(f"{prefix}norm.{name}")
        state[f"{prefix}norms.1.{name}"] = fresh(kept)
    first = state[f"{prefix}head.0.weight"]
    state[f"{prefix}head.0.weight"] = torch.cat([first, torch.zeros_like(first)], 1)


def make_scorer(network: NetworkSpec, d_in: int, edge_features: bool, affinity: bool = False) -> nn.Module:
    """The scorer of a model: EHNN by overlaps, any other by pooled embeddings of nodes."""
    if not isinstance(network.model, str):
        return Given(network.model, d_in, 1)
    find(network.model)
    width, dropout = network.width, network.dropout
    if network.model.startswith("ehnn-"):
        return _overlap_scorer(network, d_in, edge_features, affinity)
    if network.model == "all-deep-sets":  # sums over hundreds of hyperedges do not train
        network = replace(network, options={"aggregation": "mean"} | dict(network.options or {}))
    kind = baselines.AllSetTransformer if network.model == "all-set-transformer" else baselines.AllDeepSets
    pool: Layer = kind(width, width)
    return PoolingScorer(network.nodes(d_in, width, edge_features), pool, width, dropout, affinity)


def _overlap_scorer(network: NetworkSpec, d_in: int, edge_features: bool, affinity: bool) -> OverlapScorer:
    """The scorer of EHNN-MLP or EHNN-Transformer; ``options`` go to every layer but the counting one."""
    width, dropout, known = network.width, network.dropout, find(network.model)
    layer: Any = partial(known.kind, **dict(known.options) | LAYER | dict(network.options or {}))
    path = ("all", "nodes", "all") if edge_features else ENCODER
    try:
        around: dict[str, Any] = {"activation": True, "residual": True} | dict(known.block)
        block = Block(layer, dropout=dropout, **around)
        encoder = Stack(d_in, width, block, width=width, path=path)
        count = EHNNMLP(width, width, aggregation="sum", scale=1 / 32, **LAYER)
        return OverlapScorer(encoder, layer, count, width, dropout, affinity)
    except TypeError as error:
        raise ValueError(f"options of model {network.model!r}: {error}") from error


def _head(d_in: int, width: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Linear(d_in, width), nn.ReLU(), Dropout(dropout), nn.Linear(width, 1))


def _scored(h: Hypergraph) -> Scored:
    if not isinstance(h, Scored):
        raise ValueError(f"a hypergraph with candidates to score is expected, got {type(h).__name__}")
    return h
