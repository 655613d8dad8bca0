"""The relation: which source hyperedges meet which target hyperedges, and in how many nodes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ehnn.hypergraph import MAX_PAIRS, Hypergraph, Pairs
from ehnn.hypergraph.kept import kept_property
from ehnn.hypergraph.pairs import arange_like, lexsort, pairs_from_sorted, pointer, selection, with_short
from ehnn.hypergraph.products import common_columns

from .families import Family, resolve
from .orders import Orders
from .slots import Slots, make_slots
from .triplets import Triplets, make_triplets


@dataclass(frozen=True, eq=False)
class Overlap:
    """Pairs (source, target) that share 𝓘 ≥ 1 nodes, grouped by (target, 𝓘).

    A *group* is a target and a size 𝓘 that occurs for it: its sources are {i : |i ∩ j| = 𝓘}. Everything
    that Eq. 5 of the paper sums over is here; 𝓘 = 0 is the pool over all sources of a batch member.
    Memory is linear in sources + targets + pairs.

    Attributes:
        local: ``Pairs`` of groups (rows, sorted by target, then 𝓘) × sources (columns).
        sizes: 𝓘 of each group.
        gather: ``Pairs`` of targets × groups, or None if group j is exactly target j.
        pool: ``Pairs`` of batch members × sources, or None if there is one member.
        spread: ``Pairs`` of targets × batch members (one each), or None if there is one member.
        source_orders, target_orders: the orders k and l.
        source_batch, target_batch: ``[num_sources]``, ``[num_targets]`` batch member of each.
        num_members: number of hypergraphs in the batch.
    """

    local: Pairs
    sizes: Orders
    gather: Pairs | None
    pool: Pairs | None
    spread: Pairs | None
    source_orders: Orders
    target_orders: Orders
    source_batch: Tensor
    target_batch: Tensor
    num_members: int

    @property
    def num_sources(self) -> int:
        """Rows that a layer reads."""
        return self.source_batch.shape[0]

    @property
    def num_targets(self) -> int:
        """Rows that a layer gives."""
        return self.target_batch.shape[0]

    @property
    def num_pairs(self) -> int:
        """(source, target) that share a node."""
        return len(self.local)

    @property
    def num_groups(self) -> int:
        """(target, 𝓘) that occur."""
        return self.local.num_rows

    @property
    def group_target(self) -> Tensor:
        """``[num_groups]`` target of each group."""
        return arange_like(self.local.ptr)[:-1] if self.gather is None else self.gather.t_index

    def pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        """``[num_pairs]`` each: target, source and 𝓘 of every pair, sorted by target, 𝓘, source."""
        group = self.local.rows
        return self.group_target[group], self.local.index, self.sizes.expand()[group]

    @cached_property
    def distinct_source_orders(self) -> tuple[int, ...]:
        """The orders k that occur, as Python integers."""
        return tuple(self.source_orders.values.tolist())

    @cached_property
    def distinct_target_orders(self) -> tuple[int, ...]:
        """The orders l that occur, as Python integers."""
        return tuple(self.target_orders.values.tolist())

    @kept_property
    def everything(self) -> Pairs:
        """``Pairs`` of batch members × sources: `pool`, or one row with all sources."""
        if self.pool is not None:
            return self.pool
        all_in_one = selection(self.source_batch.new_zeros(self.num_sources), 1).transpose()
        return with_short(all_in_one, columns=True)

    @kept_property
    def sizes_and_pool(self) -> Orders:
        """𝓘 of each group, then 𝓘 = 0 for each batch member: the rows that φ₂ sees."""
        pool = self.sizes.values.new_zeros(self.num_members)
        return Orders.of(torch.cat([self.sizes.expand(), pool]))

    @kept_property
    def merged(self) -> Pairs:
        """``Pairs`` of targets × sources with any overlap, for layers that do not see 𝓘."""
        if self.gather is None:
            return self.local
        ptr = self.local.ptr[self.gather.ptr]
        return pairs_from_sorted(ptr, self.local.index, self.num_sources)

    @kept_property
    def slots(self) -> Slots:
        """The columns refined to distinct (source, 𝓘), for weights that depend on both."""
        return make_slots(self.local, self.sizes)

    @kept_property
    def triplets(self) -> Triplets:
        """The groups refined by source order and sorted by (k, l, 𝓘), for a matrix per triplet."""
        return make_triplets(self)

    def prepare(self) -> Overlap:
        """This relation with all its lazy views made, as a compiled layer or a CUDA graph needs them."""
        for view in ("everything", "merged", "slots", "triplets", "sizes_and_pool"):
            getattr(self, view)
        for view in ("distinct_source_orders", "distinct_target_orders"):
            getattr(self, view)
        return self

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Overlap:
        """This relation on another device."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        moved = {k: v.to(device, non_blocking=non_blocking) for k, v in values.items() if hasattr(v, "to")}
        return dataclasses.replace(self, **moved)

    def __repr__(self) -> str:
        sizes = self.sizes.values.tolist()
        shown = f"𝓘 {sizes[0]} to {sizes[-1]}" if sizes else "none"
        counts = f"{self.num_sources} sources, {self.num_targets} targets, {self.num_pairs} pairs"
        return f"Overlap({counts}, {shown})"


def overlap(h: Hypergraph, source: Family, target: Family, max_pairs: int = MAX_PAIRS) -> Overlap:
    """The overlap of two families of hyperedges over the nodes of ``h``.

    With nodes on either side this is a rearrangement of the incidences; between hyperedges it is a
    sparse product. More than ``max_pairs`` possible pairs are refused before memory is spent.

    >>> h = Hypergraph.from_edges([[0, 1, 2], [1, 2, 3], [4]])
    >>> overlap(h, "edges", "edges").pairs()
    (tensor([0, 0, 1, 1, 2]), tensor([1, 0, 0, 1, 2]), tensor([2, 3, 2, 3, 1]))
    """
    sources, targets = resolve(h, source, "source"), resolve(h, target, "target")
    if sources.is_nodes:
        local, sizes, gather = _unit_groups(targets.pairs)
    elif targets.is_nodes:
        local, sizes, gather = _unit_groups(sources.pairs.transpose())
    else:
        local, sizes, gather = _sized_groups(targets.pairs, sources.pairs, max_pairs)
    return Overlap(
        local,
        sizes,
        gather,
        None if h.num_members == 1 else selection(sources.batch, h.num_members).transpose(),
        None if h.num_members == 1 else selection(targets.batch, h.num_members),
        _orders(sources.pairs, sources.is_nodes),
        _orders(targets.pairs, targets.is_nodes),
        sources.batch,
        targets.batch,
        h.num_members,
    )


def _orders(pairs: Pairs, is_nodes: bool) -> Orders:
    if is_nodes:
        return Orders.constant(1, pairs.num_rows, pairs.ptr.device)
    return Orders.of(pairs.lengths)


def _unit_groups(pairs: Pairs) -> tuple[Pairs, Orders, Pairs | None]:
    """Groups of targets × sources pairs that all have 𝓘 = 1: the targets that meet any source."""
    met = pairs.lengths > 0
    if bool(met.all()):
        return pairs, Orders.constant(1, pairs.num_rows, pairs.ptr.device), None
    target = met.nonzero().squeeze(1)
    number = met.cumsum(0) - 1
    ptr = torch.cat([pairs.ptr[target], pairs.ptr[-1:]])
    local = dataclasses.replace(pairs, num_rows=target.shape[0], ptr=ptr, t_index=number[pairs.t_index])
    return local, Orders.constant(1, local.num_rows, ptr.device), _gather(target, pairs.num_rows)


def _sized_groups(targets: Pairs, sources: Pairs, max_pairs: int) -> tuple[Pairs, Orders, Pairs | None]:
    """Groups of targets and sources that share nodes, by a sparse product."""
    target, source, size = common_columns(targets, sources, max_pairs)
    base = int(size.max()) + 1 if size.numel() else 1
    key, source = lexsort(target * base + size, source, sources.num_rows)
    first = torch.ones(key.shape[0] + 1, dtype=torch.bool, device=key.device)
    torch.ne(key[1:], key[:-1], out=first[1:-1])
    ptr = first.nonzero().squeeze(1)
    group = key[ptr[:-1]]
    target, size = torch.div(group, base, rounding_mode="floor"), group % base
    local = pairs_from_sorted(ptr, source, sources.num_rows)
    one_each = target.shape[0] == targets.num_rows and torch.equal(target, arange_like(target))
    return local, Orders.of(size), None if one_each else _gather(target, targets.num_rows)


def _gather(target: Tensor, num_targets: int) -> Pairs:
    """Targets × groups, for groups sorted by ``target``."""
    number = torch.arange(target.shape[0] + 1, device=target.device)
    ptr = pointer(target, num_targets)
    return Pairs(num_targets, target.shape[0], ptr, number[:-1], number, target, number[:-1])
