"""Overlaps between hyperedges of different ranks: a sparse product that no rank holds as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import arange_like, pairs_from_coo, pairs_from_sorted, selection
from ehnn.hypergraph.products import common_columns
from ehnn.hypergraph.weighted import unless_ones, weighted
from ehnn.overlap.groups import marked
from ehnn.overlap.orders import Orders
from ehnn.overlap.role_counts import distinct_vectors
from ehnn.overlap.weights import pair_weights

from .families import ShardFamily, places
from .pairs import PullPairs
from .plan import make_plan

if TYPE_CHECKING:
    from .shards import Shard


@dataclass(frozen=True, eq=False)
class SizedGroups:
    """Groups (own target, 𝓘) × sources; ``column_orders`` are places of the orders of sources and ghosts."""

    source_to_group: PullPairs
    sizes: Orders
    group_to_target: SparsePattern
    whole: PullPairs
    column_orders: Tensor


def sized_groups(h: Shard, sources: ShardFamily, targets: ShardFamily, max_pairs: int) -> SizedGroups:
    """The groups of own targets: which sources share how many nodes with them. A collective.

    Every rank counts the nodes that hyperedges share among its *own* nodes and sends the counts to the
    owners of the targets, who add them up.
    """
    target, source, order, code, sizes, weight = _counted(h, sources, targets, max_pairs)
    start = list(accumulate(sources.counts, initial=0))
    me, own = h.ranks.rank, sources.own
    foreign = (source < start[me]) | (source >= start[me] + own)
    ghosts, first = _distinct(source[foreign])
    orders = torch.cat([sources.places[:own], order[foreign][first]])
    column = torch.where(foreign, own + torch.searchsorted(ghosts, source), source - start[me])
    ends = torch.tensor(start[1:], device=ghosts.device)
    owner = torch.searchsorted(ends, ghosts, right=True)
    remote = ghosts - torch.tensor(start, device=ghosts.device)[owner]
    plan = make_plan(h.ranks, own, owner, remote)
    columns, codes = own + ghosts.shape[0], max(sizes.shape[0], 1)
    group, row = torch.unique(target * codes + code, return_inverse=True)
    pairs, at = pairs_from_coo(row, column, group.shape[0], columns, weight is not None)
    weight = None if weight is None else weight[at]
    group_to_target = selection(torch.div(group, codes, rounding_mode="floor"), targets.own).transpose()
    whole = pairs_from_sorted(pairs.ptr[group_to_target.ptr], pairs.index, columns)
    source_to_group, whole = (PullPairs(weighted(p, weight), plan) for p in (pairs, whole))
    return SizedGroups(source_to_group, Orders.at(sizes, group % codes), group_to_target, whole, orders)


def _counted(
    h: Shard, sources: ShardFamily, targets: ShardFamily, max_pairs: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """Own target, source (numbered over all ranks), place of its order and place of 𝓘 of each pair, all
    ``[pairs]``; the sizes 𝓘 that occur anywhere, ``[distinct]`` or with roles ``[distinct, R, S]``; and
    weights ``[pairs]``, or None."""
    R, S = sources.num_roles, targets.num_roles
    target, source, order, entry, count, weight = _shared_counts(h, sources, targets, max_pairs).unbind(1)
    key, where = torch.unique(target * max(sum(sources.counts), 1) + source, return_inverse=True)
    first = torch.zeros_like(key).scatter(0, where, arange_like(where))
    # Ranks that hold some of the nodes that a pair shares have each sent their count.
    cell, at = torch.unique(where * (R * S) + entry, return_inverse=True)
    total = torch.zeros_like(cell).index_add(0, at, count)
    row = torch.div(cell, R * S, rounding_mode="floor")
    table, code = distinct_vectors(row, cell % (R * S), total, key.shape[0], R * S)
    values = h.ranks.distinct(table)
    sizes = values.reshape(-1, R, S) if R * S > 1 else values[:, 0]
    weights = unless_ones(weight[first].view(torch.float64))
    return target[first], source[first], order[first], places(values, table)[code], sizes, weights


def _shared_counts(h: Shard, sources: ShardFamily, targets: ShardFamily, max_pairs: int) -> Tensor:
    """``[messages, 6]`` from all ranks, for pairs whose targets are here: for a pair and two roles the own
    target, the source over all ranks, the place of its order, the roles, a count of nodes and a weight."""
    R, S = sources.num_roles, targets.num_roles
    owner, row = _addresses(h, targets)
    source_owner, source_row = _addresses(h, sources)
    start = torch.tensor(list(accumulate(sources.counts, initial=0)), device=h.device)
    pairs = marked(targets), marked(sources)
    t, s, count = h.ranks.together(lambda: common_columns(*pairs, max_pairs))
    entry = s % R * S + t % S
    t, s = torch.div(t, S, rounding_mode="floor"), torch.div(s, R, rounding_mode="floor")
    by_rank = torch.argsort(owner[t], stable=True)
    t, s, count, entry = t[by_rank], s[by_rank], count[by_rank], entry[by_rank]
    weight = pair_weights(t, s, sources, targets)
    weight = torch.ones_like(t, dtype=torch.float64) if weight is None else weight.double()
    number = (start[source_owner] + source_row)[s]
    message = torch.stack([row[t], number, sources.places[s], entry, count, weight.view(torch.int64)], 1)
    send = torch.bincount(owner[t], minlength=h.ranks.size)
    ones = [1] * h.ranks.size
    receive = h.ranks.exchange(send, ones, ones)
    return h.ranks.exchange(message, send.tolist(), receive.tolist())


def _addresses(h: Shard, family: ShardFamily) -> tuple[Tensor, Tensor]:
    """``[rows]`` the owner of each row and its number there."""
    own = torch.arange(family.own, device=h.device)
    if family.plan is None:
        return torch.full_like(own, h.ranks.rank), own
    owner = torch.cat([torch.full_like(own, h.ranks.rank), family.plan.owner])
    return owner, torch.cat([own, family.plan.remote])


def _distinct(values: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct values, ascending, and the index of an occurrence of each."""
    distinct, where = torch.unique(values, return_inverse=True)
    return distinct, torch.zeros_like(distinct).scatter(0, where, arange_like(where))
