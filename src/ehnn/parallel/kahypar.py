"""Partitions by Mt-KaHyPar, an optional dependency."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn._utils.optional import require
from ehnn.hypergraph import Hypergraph

from .growing import work


def kahypar(
    h: Hypergraph, ranks: int, imbalance: float, seed: int,
    weight: Tensor | None = None, edge_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """``[num_nodes]`` owners that minimise the connectivity (λ − 1), balanced by ``weight [num_nodes]``.

    ``weight`` is `work` where it is None; a cut hyperedge counts by ``edge_weight [num_edges]``, or 1.
    """
    mtkahypar = require("mtkahypar", "parallel")  # method="growing" needs nothing
    engine = mtkahypar.initialize(1)  # thread
    mtkahypar.set_seed(seed)
    context = engine.context_from_preset(mtkahypar.PresetType.DEFAULT)
    context.set_partitioning_parameters(ranks, imbalance, mtkahypar.Objective.KM1)
    context.logging = False
    large = h.orders >= 2  # smaller ones cannot be cut
    parts = torch.split(h.incidence.index, h.orders.tolist())
    edges = [part.tolist() for part, keep in zip(parts, large.tolist(), strict=True) if keep]
    weights = (work(h) if weight is None else weight).tolist()
    costs = [1] * len(edges) if edge_weight is None else edge_weight[large].tolist()
    graph = engine.create_hypergraph(context, h.num_nodes, len(edges), edges, weights, costs)
    return torch.tensor(graph.partition(context).get_partition(), dtype=torch.int64)
