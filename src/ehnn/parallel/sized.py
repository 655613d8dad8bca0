"""Overlaps between hyperedges of different ranks: a sparse product that no rank holds as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import arange_like, lexsort, pairs_from_sorted, selection
from ehnn.hypergraph.products import common_columns
from ehnn.overlap.orders import Orders

from .families import ShardFamily
from .pairs import PullPairs
from .plan import make_plan

if TYPE_CHECKING:
    from .shards import Shard


@dataclass(frozen=True, eq=False)
class SizedGroups:
    """Groups (own target, 𝓘) × sources; ``column_orders`` are the true orders of sources and ghosts."""

    local: PullPairs
    sizes: Orders
    gather: SparsePattern
    whole: PullPairs
    column_orders: Tensor


def sized_groups(h: Shard, sources: ShardFamily, targets: ShardFamily, max_pairs: int) -> SizedGroups:
    """Who meets whom in how many nodes, for own targets. A collective.

    Every rank counts the nodes that hyperedges share among its *own* nodes and sends the counts to the
    owners of the targets, who add them up.
    """
    target, source, order, size = _counted(h, sources, targets, max_pairs)
    start = list(accumulate(sources.counts, initial=0))
    me, own = h.ranks.rank, sources.own
    foreign = (source < start[me]) | (source >= start[me] + own)
    ghosts, first = _distinct(source[foreign])
    orders = torch.cat([sources.orders[:own], order[foreign][first]])
    column = torch.where(foreign, own + torch.searchsorted(ghosts, source), source - start[me])
    ends = torch.tensor(start[1:], device=ghosts.device)
    owner = torch.searchsorted(ends, ghosts, right=True)
    remote = ghosts - torch.tensor(start, device=ghosts.device)[owner]
    plan = make_plan(h.ranks, own, owner, remote)
    columns = own + ghosts.shape[0]
    base = int(size.max()) + 1 if size.numel() else 1
    key, column = lexsort(target * base + size, column, columns)
    group, count = torch.unique_consecutive(key, return_counts=True)
    ptr = torch.cat([count.new_zeros(1), count.cumsum(0)])
    group_target = torch.div(group, base, rounding_mode="floor")
    local = PullPairs(pairs_from_sorted(ptr, column, columns), plan)
    values = h.ranks.distinct(group % base)
    sizes = Orders.at(values, torch.searchsorted(values, group % base))
    gather = selection(group_target, targets.own).transpose()
    whole = PullPairs(pairs_from_sorted(ptr[gather.ptr], column, columns), plan)
    return SizedGroups(local, sizes, gather, whole, orders)


def _counted(
    h: Shard, sources: ShardFamily, targets: ShardFamily, max_pairs: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """``[pairs]`` each: own target, source (numbered over all ranks), its order, 𝓘."""
    owner, row = _addresses(h, targets)
    source_owner, source_row = _addresses(h, sources)
    start = torch.tensor(list(accumulate(sources.counts, initial=0)), device=h.device)
    t, s, count = common_columns(targets.pairs, sources.pairs, max_pairs)
    by_rank = torch.argsort(owner[t], stable=True)
    t, s, count = t[by_rank], s[by_rank], count[by_rank]
    message = torch.stack([row[t], (start[source_owner] + source_row)[s], sources.orders[s], count], 1)
    send = torch.bincount(owner[t], minlength=h.ranks.size)
    ones = [1] * h.ranks.size
    receive = h.ranks.exchange(send, ones, ones)
    target, source, order, count = h.ranks.exchange(message, send.tolist(), receive.tolist()).unbind(1)
    key, where = torch.unique(target * max(int(start[-1]), 1) + source, return_inverse=True)
    size = torch.zeros_like(key).index_add(0, where, count)
    first = torch.zeros_like(key).scatter(0, where, arange_like(where))
    return target[first], source[first], order[first], size


def _addresses(h: Shard, family: ShardFamily) -> tuple[Tensor, Tensor]:
    """``[rows]`` the owner of each row and its number there."""
    own = torch.arange(family.own, device=h.device)
    if family.plan is None:
        return torch.full_like(own, h.ranks.rank), own
    owner = torch.cat([torch.full_like(own, h.ranks.rank), family.plan.owner])
    return owner, torch.cat([own, family.plan.remote])


def _distinct(values: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct values, ascending, and a place of each."""
    distinct, where = torch.unique(values, return_inverse=True)
    return distinct, torch.zeros_like(distinct).scatter(0, where, arange_like(where))
