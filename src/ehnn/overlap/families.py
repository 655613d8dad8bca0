"""Families of hyperedges over the nodes of a hypergraph. A node is a hyperedge of order 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.hypergraph.features import FAMILIES
from ehnn.hypergraph.pairs import arange_like, pairs_from_sorted, repeat, starts
from ehnn.hypergraph.products import MAX_PAIRS
from ehnn.hypergraph.weighted import product, unless_ones

Family = str | Hypergraph | Sequence[Iterable[int]]
"""``"nodes"``, ``"edges"``, ``"all"``, ``"incidences"``, ``"graph"``, a list of hyperedges, or a Hypergraph
(same nodes)."""
_FAMILY = f"one of {(*FAMILIES, 'graph')}, a list of hyperedges or a Hypergraph"


@dataclass(frozen=True, eq=False)
class FamilyRows:
    """The hyperedges of a family.

    Attributes:
        pairs: ``SparsePattern`` of hyperedges × nodes.
        batch: ``[hyperedges]`` the batch member of each.
        is_nodes: whether row v is exactly {v}.
        roles: ``[pairs]`` role of each node in its hyperedge; None if there is one role.
        num_roles: R.
        nodes_first: how many rows, from the first, are nodes.
        weight: ``[hyperedges]`` of each hyperedge; None if all are 1.
        pair_weight: ``[pairs]`` of each incidence; None if all are 1.
    """

    pairs: SparsePattern
    batch: Tensor
    is_nodes: bool = False
    roles: Tensor | None = None
    num_roles: int = 1
    nodes_first: int = 0
    weight: Tensor | None = None
    pair_weight: Tensor | None = None


def resolve(h: Hypergraph, family: Family, role: str, max_pairs: int = MAX_PAIRS) -> FamilyRows:
    """The rows of ``family`` over the nodes of ``h``; ``role`` names it in errors."""
    if isinstance(family, str):
        if family == "nodes":
            return FamilyRows(_singletons(h), h.node_batch, is_nodes=True, nodes_first=h.num_nodes)
        if family == "edges":
            return _hyperedges(h, h.edge_batch)
        if family == "all":
            return _nodes_then_edges(h)
        if family == "incidences":
            return _incidences(h, max_pairs)
        if family == "graph":
            return FamilyRows(_empty(h), torch.arange(h.num_members, device=h.device))
        raise ValueError(f"{role} family must be {_FAMILY}, got {family!r}")
    if not isinstance(family, Hypergraph):
        if not isinstance(family, Iterable):
            raise ValueError(f"{role} family must be {_FAMILY}, got {short(family)}")
        family = Hypergraph.from_edges(family, num_nodes=h.num_nodes)
    if family.num_nodes != h.num_nodes:
        raise ValueError(
            f"{role} family must be over the same {h.num_nodes} nodes, got one over {family.num_nodes}"
        )
    _check_names(h, family, role)
    family = family.to(h.device)
    return _hyperedges(family, _candidate_batch(h, family, role))


def _hyperedges(h: Hypergraph, batch: Tensor) -> FamilyRows:
    """The hyperedges of ``h``; a single role is the same as no roles."""
    weight, pair_weight = unless_ones(h.edge_weight), unless_ones(h.incidence_weight)
    rows = FamilyRows(h.incidence, batch, weight=weight, pair_weight=pair_weight)
    return rows if h.num_roles == 1 else replace(rows, roles=h.roles, num_roles=h.num_roles)


def _check_names(h: Hypergraph, family: Hypergraph, role: str) -> None:
    """Nodes are identified by number, so if both hypergraphs have node names, these must be the same."""
    here, there = h.node_names, family.node_names
    if here is None or there is None or here == there:
        return
    v = next(v for v, (one, other) in enumerate(zip(here, there, strict=True)) if one != other)
    raise ValueError(
        f"{role} family must be over the same nodes in the same order: node {v} is {here[v]!r} here "
        f"and {there[v]!r} there"
    )


def _singletons(h: Hypergraph) -> SparsePattern:
    n = h.num_nodes
    ptr = torch.arange(n + 1, device=h.device)
    return SparsePattern.unchecked(n, n, ptr, ptr[:-1], ptr, ptr[:-1], ptr[:-1])


def _nodes_then_edges(h: Hypergraph) -> FamilyRows:
    """The family ``"all"``. With roles, nodes get an extra role: {v} is neither a tail nor a head."""
    n, edges = h.num_nodes, _hyperedges(h, h.edge_batch)
    nodes = torch.arange(n + 1, device=h.device)
    ptr = torch.cat([nodes, h.incidence.ptr[1:] + n])
    pairs = pairs_from_sorted(ptr, torch.cat([nodes[:-1], h.incidence.index]), n)
    batch = torch.cat([h.node_batch, h.edge_batch])
    weight, pair_weight = (
        None if w is None else torch.cat([w.new_ones(n), w]) for w in (edges.weight, edges.pair_weight)
    )
    rows = FamilyRows(pairs, batch, nodes_first=n, weight=weight, pair_weight=pair_weight)
    if edges.roles is None:
        return rows
    roles = torch.cat([torch.full_like(nodes[:-1], h.num_roles), edges.roles])
    return replace(rows, roles=roles, num_roles=h.num_roles + 1)


def _incidences(h: Hypergraph, max_pairs: int) -> FamilyRows:
    """(v, e) is the hyperedge e with v marked: v has role R + r, the other nodes have their role r in e."""
    edge, node = h.incidence.rows, h.incidence.index
    lengths = h.orders[edge]
    total = int(lengths.sum())
    if total > max_pairs:
        raise ValueError(
            f"the incidences have {total:,} nodes in all (Σ |e|²), more than max_pairs={max_pairs:,}; "
            "raise max_pairs if there is memory for them"
        )
    which = repeat(lengths, total)
    place = h.incidence.ptr[edge][which] + arange_like(which) - starts(lengths)[which]
    roles = torch.zeros_like(place) if h.roles is None else h.roles[place]
    roles = roles + h.num_roles * (node[place] == node[which])
    ptr = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    pairs = pairs_from_sorted(ptr, node[place], h.num_nodes)
    of_edge, of_pair = unless_ones(h.edge_weight), unless_ones(h.incidence_weight)
    return FamilyRows(
        pairs, h.edge_batch[edge], roles=roles, num_roles=2 * h.num_roles,
        weight=product(of_pair, None if of_edge is None else of_edge[edge]),
        pair_weight=None if of_pair is None else of_pair[place],
    )  # fmt: skip


def _empty(h: Hypergraph) -> SparsePattern:
    """One empty hyperedge per batch member."""
    none = torch.zeros(0, dtype=torch.int64, device=h.device)
    return pairs_from_sorted(none.new_zeros(h.num_members + 1), none, h.num_nodes)


def _candidate_batch(h: Hypergraph, family: Hypergraph, role: str) -> Tensor:
    """The member of ``h`` that each candidate belongs to."""
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
