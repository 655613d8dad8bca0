"""Places of nodes within their hyperedges, by centrality."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.ops import segment_sum

from ._structure import derived, power, scale

CENTRALITIES = 4
_STEPS = 100
_DAMPING = 0.85
_DIGITS = 1e-9
"""Centralities that differ by less than this share of the largest are equal."""


def within_order(h: Hypergraph, dtype: torch.dtype) -> Tensor:
    """``[num_incidences, 4]``: rank of the node among the members of the hyperedge, divided by its order.

    By degree, eigenvector centrality, PageRank and core number; equal values share a rank, the smallest has
    rank 1. The paper names the centralities but not their graph: here walks go from a node to one of
    its hyperedges and to one of its members, and the core number is the largest k such that the node is in
    a part where every node has k hyperedges of two or more members of the part.
    """
    return derived(h.incidence, _within_order, dtype)


def _within_order(incidence: SparsePattern, dtype: torch.dtype) -> Tensor:
    if not len(incidence):
        return torch.zeros(0, CENTRALITIES, dtype=dtype, device=incidence.ptr.device)
    stars = incidence.transpose()
    degree = incidence.t_lengths.double()
    found = [degree, _eigenvector(incidence, stars), _pagerank(incidence, stars), _cores(incidence, stars)]
    return torch.stack([_ranks(incidence, values) for values in found], 1).to(dtype)


def _eigenvector(members: SparsePattern, stars: SparsePattern) -> Tensor:
    """Eigenvector centrality of H Hᵀ, by power iteration."""
    x = torch.ones(members.num_cols, 1, dtype=torch.float64, device=members.ptr.device)
    for _ in range(_STEPS):
        x = segment_sum(segment_sum(x, members), stars)
        x = x / x.norm().clamp(min=1e-300)
    return x.squeeze(1)


def _pagerank(members: SparsePattern, stars: SparsePattern) -> Tensor:
    degree, order = stars.lengths.double(), members.lengths.double()
    n = max(members.num_cols, 1)
    x = torch.full((members.num_cols, 1), 1 / n, dtype=torch.float64, device=members.ptr.device)
    for _ in range(_STEPS):
        edges = scale(power(order, -1), segment_sum(scale(power(degree, -1), x), members))
        walked = segment_sum(edges, stars)
        x = _DAMPING * walked + (1 - _DAMPING * walked.sum()) / n
    return x.squeeze(1)


def _cores(members: SparsePattern, stars: SparsePattern) -> Tensor:
    """Core numbers: nodes with too few hyperedges are taken away until none is left, for k = 1, 2, …"""
    alive = torch.ones(members.num_cols, 1, dtype=torch.float64, device=members.ptr.device)
    core, k = torch.zeros_like(alive), 0
    while bool(alive.any()):
        whole = (segment_sum(alive, members) >= 2).double()
        kept = alive * (segment_sum(whole, stars) > k)
        if torch.equal(kept, alive):
            k += 1
            continue
        core = torch.where((alive > 0) & (kept == 0), float(k), core)
        alive = kept
    return core.squeeze(1)


def _ranks(incidence: SparsePattern, values: Tensor) -> Tensor:
    """Dense rank of each member by its value, divided by the order."""
    row = incidence.rows
    rounded = (values / values.abs().amax().clamp(min=1e-300) / _DIGITS).round()[incidence.index]
    order = torch.argsort(rounded, stable=True)
    order = order[torch.argsort(row[order], stable=True)]
    edge, value = row[order], rounded[order]
    new = torch.ones_like(edge)
    new[1:] = ((edge[1:] != edge[:-1]) | (value[1:] != value[:-1])).long()
    count = new.cumsum(0)
    rank = torch.empty_like(count)
    rank[order] = count - count[incidence.ptr[edge]] + 1  # less those of the hyperedges before
    return rank / incidence.lengths[row]
