"""A hypergraph as a sequence of uniform hypergraphs (Definition 1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ehnn._utils.validation import as_count, as_rows
from ehnn.hypergraph import Hypergraph


class UniformHypergraph(NamedTuple):
    """A k-uniform hypergraph (V, E^(k), X^(k)).

    Attributes:
        num_nodes: number n of nodes.
        edges: ``[m, k]`` int64, the k distinct nodes of each hyperedge; no hyperedge twice.
        features: ``[m, d]``.

    >>> UniformHypergraph(3, torch.tensor([[0, 2], [1, 2]]), torch.ones(2, 1)).order
    2
    """

    num_nodes: int
    edges: Tensor
    features: Tensor

    @property
    def order(self) -> int:
        """k."""
        return self.edges.shape[1]


def to_uniform_sequence(
    h: Hypergraph, features: Any = None, max_order: int | None = None
) -> dict[int, UniformHypergraph]:
    """Definition 1: the uniform hypergraphs of orders 1, …, K in ``h``, by order.

    K is ``max_order``, or else the largest order present (at least 1); orders without hyperedges are
    there and empty. Order 0 is there if ``h`` has an empty hyperedge. Within an order the hyperedges
    keep their sequence and their nodes ascend. Weights, labels and names are not carried.

    Args:
        h: one hypergraph (not a batch) without repeated hyperedges.
        features: ``[num_edges, d]``, by default ``h.edge_x``.
    """
    features = _features(h, features)
    orders = h.orders
    present = orders.unique().tolist()
    top = max([1, *present]) if max_order is None else as_count(max_order, "max_order")
    if present and present[-1] > top:
        raise ValueError(f"max_order={top} is below the order {present[-1]} of a hyperedge")
    sequence = {}
    for k in range(0 if 0 in present else 1, top + 1):
        rows = (orders == k).nonzero().squeeze(1)
        places = h.incidence.ptr[rows].unsqueeze(1) + torch.arange(k, device=h.device)
        sequence[k] = UniformHypergraph(h.num_nodes, h.incidence.index[places], features[rows])
        _check_unrepeated(sequence[k].edges)
    return sequence


def _features(h: Hypergraph, features: Any) -> Tensor:
    if not isinstance(h, Hypergraph):
        raise ValueError(f"h must be a Hypergraph, got {type(h).__name__}")
    if h.num_members != 1:
        raise ValueError(f"h must be a single hypergraph, got a batch of {h.num_members}: unbatch it first")
    checked = as_rows(h.edge_x if features is None else features, "features", h.num_edges, "hyperedge", (2,))
    if checked is None:
        raise ValueError("features are needed: none were given and h.edge_x is None")
    return checked.to(h.device)


def _check_unrepeated(edges: Tensor) -> None:
    """Refuse ``[m, k]`` sorted hyperedges of which two are equal."""
    if edges.shape[1] == 0:
        if edges.shape[0] > 1:
            raise ValueError("hyperedges must not repeat: the empty hyperedge is there more than once")
        return
    distinct, count = edges.unique(dim=0, return_counts=True)
    if distinct.shape[0] < edges.shape[0]:
        raise ValueError(
            f"hyperedges must not repeat: {distinct[count > 1][0].tolist()} is there more than once"
        )


def from_uniform_sequence(sequence: Mapping[int, UniformHypergraph]) -> Hypergraph:
    """The inverse of Definition 1: union of the hyperedges, concatenation of the features (as ``edge_x``).

    Hyperedges come in ascending order; within an order they keep their sequence.
    """
    parts = [check_uniform(sequence[k], k) for k in sorted(sequence)]
    for what, values in (
        ("number of nodes", {u.num_nodes for u in parts}),
        ("width", {u.features.shape[1] for u in parts}),
        ("dtype", {str(u.features.dtype) for u in parts}),
    ):
        if len(values) != 1:
            raise ValueError(f"a sequence of uniform hypergraphs must have one {what}, got {sorted(values)}")
    node = torch.cat([u.edges.reshape(-1) for u in parts])
    lengths = torch.cat([u.edges.new_full((u.edges.shape[0],), u.order) for u in parts])
    edge = torch.repeat_interleave(torch.arange(lengths.shape[0], device=node.device), lengths)
    return Hypergraph.from_incidence(
        torch.stack([node, edge]),
        num_nodes=parts[0].num_nodes,
        num_edges=lengths.shape[0],
        edge_x=torch.cat([u.features for u in parts]),
    )


def check_uniform(u: UniformHypergraph, order: int | None = None) -> UniformHypergraph:
    """``u`` with the nodes of its hyperedges ascending, or a ValueError that says what is wrong."""
    if not (isinstance(u.edges, Tensor) and u.edges.dtype == torch.int64 and u.edges.dim() == 2):
        found = (
            f"{u.edges.dtype} of shape {list(u.edges.shape)}"
            if isinstance(u.edges, Tensor)
            else type(u.edges).__name__
        )
        raise ValueError(f"edges of a uniform hypergraph: int64 tensor of shape [m, k] expected, got {found}")
    if order is not None and u.order != order:
        raise ValueError(f"the uniform hypergraph at order {order} has order {u.order}")
    as_rows(u.features, "features", u.edges.shape[0], "hyperedge", (2,))
    edges = u.edges.sort(1).values
    if edges.numel() and (int(edges.min()) < 0 or int(edges.max()) >= u.num_nodes):
        raise ValueError(
            f"nodes must be in 0 … {u.num_nodes - 1}, got {int(edges.min())} … {int(edges.max())}"
        )
    double = (edges.diff(dim=1) == 0).any(1)
    if bool(double.any()):
        raise ValueError(f"a hyperedge must have {u.order} distinct nodes, got {u.edges[double][0].tolist()}")
    _check_unrepeated(edges)
    return u._replace(edges=edges)
