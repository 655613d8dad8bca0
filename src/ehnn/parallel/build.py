"""Relations between the families of a shard."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import pairs_from_sorted, selection
from ehnn.hypergraph.products import MAX_PAIRS
from ehnn.hypergraph.weighted import product, weighted
from ehnn.overlap.orders import Orders

from .families import ShardFamily, family
from .pairs import PullPairs, PushPairs, in_one_row, pooled
from .relation import ShardedOverlap
from .role_groups import role_groups
from .sized import sized_groups

if TYPE_CHECKING:
    from .shards import Shard


_SOURCES = ("nodes", "edges", "all")


def sharded_overlap(h: Shard, source: str, target: str, max_pairs: int = MAX_PAIRS) -> ShardedOverlap:
    """The relation of two named families on this rank. A collective."""
    for role, name, known in (("source", source, _SOURCES), ("target", target, (*_SOURCES, "graph"))):
        if name not in known:
            raise ValueError(f"the {role} family of a shard must be one of {known}, got {name!r}")
    sources = family(h, source)
    targets = _members(h) if target == "graph" else family(h, target)
    with_roles = sources.num_roles > 1 or targets.num_roles > 1
    if with_roles:
        sources, targets = sources.in_roles(), targets.in_roles()
    columns = sources.places
    parts: tuple[SparsePattern, Orders, SparsePattern | None, SparsePattern]
    if target == "graph":
        parts = _nothing(h, sources, with_roles)
        columns = columns[: sources.own]
    elif source == "nodes" or target == "nodes":
        whole = _incidences(sources, targets)
        make = role_groups if with_roles else _unit_groups
        parts = (*make(h, sources, targets, whole), whole)
    else:
        groups = sized_groups(h, sources, targets, max_pairs)
        columns = groups.column_orders
        parts = groups.source_to_group, groups.sizes, groups.group_to_target, groups.whole
    return _assemble(h, sources, targets, *parts, columns)


def _incidences(sources: ShardFamily, targets: ShardFamily) -> SparsePattern:
    """Targets × sources, one of which are nodes, with the weights of the pairs."""
    if targets.plan is not None:
        pairs = weighted(targets.pairs, targets.pair_weight)
        orders = targets.orders[: targets.own]
        return PushPairs(pairs, targets.plan, orders if orders.dim() == 1 else orders.sum(1))
    if sources.plan is None:
        return targets.pairs
    of_source = None if sources.weight is None else sources.weight[sources.pairs.rows]
    pairs = weighted(sources.pairs, product(sources.pair_weight, of_source))
    return PullPairs(pairs.transpose(), sources.plan)


def _unit_groups(
    h: Shard, sources: ShardFamily, targets: ShardFamily, whole: SparsePattern
) -> tuple[SparsePattern, Orders, SparsePattern | None]:
    """Groups × sources, their sizes 𝓘 = 1, targets × groups."""
    source_to_group, group_to_target = _groups(whole)
    any_pair = int(h.ranks.sum(torch.tensor(source_to_group.num_rows, device=h.device)) > 0)
    sizes = torch.ones(any_pair, dtype=torch.int64, device=h.device)
    orders = Orders(sizes, in_one_row(source_to_group.num_rows, h.device, any_pair).transpose())
    return source_to_group, orders, group_to_target


def _assemble(
    h: Shard, sources: ShardFamily, targets: ShardFamily, source_to_group: SparsePattern,
    sizes: Orders, group_to_target: SparsePattern | None,
    whole: SparsePattern, columns: Tensor,
) -> ShardedOverlap:  # fmt: skip
    one = h.num_members == 1
    pool = in_one_row(sources.own, h.device) if one else selection(sources.batch, h.num_members).transpose()
    pool = weighted(pool, None if sources.weight is None else sources.weight[pool.index])
    return ShardedOverlap(
        source_to_group,
        sizes,
        group_to_target,
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


def _members(h: Shard) -> ShardFamily:
    """One empty hyperedge per batch member, on every rank."""
    count, members = h.num_members, torch.arange(h.num_members, device=h.device)
    pairs = pairs_from_sorted(members.new_zeros(count + 1), members[:0], h.num_nodes)
    zero = torch.zeros_like(members)
    return ShardFamily(
        pairs, members, plan=None, own=count, orders=zero, values=zero[:1], counts=[count], numbers=members
    )


def _nothing(
    h: Shard, sources: ShardFamily, with_roles: bool
) -> tuple[SparsePattern, Orders, SparsePattern, SparsePattern]:
    """Groups × sources, sizes, targets × groups and targets × sources of members: nothing is local."""
    none = torch.zeros(0, dtype=torch.int64, device=h.device)
    source_to_group = pairs_from_sorted(none.new_zeros(1), none, sources.own)
    whole = pairs_from_sorted(none.new_zeros(h.num_members + 1), none, sources.own)
    sizes = none.reshape(0, sources.num_roles, 1) if with_roles else none
    return source_to_group, Orders.at(sizes, none), selection(none, h.num_members).transpose(), whole


def _groups(whole: SparsePattern) -> tuple[SparsePattern, SparsePattern | None]:
    """The rows that meet any source anywhere, and targets × these groups (None if that is all of them)."""
    met = whole.lengths > 0
    if bool(met.all()):
        return whole, None
    target = met.nonzero().squeeze(1)
    group_to_target = selection(target, whole.num_rows).transpose()
    number = met.cumsum(0) - 1
    if isinstance(whole, PushPairs):
        ghosts = torch.arange(whole.plan.ghosts, device=target.device)
        keep = torch.cat([target, whole.num_rows + ghosts])
        every = torch.cat([number, target.shape[0] + ghosts])
        plan = whole.plan.renumbered(number, target.shape[0])
        return PushPairs(_without(whole.inner, keep, every), plan, whole.total[target]), group_to_target
    if isinstance(whole, PullPairs):
        return PullPairs(_without(whole.inner, target, number), whole.plan), group_to_target
    return _without(whole, target, number), group_to_target


def _without(pairs: SparsePattern, keep: Tensor, number: Tensor) -> SparsePattern:
    """The rows ``keep``; the others have no pairs. ``number`` is the new number of each row."""
    ptr = torch.cat([pairs.ptr[keep], pairs.ptr[-1:]])
    return dataclasses.replace(pairs, num_rows=keep.shape[0], ptr=ptr, t_index=number[pairs.t_index])
