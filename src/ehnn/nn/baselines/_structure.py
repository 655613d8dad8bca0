"""What the node models derive from a hypergraph, each computed once and kept with what it came from."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

import torch
from torch import Tensor

from ehnn._utils.cached import plain_tensors
from ehnn.hypergraph import Hypergraph, SparsePattern, clique_expansion
from ehnn.hypergraph.pairs import arange_like, pairs_from_coo
from ehnn.hypergraph.products import MAX_PAIRS

_Value = TypeVar("_Value")


def derived(owner: SparsePattern | Hypergraph, make: Callable[..., _Value], *key: Hashable) -> _Value:
    """``make(owner, *key)``, computed once for each instance ``owner`` and kept on it.

    The value lives exactly as long as its owner. Values that depend on the incidences
    alone are kept on ``h.incidence``, which ``h.replace(x=…)`` shares; others on ``h``.
    """
    kept = owner._derived
    if (make, key) not in kept:
        with plain_tensors():
            kept[make, key] = make(owner, *key)
    return kept[make, key]


def members_of(h: Hypergraph) -> SparsePattern:
    """``SparsePattern`` of hyperedges × nodes: sums over it take nodes to hyperedges."""
    return h.incidence


def stars_of(h: Hypergraph) -> SparsePattern:
    """``SparsePattern`` of nodes × hyperedges: sums over it take hyperedges to nodes."""
    return derived(h.incidence, SparsePattern.transpose)


def incidences_of(h: Hypergraph) -> SparsePattern:
    """``SparsePattern`` of nodes × incidences in the order of ``h.index``."""
    return derived(h.incidence, _incidences_of_nodes)


def _incidences_of_nodes(incidence: SparsePattern) -> SparsePattern:
    node = incidence.index
    return pairs_from_coo(node, arange_like(node), incidence.num_cols, len(incidence))[0]


def within_edges(h: Hypergraph) -> SparsePattern:
    """``SparsePattern`` of hyperedges × incidences in the order of ``h.index``."""
    return derived(h.incidence, _incidences_of_edges)


def _incidences_of_edges(incidence: SparsePattern) -> SparsePattern:
    edge = incidence.rows
    return pairs_from_coo(edge, arange_like(edge), incidence.num_rows, len(incidence))[0]


def clique_with_loops(h: Hypergraph, max_pairs: int = MAX_PAIRS) -> SparsePattern:
    """``SparsePattern`` of nodes × nodes that share a hyperedge, and every node with itself."""
    return derived(h.incidence, _clique_with_loops, max_pairs)


def _clique_with_loops(incidence: SparsePattern, max_pairs: int) -> SparsePattern:
    n = incidence.num_cols
    row, col = clique_expansion(Hypergraph(incidence), max_pairs).index
    loops = torch.arange(n, device=row.device)
    return pairs_from_coo(torch.cat([row, loops]), torch.cat([col, loops]), n, n)[0]


def node_pool(h: Hypergraph) -> SparsePattern:
    """``SparsePattern`` of batch members × nodes."""
    return derived(h, _node_pool)


def _node_pool(h: Hypergraph) -> SparsePattern:
    return pairs_from_coo(h.node_batch, arange_like(h.node_batch), h.num_members, h.num_nodes)[0]


def orders_of(h: Hypergraph, x: Tensor) -> Tensor:
    """``[num_edges]`` orders as numbers of the kind of ``x``."""
    return derived(h.incidence, _lengths, x.dtype)


def degrees_of(h: Hypergraph, x: Tensor) -> Tensor:
    """``[num_nodes]`` degrees as numbers of the kind of ``x``."""
    return derived(h.incidence, _t_lengths, x.dtype)


def _lengths(incidence: SparsePattern, dtype: torch.dtype) -> Tensor:
    return incidence.lengths.to(dtype)


def _t_lengths(incidence: SparsePattern, dtype: torch.dtype) -> Tensor:
    return incidence.t_lengths.to(dtype)


def power(t: Tensor, exponent: float) -> Tensor:
    """``t ** exponent`` where t is positive, 0 elsewhere: nothing divides by a degree of 0.

    Differentiable without NaN: the masked entries never meet the power.
    """
    positive = t > 0
    return torch.where(positive, torch.where(positive, t, 1.0).pow(exponent), 0.0)


def scale(weights: Tensor, x: Tensor) -> Tensor:
    """``diag(weights [rows]) x [rows, …]``."""
    return weights.reshape(-1, *[1] * (x.dim() - 1)) * x
