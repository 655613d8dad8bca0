"""The built-in partition: pieces of a breadth-first order, improved by moving nodes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.hypergraph.pairs import starts

_ROW = 8
_NODE = 1.5
_DENSE = 2**26
"""Entries of the (hyperedge, rank) table above which nodes are not moved."""


def grow(h: Hypergraph, ranks: int, imbalance: float, passes: int, weight: Tensor | None = None) -> Tensor:
    """``[num_nodes]`` owners, balanced by ``weight [num_nodes]``, or by `work` where it is None.

    With ``passes=0`` the numbering of the nodes is cut, without any search.
    """
    weight = work(h) if weight is None else weight
    order = _breadth_first(h) if passes else torch.arange(h.num_nodes)
    part = _cut_evenly(order, weight, ranks)
    if passes == 0 or h.num_incidences == 0 or max(h.num_edges, h.num_nodes) * ranks > _DENSE:
        return part
    best, least = part, ghosts(h.incidence, part, ranks)
    limit = float(weight.sum()) / ranks * (1 + imbalance)
    for _ in range(passes):
        part = _move(h.incidence, part, weight, ranks, limit)
        count = ghosts(h.incidence, part, ranks)
        if count >= least:
            break
        best, least = part, count
    return best


def work(h: Hypergraph) -> Tensor:
    """``[num_nodes]`` what a node costs its rank: itself, its share of its hyperedges, and its incidences.

    Networks run on rows and hold their activations; a sum over incidences is one pass. So a row counts as
    much as `_ROW` incidences. nodes → all → nodes has six φ on nodes and three on hyperedges, but what is
    made and freed on the way depends on their sum: a node counts as `_NODE` hyperedges.
    """
    share = 1 / h.orders.clamp(min=1).double()
    rows = torch.full((h.num_nodes,), _NODE, dtype=torch.float64)
    rows.index_add_(0, h.incidence.index, share[h.incidence.rows])
    return (_ROW * rows).round().to(torch.int64) + h.degrees


def ghosts(pairs: SparsePattern, part: Tensor, ranks: int) -> int:
    """Σ over hyperedges of the ranks with nodes of it, less one: the connectivity."""
    touched = torch.unique(pairs.rows * ranks + part[pairs.index]).shape[0]
    return touched - int((pairs.lengths > 0).sum())


def _breadth_first(h: Hypergraph) -> Tensor:
    """The nodes in an order that follows hyperedges: neighbours are near each other."""
    from scipy.sparse import bmat, csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    p = h.incidence
    data = np.ones(len(p), dtype=np.int8)
    star = csr_array((data, p.index.numpy(), p.ptr.numpy()), shape=(p.num_rows, p.num_cols))
    graph = bmat([[None, star.T], [star, None]], format="csr")
    order = torch.from_numpy(reverse_cuthill_mckee(graph, symmetric_mode=True).astype(np.int64))
    return order[order < h.num_nodes]


def _cut_evenly(order: Tensor, weight: Tensor, ranks: int) -> Tensor:
    """Pieces of ``order`` of equal weight."""
    before = starts(weight[order])
    part = torch.empty_like(order)
    part[order] = torch.div(before * ranks, max(int(weight.sum()), 1), rounding_mode="floor")
    return part


def _move(pairs: SparsePattern, part: Tensor, weight: Tensor, ranks: int, limit: float) -> Tensor:
    """Every other node goes where most of its hyperedges' other nodes are, while there is room."""
    shape = pairs.num_rows, ranks
    inside = torch.zeros(shape).index_put_((pairs.rows, part[pairs.index]), torch.ones(()), accumulate=True)
    share = inside / (pairs.lengths - 1).clamp(min=1).unsqueeze(1)
    score = torch.zeros(pairs.num_cols, ranks).index_add_(0, pairs.index, share[pairs.rows])
    own = torch.zeros(pairs.num_cols)
    own.index_add_(0, pairs.index, 1 / (pairs.lengths - 1).clamp(min=1)[pairs.rows].float())
    score[torch.arange(part.shape[0]), part] -= own  # a node does not vote for itself
    gain, to = (score - score.gather(1, part.unsqueeze(1))).max(1)
    wish = (gain > 0).nonzero().squeeze(1)
    wish = wish[torch.argsort(gain[wish], descending=True, stable=True)]
    new = part.clone()
    room = limit - torch.bincount(part, weights=weight.double(), minlength=ranks)
    for rank in range(ranks):
        mine = wish[to[wish] == rank]
        fits = weight[mine].cumsum(0) <= max(float(room[rank]), 0.0)
        new[mine[fits]] = rank
    return new
