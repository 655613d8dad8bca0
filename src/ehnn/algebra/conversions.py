"""A hypergraph as a sequence of symmetric tensors, and back (Definitions 2 and 3)."""

from __future__ import annotations

from itertools import permutations
from math import factorial
from typing import Any

import torch
from torch import Tensor

from ehnn._utils.validation import as_rows
from ehnn.hypergraph import Hypergraph

from .checks import check_dense, nearly_equal, powers, read_tensor
from .patterns import multi_indices, num_distinct
from .sequence import Tensors, by_order_of
from .uniform_sequence import UniformHypergraph, check_uniform, from_uniform_sequence, to_uniform_sequence


def to_tensor(uniform: UniformHypergraph) -> Tensor:
    """Definition 2: the symmetric tensor ``[n]*k + [d]`` of a k-uniform hypergraph.

    A hyperedge of order k fills the k! entries whose multi-index is an arrangement of its nodes;
    everything else is zero. Differentiable in the features.

    >>> pair = UniformHypergraph(3, torch.tensor([[0, 2]]), torch.tensor([[5.0]]))
    >>> to_tensor(pair).squeeze(-1).tolist()
    [[0.0, 0.0, 5.0], [0.0, 0.0, 0.0], [5.0, 0.0, 0.0]]
    """
    n, k, d = uniform.num_nodes, uniform.order, uniform.features.shape[1]
    check_dense(n, k, d, f"the tensor of a {k}-uniform hypergraph")
    u = check_uniform(uniform)
    A = u.features.new_zeros(n**k, d)
    if u.edges.shape[0]:
        arrangements = torch.tensor(list(permutations(range(k))), dtype=torch.int64, device=u.edges.device)
        flat = (u.edges[:, arrangements.reshape(factorial(k), k)] * powers(n, k, u.edges.device)).sum(
            2
        )  # [m, k!]
        A = A.index_add(0, flat.reshape(-1), u.features.repeat_interleave(flat.shape[1], 0))
    return A.reshape(*[n] * k, d)


def from_tensor(A: Tensor, num_nodes: int | None = None) -> UniformHypergraph:
    """The inverse of Definition 2: hyperedges are the nonzero entries of ``A [n]*k + [d]``.

    A hyperedge all of whose features are zero leaves no trace in the tensor and cannot be restored; to
    read a tensor at known hyperedges use `read_hyperedges`. Hyperedges come in lexicographic order.
    ``num_nodes`` is needed only for k = 0. A tensor that is not symmetric, or not zero where nodes
    repeat, represents no hypergraph and is refused.
    """
    n, k, d = read_tensor(A, num_nodes)
    if n < 0:
        raise ValueError("a tensor of order 0 does not tell the number of nodes: give num_nodes")
    if not bool(torch.isfinite(A).all()):
        raise ValueError("A must be finite, got NaN or infinity")
    for axis in range(k - 1):
        if not nearly_equal(A, A.transpose(axis, axis + 1)):
            raise ValueError(f"A must be symmetric, but exchanging its axes {axis} and {axis + 1} changes it")
    index, flat = multi_indices(n, k, A.device), A.reshape(n**k, d)
    nonzero = (flat != 0).any(1)
    repeated = nonzero & (num_distinct(index) < k)
    if bool(repeated.any()):
        raise ValueError(f"A must be zero where nodes repeat, but is not at {index[repeated][0].tolist()}")
    rows = nonzero & (index.diff(dim=1) > 0).all(1)
    return UniformHypergraph(n, index[rows], flat[rows])


def to_tensor_sequence(
    h: Hypergraph, features: Any = None, max_order: int | None = None, node_features: Any = None
) -> dict[int, Tensor]:
    """Definition 3: the symmetric tensors A^(1), …, A^(K) of a hypergraph, by order.

    Args:
        h: as in `to_uniform_sequence`.
        features: ``[num_edges, d]``, by default ``h.edge_x``.
        max_order: K, by default the largest order present (at least 1).
        node_features: ``[num_nodes, d]`` taken as A^(1), a node being a hyperedge of order 1; ``h`` must
            then have no hyperedges of order 1, which would repeat nodes.

    Returns:
        By order k, ``[n]*k + [d]``; order 0 (``[d]``) is there if ``h`` has an empty hyperedge.

    >>> h = Hypergraph.from_edges([[0], [0, 1]], edge_x=torch.tensor([[3.0], [5.0]]))
    >>> {k: A.squeeze(-1).tolist() for k, A in to_tensor_sequence(h).items()}
    {1: [3.0, 0.0], 2: [[0.0, 5.0], [5.0, 0.0]]}
    """
    sequence = to_uniform_sequence(h, features, max_order)
    top = max(sequence, default=0)
    if sequence:
        check_dense(h.num_nodes, top, sequence[top].features.shape[1], f"the tensor of order {top}")
    tensors = {k: to_tensor(u) for k, u in sequence.items()}
    if node_features is not None:
        tensors[1] = _node_tensor(h, node_features, sequence)
    return tensors


def _node_tensor(h: Hypergraph, x: Any, sequence: dict[int, UniformHypergraph]) -> Tensor:
    checked = as_rows(x, "node_features", h.num_nodes, "node", (2,))
    first = sequence.get(1)
    if checked is None or first is None:
        raise ValueError("node_features are of order 1 and need max_order of at least 1")
    if first.edges.shape[0]:
        raise ValueError(
            f"hyperedges must not repeat: {first.edges[0].tolist()} is also a node with features"
        )
    if checked.shape[1] != first.features.shape[1] or checked.dtype != first.features.dtype:
        raise ValueError(
            f"node_features must have the width {first.features.shape[1]} and dtype {first.features.dtype} "
            f"of the hyperedge features, got {checked.shape[1]} and {checked.dtype}"
        )
    return checked.to(h.device)


def from_tensor_sequence(tensors: Tensors, nodes: bool = False, num_nodes: int | None = None) -> Hypergraph:
    """The inverse of Definition 3; hyperedges whose features are all zero cannot be restored.

    Args:
        tensors: ``[n]*k + [d]`` by order k, or a sequence of those of orders 1, …, K.
        nodes: take A^(1) as node features ``x`` instead of as hyperedges of order 1.
        num_nodes: needed only where all tensors are of order 0.
    """
    by_order = by_order_of(tensors, num_nodes)
    n = next((A.shape[0] for k, A in by_order.items() if k), num_nodes)
    x = None
    if nodes:
        if 1 not in by_order:
            raise ValueError(f"there is no A^(1) to take node features from, only orders {sorted(by_order)}")
        x = by_order[1]
        by_order[1] = torch.zeros_like(x)
    return from_uniform_sequence({k: from_tensor(A, n) for k, A in by_order.items()}).replace(x=x)


def read_hyperedges(tensors: Tensors, h: Hypergraph) -> Tensor:
    """``[num_edges, d]`` the entry A^(|e|)_e of ``tensors`` for each hyperedge e of ``h``, in order.

    The hyperedges need not have been in the input: they may be any candidates over the same nodes.

    >>> h = Hypergraph.from_edges([[0], [0, 1]], edge_x=torch.tensor([[3.0], [5.0]]))
    >>> read_hyperedges(to_tensor_sequence(h), h).flatten().tolist()
    [3.0, 5.0]
    """
    by_order = by_order_of(tensors, h.num_nodes)
    orders, like = h.orders, next(iter(by_order.values()))
    out = like.new_zeros(h.num_edges, like.shape[-1])
    for k in orders.unique().tolist():
        if k not in by_order:
            raise ValueError(
                f"a hyperedge has order {k}, but the tensors have orders {sorted(by_order)} only"
            )
        rows = (orders == k).nonzero().squeeze(1)
        places = h.incidence.ptr[rows].unsqueeze(1) + torch.arange(k, device=h.device)
        flat = (h.incidence.index[places] * powers(h.num_nodes, k, h.device)).sum(1)
        out = out.index_add(0, rows, by_order[k].reshape(h.num_nodes**k, -1)[flat])
    return out
