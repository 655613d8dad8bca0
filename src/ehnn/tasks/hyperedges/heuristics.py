"""Scores of candidates that need no training."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.products import common_columns

from .sets import structure


def co_membership(h: Hypergraph, candidates: Hypergraph) -> Tensor:
    """``[num_candidates]`` mean over the pairs of nodes of each of ``candidates`` of the hyperedges that hold
    both.

    >>> h = Hypergraph.from_edges([[0, 1, 2], [0, 1]], num_nodes=4)
    >>> co_membership(h, Hypergraph.from_edges([[0, 1], [1, 2, 3]], num_nodes=4)).tolist()
    [2.0, 0.3333333333333333]
    """
    row, _, count = common_columns(candidates.incidence, h.incidence)
    pairs = torch.zeros(candidates.num_edges, dtype=torch.float64)
    pairs.index_add_(0, row.cpu(), (count * (count - 1) / 2).double().cpu())
    order = candidates.orders.cpu().double()
    return pairs / (order * (order - 1) / 2).clamp(min=1)


def common_neighbours(h: Hypergraph, candidates: Hypergraph) -> Tensor:
    """``[num_candidates]`` mean over the pairs of nodes of each of ``candidates`` of their common neighbours.

    Neighbours are the nodes that share a hyperedge, whatever their weights and roles.

    >>> h = Hypergraph.from_edges([[0, 1, 2], [0, 1]], num_nodes=4)
    >>> common_neighbours(h, Hypergraph.from_edges([[0, 1], [1, 3]], num_nodes=4)).tolist()
    [1.0, 0.0]
    """
    from ehnn.io import to_scipy

    incidence = to_scipy(structure(h)).astype(np.float32)
    near = incidence @ incidence.T
    near.data[:] = 1
    near.setdiag(0)
    near.eliminate_zeros()
    chosen = to_scipy(structure(candidates)).T.tocsr().astype(np.float32)
    # Σ over pairs of |N(u) ∩ N(v)| is Σ over w of c_w (c_w − 1), with c_w nodes of the candidate next to w
    counts = (chosen @ near).tocsr()
    counts.data = counts.data * (counts.data - 1)
    order = candidates.orders.cpu().double()
    total = torch.from_numpy(np.asarray(counts.sum(1), dtype=np.float64).reshape(-1))
    return total / (order * (order - 1)).clamp(min=1)
