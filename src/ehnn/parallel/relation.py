"""The relation on one rank: an `Overlap` whose sums reach the other ranks."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from ehnn._utils.cached import cached_tensors
from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import arange_like, pairs_from_coo, pairs_from_sorted, pointer, selection
from ehnn.hypergraph.weighted import weighted, weights_of
from ehnn.overlap import Overlap
from ehnn.overlap.orders import Orders
from ehnn.overlap.source_sizes import SourceSizes, make_source_sizes
from ehnn.overlap.steps import LayerSteps, OwnSchedule
from ehnn.overlap.weight_groups import WeightGroups, make_weight_groups

from .pairs import PooledPairs, PullPairs, PushPairs, pooled
from .ranks import Ranks


@dataclass(frozen=True, eq=False, repr=False)
class ShardedOverlap(Overlap, OwnSchedule):
    """Own sources and own targets of one rank; the attributes are those of `Overlap`.

    ``source_to_group`` is `PushPairs` where the sources are nodes (each rank adds up its own nodes),
    `PullPairs` where sources are hyperedges of other ranks too, and a plain `SparsePattern` where nothing is
    shared. Orders and sizes are those of all ranks, and ``source_to_graph`` is never None. The lazy views may
    be collectives: all ranks ask for them together, as they do when they run the same model.

    Attributes:
        whole: `merged`, with a row for every own target.
        column_orders: ``[columns of source_to_group.inner]`` place in ``source_orders.values``, ghosts
            included.
        source_numbers, target_numbers: ``[own]`` numbers in the whole family, and its size.
    """

    ranks: Ranks = None  # type: ignore[assignment]
    whole: SparsePattern = None  # type: ignore[assignment]
    column_orders: Tensor = None  # type: ignore[assignment]
    source_numbers: tuple[Tensor, int] = None  # type: ignore[assignment]
    target_numbers: tuple[Tensor, int] = None  # type: ignore[assignment]

    @cached_tensors
    def group_numbers(self) -> tuple[Tensor, int]:
        """``[num_groups]`` numbers of the groups among those of all ranks, and how many these are.

        With one size 𝓘 they count the targets that meet anything, as in one process. With several, they
        are numbers of (target, 𝓘), of which not all occur.
        """
        (number, total), distinct = self.target_numbers, self.sizes.values.shape[0]
        own = number[self.group_target]
        if distinct > 1:
            return own * distinct + self.sizes.index, total * distinct
        met = torch.zeros_like(number, dtype=torch.bool)
        met[self.group_target] = True
        alone = torch.cat(self.ranks.gather(number[~met])).sort().values
        return own - torch.searchsorted(alone, own), total - alone.shape[0]

    @property
    def group_target(self) -> Tensor:
        if self.group_to_target is None:
            return arange_like(self.target_batch)
        return self.group_to_target.t_index

    def pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        raise ValueError("the pairs of a relation that is spread over ranks are on no single rank")

    @cached_tensors
    def merged(self) -> SparsePattern:
        return self.whole

    @property
    def exchanges_rows(self) -> bool:
        several = self.ranks.size > 1 and self.ranks.ahead
        return several and isinstance(self.source_to_group, (PushPairs, PullPairs))

    def run_steps(self, x: Tensor, steps: LayerSteps) -> Tensor:
        """Run the steps; during an exchange this rank computes rows that no other rank has or needs.

        The sums over members come before or after the exchange: during it they would wait for it.
        """
        pairs = self.source_to_group
        if isinstance(pairs, PushPairs):
            return self._pushed(x, pairs, steps)
        assert isinstance(pairs, PullPairs)
        return self._pulled(x, pairs, steps)

    def _pushed(self, x: Tensor, pairs: PushPairs, steps: LayerSteps) -> Tensor:
        """Partial sums are sent; the first rows, to which no other rank adds, are computed meanwhile."""
        rows = steps.before(x, self.source_orders)
        members = [] if steps.everywhere is None else [steps.everywhere(rows)]
        first, every = pairs.plan.ahead, self.sizes_and_pool if members else self.sizes
        done, coming = pairs.parted(first, rows)
        early = [steps.after(steps.local(done, rows), every.part(0, first))] if first else []
        late = _stacked([steps.local(coming, rows), *members])
        return _stacked([*early, steps.after(late, every.part(first, len(every)))])

    def _pulled(self, x: Tensor, pairs: PullPairs, steps: LayerSteps) -> Tensor:
        """Rows of sources are sent; the first ones, which no other rank needs, are computed meanwhile."""
        orders, count, first = self.source_orders, self.num_sources, pairs.plan.ahead
        early, late = x.split([first, count - first])
        made = steps.before(late, orders.part(first, count))
        coming = pairs.sent(made, first)
        if first:
            made = torch.cat([steps.before(early, orders.part(0, first)), made])
        rows, sizes = steps.local(coming, made), self.sizes
        if steps.everywhere is not None:
            rows, sizes = torch.cat([rows, steps.everywhere(made)]), self.sizes_and_pool
        return steps.after(rows, sizes)

    @cached_tensors
    def source_sizes(self) -> SourceSizes:
        distinct = self.sizes.values.shape[0]
        if distinct <= 1:
            values = self.sizes.values
            value = values[0] if distinct else values.new_ones(values.shape[1:])
            constant = Orders.constant(value, self.num_sources, self.source_batch.device)
            return SourceSizes(self.source_to_group, constant, None)
        if isinstance(self.source_to_group, PushPairs):
            return _pushed_sizes(self.source_to_group, self.sizes)
        assert isinstance(self.source_to_group, PullPairs)
        return _pulled_sizes(self.source_to_group, self.sizes)

    @cached_tensors
    def weight_groups(self) -> WeightGroups:
        if isinstance(self.source_to_group, PushPairs):
            made = self._pushed_groups(self.source_to_group)
        elif isinstance(self.source_to_group, PullPairs):
            made = make_weight_groups(self._with_ghosts(self.source_to_group.inner))
            pulled = PullPairs(made.source_to_group, self.source_to_group.plan)
            made = dataclasses.replace(made, source_to_group=pulled)
        else:
            made = make_weight_groups(self._with_ghosts(self.source_to_group))
        return dataclasses.replace(made, source_to_graph=self._members_by_order())

    def _with_ghosts(self, source_to_group: SparsePattern) -> Overlap:
        """This relation as one process would see it, for sources that include the ghosts."""
        values, members = self.source_orders.values, self.column_orders.new_zeros(source_to_group.num_cols)
        return Overlap(
            source_to_group, self.sizes, self.group_to_target, None, None,
            Orders.at(values, self.column_orders), self.target_orders, members, self.target_batch, 1,
        )  # fmt: skip

    def _pushed_groups(self, pairs: PushPairs) -> WeightGroups:
        """With nodes as sources, k = 1: groups need only be sorted by (l, 𝓘)."""
        distinct = max(self.sizes.values.shape[0], 1)
        label = self.target_orders.index[self.group_target] * distinct + self.sizes.index
        label, order = torch.sort(label, stable=True)
        labels, which = torch.unique_consecutive(label, return_inverse=True)
        ptr = pointer(which, labels.shape[0])
        target = self.group_target[order]
        group_to_target, _ = pairs_from_coo(target, arange_like(target), self.num_targets, target.shape[0])
        l, size = torch.div(labels, distinct, rounding_mode="floor"), labels % distinct
        values = torch.cat(
            [torch.ones_like(labels).unsqueeze(1), self.target_orders.table[l], self.sizes.table[size]], 1
        )
        return WeightGroups(reordered(pairs, order), group_to_target, pairs, values, ptr, tuple(ptr.tolist()))

    def _members_by_order(self) -> SparsePattern:
        count = self.source_orders.values.shape[0]
        key = self.source_batch * count + self.source_orders.index
        pool = selection(key, self.num_members * count).transpose()
        assert isinstance(self.source_to_graph, PooledPairs)
        every = self.source_to_graph.inner
        weights = weights_of(every)
        if weights is not None:
            weights = torch.empty_like(weights).index_copy(0, every.index, weights)[pool.index]
        return pooled(weighted(pool, weights), self.ranks)


def _stacked(rows: list[Tensor]) -> Tensor:
    """The rows of all parts, without a copy if there is one part."""
    return rows[0] if len(rows) == 1 else torch.cat(rows)


def reordered(pairs: PushPairs, order: Tensor) -> PushPairs:
    """The same relation whose own row i is now row ``order[i]`` of before."""
    inner, ghosts = pairs.inner, pairs.plan.ghosts
    place = torch.empty_like(order)
    place[order] = arange_like(order)
    every = torch.cat([place, pairs.num_rows + torch.arange(ghosts, device=order.device)])
    moved, first = pairs_from_coo(every[inner.rows], inner.index, inner.num_rows, inner.num_cols, True)
    weights = weights_of(inner)
    moved = weighted(moved, weights if weights is None or first is None else weights[first])
    return PushPairs(moved, pairs.plan.renumbered(place, pairs.num_rows), pairs.total[order])


def _pulled_sizes(pairs: PullPairs, sizes: Orders) -> SourceSizes:
    """(source, 𝓘) live where the source lives; those that another rank needs are fetched from there."""
    inner, plan, distinct = pairs.inner, pairs.plan, sizes.values.shape[0]
    keys, slot = torch.unique(inner.index * distinct + sizes.index[inner.rows], return_inverse=True)
    here = int((keys < plan.own * distinct).sum())
    new, own = plan.refined(keys, here, distinct)
    place = torch.cat([torch.searchsorted(own, keys[:here]), new.own + arange_like(new.remote)])
    refined = pairs_from_sorted(inner.ptr, place[slot], new.own + new.ghosts)
    source = torch.div(own, distinct, rounding_mode="floor")
    return SourceSizes(
        PullPairs(weighted(refined, weights_of(inner)), new),
        Orders.at(sizes.values, own % distinct),
        selection(source, plan.own),
    )


def _pushed_sizes(pairs: PushPairs, sizes: Orders) -> SourceSizes:
    """(node, 𝓘) live where the node lives, as the sums over them do."""
    every = Orders.at(sizes.values, pairs.plan.known(sizes.index))
    made = make_source_sizes(pairs.inner, every)
    pushed = PushPairs(made.slot_to_group, pairs.plan, pairs.total)
    return dataclasses.replace(made, slot_to_group=pushed)
