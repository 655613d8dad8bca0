"""Batches: disjoint unions without padding."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from .build import PER_INCIDENCE, rebuild
from .hypergraph import Hypergraph
from .pairs import SparsePattern, pairs_from_sorted, pointer

_ATTRIBUTES = ("x", "edge_x", "y", "edge_weight", *PER_INCIDENCE)


def batch(hypergraphs: Iterable[Hypergraph]) -> Hypergraph:
    """Join several hypergraphs into one Hypergraph, their disjoint union.

    ``node_batch`` ``[num_nodes]`` and ``edge_batch`` ``[num_edges]`` say which of them, called members, each
    node and hyperedge belongs to.
    Nodes and hyperedges of a member stay together, in order. An attribute must be there in all
    members or in none. Names are kept only if every member has them. Costs O(incidences): nothing
    is sorted again.

    >>> pair = batch([Hypergraph.from_edges([[0, 1]]), Hypergraph.from_edges([[0, 1, 2]])])
    >>> pair, pair.edge_batch.tolist()
    (Hypergraph(5 nodes, 2 hyperedges, 5 incidences, orders 2 to 3, batch of 2), [0, 1])
    """
    if isinstance(hypergraphs, Hypergraph) or not isinstance(hypergraphs, Iterable):
        raise ValueError(f"batch takes a sequence of Hypergraphs, got {type(hypergraphs).__name__}")
    members = list(hypergraphs)
    for i, h in enumerate(members):
        if not isinstance(h, Hypergraph):
            raise ValueError(f"batch takes Hypergraphs, got {type(h).__name__} at index {i}")
    devices = {str(h.device) for h in members}
    if len(devices) > 1:
        raise ValueError(f"the members of a batch must be on one device, got {sorted(devices)}")
    if not members:
        empty = torch.zeros(0, dtype=torch.int64)
        return Hypergraph(pairs_from_sorted(empty.new_zeros(1), empty, 0), num_members=0, node_batch=empty,
                          edge_batch=empty)  # fmt: skip
    attributes: dict[str, Any] = {name: _stack(members, name) for name in _ATTRIBUTES}
    for name in ("node_names", "edge_names"):
        names = [getattr(h, name) for h in members]
        attributes[name] = tuple(chain.from_iterable(names)) if None not in names else None
    counts = [h.num_members for h in members]
    return Hypergraph(
        _union([h.incidence for h in members]),
        node_batch=_shifted([h.node_batch for h in members], counts),
        edge_batch=_shifted([h.edge_batch for h in members], counts),
        num_members=sum(counts),
        num_roles=max(h.num_roles for h in members),
        **attributes,
    )


def _stack(members: list[Hypergraph], name: str) -> Tensor | None:
    values = [getattr(h, name) for h in members]
    absent = [i for i, value in enumerate(values) if value is None]
    if absent and len(absent) < len(values):
        raise ValueError(f"{name} must be in all members of a batch or in none; member {absent[0]} has none")
    if absent:
        return None
    widths = {tuple(value.shape[1:]) for value in values}
    if len(widths) > 1:
        raise ValueError(f"{name} must have one width in all members of a batch, got {sorted(widths)}")
    return torch.cat(values)


def _shifted(tensors: list[Tensor], counts: list[int]) -> Tensor:
    """The tensors one after another, each raised by the sum of the counts before it."""
    starts = torch.tensor([0, *counts[:-1]], device="cpu").cumsum(0).tolist()
    return torch.cat([t + start for t, start in zip(tensors, starts, strict=True)])


def _union(parts: list[SparsePattern]) -> SparsePattern:
    """The block-diagonal union of patterns."""
    rows, cols = [p.num_rows for p in parts], [p.num_cols for p in parts]
    sizes = [len(p) for p in parts]
    zero = parts[0].ptr.new_zeros(1)
    return SparsePattern.unchecked(
        sum(rows),
        sum(cols),
        torch.cat([zero, _shifted([p.ptr[1:] for p in parts], sizes)]),
        _shifted([p.index for p in parts], cols),
        torch.cat([zero, _shifted([p.t_ptr[1:] for p in parts], sizes)]),
        _shifted([p.t_index for p in parts], rows),
        _shifted([p.t_perm for p in parts], sizes),
    )


def unbatch(h: Hypergraph) -> list[Hypergraph]:
    """`Hypergraph.unbatch`."""
    node_order, node_ptr, node_local = _by_member(h.node_batch, h.num_members)
    edge_order, edge_ptr, edge_local = _by_member(h.edge_batch, h.num_members)
    rows = h.incidence.rows
    pair_order, pair_ptr, _ = _by_member(h.edge_batch[rows], h.num_members)
    members = []
    for i in range(h.num_members):
        nodes = node_order[node_ptr[i] : node_ptr[i + 1]]
        edges = edge_order[edge_ptr[i] : edge_ptr[i + 1]]
        places = pair_order[pair_ptr[i] : pair_ptr[i + 1]]
        ptr = pointer(edge_local[rows[places]], edges.shape[0])
        pairs = pairs_from_sorted(ptr, node_local[h.incidence.index[places]], nodes.shape[0])
        members.append(_single(rebuild(h, pairs, places, nodes, edges)))
    return members


def _by_member(member: Tensor, num_members: int) -> tuple[Tensor, list[int], Tensor]:
    """Order of the items by member, its pointer, and the number of each item inside its member."""
    order = torch.argsort(member, stable=True)
    ptr = pointer(member, num_members)
    local = torch.empty_like(member)
    local[order] = torch.arange(member.shape[0], device=member.device) - ptr[member[order]]
    return order, ptr.tolist(), local


def _single(h: Hypergraph) -> Hypergraph:
    """``h`` as a single hypergraph, not a batch."""
    keep = {k: getattr(h, k) for k in (*_ATTRIBUTES, "node_names", "edge_names")}
    return Hypergraph(h.incidence, num_roles=h.num_roles, **keep)
