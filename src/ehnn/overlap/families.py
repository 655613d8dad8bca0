"""Families of hyperedges over the nodes of a hypergraph. A node is a hyperedge of order 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ehnn.hypergraph import FAMILIES, Hypergraph, Pairs
from ehnn.hypergraph.pairs import pairs_from_sorted

Family = str | Hypergraph | Sequence[Iterable[int]]
"""``"nodes"``, ``"edges"``, ``"all"``, ``"graph"``, a list of hyperedges, or a Hypergraph (same nodes)."""


@dataclass(frozen=True, eq=False)
class FamilyRows:
    """The hyperedges of a family: ``pairs`` (hyperedges × nodes) and ``batch`` (member of each).

    ``is_nodes`` says that row v is exactly {v}.
    """

    pairs: Pairs
    batch: Tensor
    is_nodes: bool = False


def resolve(h: Hypergraph, family: Family, role: str) -> FamilyRows:
    """The rows of ``family`` over the nodes of ``h``; ``role`` names it in errors."""
    if isinstance(family, str):
        if family == "nodes":
            return FamilyRows(_singletons(h), h.node_batch, is_nodes=True)
        if family == "edges":
            return FamilyRows(h.incidence, h.edge_batch)
        if family == "all":
            return FamilyRows(_nodes_then_edges(h), torch.cat([h.node_batch, h.edge_batch]))
        if family == "graph":
            return FamilyRows(_empty(h), torch.arange(h.num_members, device=h.device))
        raise ValueError(
            f"{role} family must be one of {(*FAMILIES, 'graph')}, a list or a Hypergraph, got {family!r}"
        )
    if not isinstance(family, Hypergraph):
        family = Hypergraph.from_edges(family, num_nodes=h.num_nodes)
    if family.num_nodes != h.num_nodes:
        raise ValueError(
            f"{role} family must be over the same {h.num_nodes} nodes, got one over {family.num_nodes}"
        )
    _check_names(h, family, role)
    family = family.to(h.device)
    return FamilyRows(family.incidence, _candidate_batch(h, family, role))


def _check_names(h: Hypergraph, family: Hypergraph, role: str) -> None:
    """Nodes go by number: where both hypergraphs name theirs, the names must stand in the same order."""
    here, there = h.node_names, family.node_names
    if here is None or there is None or here == there:
        return
    v = next(v for v, (one, other) in enumerate(zip(here, there, strict=True)) if one != other)
    raise ValueError(
        f"{role} family must be over the same nodes in the same order: node {v} is {here[v]!r} here "
        f"and {there[v]!r} there"
    )


def _singletons(h: Hypergraph) -> Pairs:
    n = h.num_nodes
    ptr = torch.arange(n + 1, device=h.device)
    return Pairs(n, n, ptr, ptr[:-1], ptr, ptr[:-1], ptr[:-1])


def _nodes_then_edges(h: Hypergraph) -> Pairs:
    n = h.num_nodes
    nodes = torch.arange(n + 1, device=h.device)
    ptr = torch.cat([nodes, h.incidence.ptr[1:] + n])
    return pairs_from_sorted(ptr, torch.cat([nodes[:-1], h.incidence.index]), n)


def _empty(h: Hypergraph) -> Pairs:
    """One empty hyperedge per batch member."""
    none = torch.zeros(0, dtype=torch.int64, device=h.device)
    return pairs_from_sorted(none.new_zeros(h.num_members + 1), none, h.num_nodes)


def _candidate_batch(h: Hypergraph, family: Hypergraph, role: str) -> Tensor:
    """The member of ``h`` that each candidate lies in."""
    if h.num_members == 1:
        return torch.zeros_like(family.edge_batch)
    if family.num_members == h.num_members and torch.equal(family.node_batch, h.node_batch):
        return family.edge_batch
    if bool((family.orders == 0).any()):
        raise ValueError(
            f"an empty candidate in the {role} family belongs to no member of the batch; "
            "give candidates as a batched Hypergraph"
        )
    pairs = family.incidence
    member = h.node_batch[pairs.index[pairs.ptr[:-1]]]
    if bool((h.node_batch[pairs.index] != member[pairs.rows]).any()):
        raise ValueError(f"a candidate in the {role} family has nodes of two members of the batch")
    return member
