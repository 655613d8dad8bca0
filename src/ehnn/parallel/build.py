"""Relations between the families of a shard."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import pairs_from_sorted, selection
from ehnn.hypergraph.products import MAX_PAIRS
from ehnn.hypergraph.roles import refuse_roles
from ehnn.hypergraph.weighted import refuse_weights
from ehnn.overlap.orders import Orders

from .families import ShardFamily, family
from .pairs import PullPairs, PushPairs, in_one_row, pooled
from .relation import ShardedOverlap
from .sized import sized_groups

if TYPE_CHECKING:
    from .shards import Shard


_SOURCES = ("nodes", "edges", "all")


def sharded_overlap(h: Shard, source: str, target: str, max_pairs: int = MAX_PAIRS) -> ShardedOverlap:
    """The relation of two named families on this rank. A collective."""
    for role, name, known in (("source", source, _SOURCES), ("target", target, (*_SOURCES, "graph"))):
        if name not in known:
            raise ValueError(f"the {role} family of a shard must be one of {known}, got {name!r}")
    refuse_weights(h.edge_weight, "edge_weight", "a layer on a shard")
    if source != "nodes" and target not in ("nodes", "graph"):
        refuse_weights(h.incidence_weight, "incidence_weight", "a layer between hyperedges on a shard")
    refuse_roles(h.roles if h.num_roles > 1 else None, "a layer on a shard")
    sources = family(h, source)
    if target == "graph":
        return _graph(h, sources)
    targets = family(h, target)
    columns = sources.places
    if source == "nodes" and target == "nodes":
        whole: SparsePattern = targets.pairs
    elif source == "nodes":
        assert targets.plan is not None
        whole = PushPairs(targets.pairs, targets.plan, targets.orders[: targets.own])
    elif target == "nodes":
        assert sources.plan is not None
        whole = PullPairs(sources.pairs.transpose(), sources.plan)
    else:
        groups = sized_groups(h, sources, targets, max_pairs)
        columns = torch.searchsorted(sources.values, groups.column_orders)
        parts = groups.local, groups.sizes, groups.gather, groups.whole
        return _assemble(h, sources, targets, *parts, columns)
    local, gather = _groups(whole)
    any_pair = int(h.ranks.sum(torch.tensor(local.num_rows, device=h.device)) > 0)
    sizes = torch.ones(any_pair, dtype=torch.int64, device=h.device)
    ones = Orders(sizes, in_one_row(local.num_rows, h.device, any_pair).transpose())
    return _assemble(h, sources, targets, local, ones, gather, whole, columns)


def _assemble(
    h: Shard, sources: ShardFamily, targets: ShardFamily, local: SparsePattern,
    sizes: Orders, gather: SparsePattern | None,
    whole: SparsePattern, columns: Tensor,
) -> ShardedOverlap:  # fmt: skip
    one = h.num_members == 1
    pool = in_one_row(sources.own, h.device) if one else selection(sources.batch, h.num_members).transpose()
    return ShardedOverlap(
        local,
        sizes,
        gather,
        pooled(pool, h.ranks),
        None if one else selection(targets.batch, h.num_members),
        sources.own_orders,
        targets.own_orders,
        sources.batch,
        targets.batch,
        h.num_members,
        ranks=h.ranks,
        whole=whole,
        column_orders=columns,
        source_numbers=(sources.numbers, sum(sources.counts)),
        target_numbers=(targets.numbers, sum(targets.counts)),
    )


def _graph(h: Shard, sources: ShardFamily) -> ShardedOverlap:
    """One empty target per batch member, on every rank: nothing is local, everything is pooled."""
    none = torch.zeros(0, dtype=torch.int64, device=h.device)
    local = pairs_from_sorted(none.new_zeros(1), none, sources.own)
    whole = pairs_from_sorted(none.new_zeros(h.num_members + 1), none, sources.own)
    gather = selection(none, h.num_members).transpose()
    members = torch.arange(h.num_members, device=h.device)
    zero = torch.zeros(h.num_members, dtype=torch.int64, device=h.device)
    targets = ShardFamily(whole, None, h.num_members, zero, zero[:1], members, [h.num_members], members)
    columns = sources.places[: sources.own]
    return _assemble(h, sources, targets, local, Orders.at(none, none), gather, whole, columns)


def _groups(whole: SparsePattern) -> tuple[SparsePattern, SparsePattern | None]:
    """The rows that meet any source anywhere, and targets × these groups (None if that is all of them)."""
    met = whole.lengths > 0
    if bool(met.all()):
        return whole, None
    target = met.nonzero().squeeze(1)
    gather = selection(target, whole.num_rows).transpose()
    number = met.cumsum(0) - 1
    if isinstance(whole, PushPairs):
        ghosts = torch.arange(whole.plan.ghosts, device=target.device)
        keep = torch.cat([target, whole.num_rows + ghosts])
        every = torch.cat([number, target.shape[0] + ghosts])
        plan = whole.plan.renumbered(number, target.shape[0])
        return PushPairs(_without(whole.inner, keep, every), plan, whole.total[target]), gather
    if isinstance(whole, PullPairs):
        return PullPairs(_without(whole.inner, target, number), whole.plan), gather
    return _without(whole, target, number), gather


def _without(pairs: SparsePattern, keep: Tensor, number: Tensor) -> SparsePattern:
    """The rows ``keep``; the others have no pairs. ``number`` is the new number of each row."""
    ptr = torch.cat([pairs.ptr[keep], pairs.ptr[-1:]])
    return dataclasses.replace(pairs, num_rows=keep.shape[0], ptr=ptr, t_index=number[pairs.t_index])
