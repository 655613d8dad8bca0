"""Hyperedges as sets: which are identical, and a hypergraph without some of them."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.hypergraph.build import PER_INCIDENCE, has_incidence_rows, rebuild
from ehnn.hypergraph.pairs import arange_like, pairs_from_coo, pairs_from_sorted, repeat


def distinct_sets(h: Hypergraph) -> Tensor:
    """``[num_edges]`` the number of each hyperedge's set of nodes: equal for identical hyperedges.

    >>> distinct_sets(Hypergraph.from_edges([[0, 1], [2, 3], [1, 0]])).unique().numel()
    2
    """
    return _number(h.incidence)


def same_sets(h: Hypergraph, candidates: Hypergraph) -> tuple[Tensor, Tensor]:
    """``[num_edges]`` and ``[num_candidates]``: the number of each set, counted over both together."""
    if h.num_nodes != candidates.num_nodes:
        raise ValueError(
            f"candidates must be over the same {h.num_nodes} nodes, got {candidates.num_nodes} nodes"
        )
    a, b = h.incidence, candidates.incidence
    ptr = torch.cat([a.ptr, b.ptr[1:] + len(a)])
    number = _number(pairs_from_sorted(ptr, torch.cat([a.index, b.index]), h.num_nodes))
    return number[: h.num_edges], number[h.num_edges :]


def is_in(candidates: Hypergraph, h: Hypergraph) -> Tensor:
    """``[num_candidates]`` whether each candidate is, as a set, a hyperedge of ``h``."""
    known, asked = same_sets(h, candidates)
    return torch.isin(asked, known)


def keep_edges(h: Hypergraph, keep: Tensor) -> Hypergraph:
    """``h`` with all its nodes and the hyperedges where ``keep`` ``[num_edges]`` bool is true, in order."""
    node, edge = h.index
    edges = keep.nonzero().squeeze(1)
    number = keep.cumsum(0) - 1
    places = keep[edge].nonzero().squeeze(1)
    row, ordered = number[edge[places]], has_incidence_rows(h)
    pairs, order = pairs_from_coo(row, node[places], len(edges), h.num_nodes, ordered)
    return rebuild(h, pairs, None if order is None else places[order], None, edges)


def structure(h: Hypergraph) -> Hypergraph:
    """The hyperedges of ``h`` without features, labels, weights, roles or names."""
    names = ("x", "edge_x", "y", "edge_weight", *PER_INCIDENCE, "node_names", "edge_names")
    return h.replace(**dict.fromkeys(names))


def _number(pairs: SparsePattern) -> Tensor:
    """Rows with equal columns get equal numbers: by a hash, then checked entry by entry."""
    _, number = torch.unique(_hash(pairs), return_inverse=True)
    first = torch.full((int(number.max()) + 1 if len(number) else 0,), pairs.num_rows, device=number.device)
    first.scatter_reduce_(0, number, arange_like(number), "amin")
    rows = pairs.rows
    offset = arange_like(pairs.index) - pairs.ptr[rows]
    alike = torch.equal(pairs.lengths[first[number]], pairs.lengths)
    if alike and torch.equal(pairs.index[pairs.ptr[first[number[rows]]] + offset], pairs.index):
        return number
    return _number_exactly(pairs)


def _hash(pairs: SparsePattern) -> Tensor:
    """``[rows]`` Σ over the columns of a mixed 64-bit number of each, modulo 2⁶⁴."""
    value = (torch.arange(pairs.num_cols, device=pairs.ptr.device) + 1) * 0x1B873593
    for shift in (15, 13, 16):
        value = (value ^ (value >> shift)) * 0x2C1B3C6D297A2D39
    total = torch.zeros(pairs.num_rows, dtype=torch.int64, device=value.device)
    return total.index_add_(0, pairs.rows, value[pairs.index])


def _number_exactly(pairs: SparsePattern) -> Tensor:
    """Slow and sure, for rows made to collide."""
    known: dict[tuple[int, ...], int] = {}
    rows = torch.split(pairs.index.cpu(), pairs.lengths.tolist())
    numbers = [known.setdefault(tuple(row.tolist()), len(known)) for row in rows]
    return torch.tensor(numbers, dtype=torch.int64, device=pairs.ptr.device)


def from_rows(lengths: Tensor, node: Tensor, num_nodes: int) -> Hypergraph:
    """Candidates with ``lengths [m]`` nodes each, listed one after another in ``node``."""
    edge = repeat(lengths, node.shape[0])
    return Hypergraph.from_incidence(torch.stack([node, edge]), num_nodes, lengths.shape[0])


def among_most_active(h: Hypergraph, nodes: int) -> Hypergraph:
    """The hyperedges within the ``nodes`` nodes of the largest degrees, and these nodes alone.

    Of equal degrees the earlier node is taken; nodes keep their order and features. Hyperedges that would be
    cut are left out, so every set that stays is a real one.

    >>> h = Hypergraph.from_edges([[0, 1], [1, 3], [3], [0, 2]], num_nodes=4)
    >>> among_most_active(h, 3).edges()
    [[0, 1], [1, 2], [2]]
    """
    chosen = torch.sort(h.degrees, descending=True, stable=True).indices[:nodes]
    return h.subhypergraph(chosen.sort().values, whole_edges=True)
