"""The relation: which source hyperedges share nodes with which target hyperedges, and how many."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ehnn._utils.cached import cached_tensors
from ehnn._utils.moved import renamed_attributes
from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.hypergraph.display import counted
from ehnn.hypergraph.pairs import arange_like, pairs_from_sorted, selection, with_short
from ehnn.hypergraph.products import MAX_PAIRS
from ehnn.hypergraph.weighted import weighted, weights_of

from .families import Family, FamilyRows, resolve
from .groups import groups_of, orders_of
from .orders import Orders
from .source_sizes import SourceSizes, make_source_sizes
from .weight_groups import WeightGroups, make_weight_groups
from .weights import pair_weights

Order = int | tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Overlap:
    """Pairs (source, target) that share 𝓘 ≥ 1 nodes, grouped by (target, 𝓘).

    A *group* is a target and a size 𝓘 that occurs for it: its sources are {i : |i ∩ j| = 𝓘}. Everything
    that Eq. 5 of the paper sums over is here; 𝓘 = 0 is the pool over all sources of a batch member, which
    is the *graph* in the names of attributes.
    Memory is linear in sources + targets + pairs. Between hyperedges with roles, 𝓘 is the
    matrix M[r, s] = |i_r ∩ j_s| of nodes that have role r in the source and s in the target: ``sizes`` has
    matrices, and the orders are vectors of role counts. Weights of hyperedges and incidences are in the
    patterns: those with weights are `WeightedPattern`, whose sums multiply each term by its weight.

    Attributes:
        source_to_group: ``SparsePattern`` of groups (rows, sorted by target, then 𝓘) × sources (columns).
        sizes: 𝓘 of each group.
        group_to_target: ``SparsePattern`` of targets × groups, or None if group j is exactly target j.
        source_to_graph: ``SparsePattern`` of batch members × sources, or None if there is one member and
            sources have no weights.
        graph_to_target: ``SparsePattern`` of targets × members (one each), or None if there is one.
        source_orders, target_orders: the orders k and l.
        source_batch, target_batch: ``[num_sources]``, ``[num_targets]`` batch member of each.
        num_members: number of hypergraphs in the batch.

    >>> from ehnn import Hypergraph
    >>> o = Hypergraph.from_edges([[0, 1, 2], [1, 2, 3], [4, 5]]).overlap("edges", "edges")
    >>> o.num_sources, o.num_targets, o.num_pairs
    (3, 3, 5)
    >>> o.sizes.values.tolist(), o.sizes.index.tolist()  # 𝓘 of each group (target, 𝓘)
    ([2, 3], [0, 1, 0, 1, 0])
    """

    source_to_group: SparsePattern
    sizes: Orders
    group_to_target: SparsePattern | None
    source_to_graph: SparsePattern | None
    graph_to_target: SparsePattern | None
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
        return len(self.source_to_group)

    @property
    def num_groups(self) -> int:
        """(target, 𝓘) that occur."""
        return self.source_to_group.num_rows

    @property
    def group_target(self) -> Tensor:
        """``[num_groups]`` target of each group."""
        return (
            arange_like(self.source_to_group.ptr)[:-1]
            if self.group_to_target is None
            else self.group_to_target.t_index
        )

    def pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        """``[num_pairs]`` each: target, source and 𝓘 of every pair, sorted by target, 𝓘, source.

        With roles the last is M, ``[num_pairs, R, S]``.
        """
        group = self.source_to_group.rows
        return self.group_target[group], self.source_to_group.index, self.sizes.expand()[group]

    @property
    def num_roles(self) -> tuple[int, int]:
        """Roles R of the sources and S of the targets; (1, 1) without roles."""
        shape = self.sizes.values.shape
        return (shape[1], shape[2]) if len(shape) == 3 else (1, 1)

    @cached_property
    def distinct_source_orders(self) -> tuple[Order, ...]:
        """The orders k that occur, as Python integers; with roles as tuples of role counts."""
        return _plain(self.source_orders)

    @cached_property
    def distinct_target_orders(self) -> tuple[Order, ...]:
        """The orders l that occur, as Python integers; with roles as tuples of role counts."""
        return _plain(self.target_orders)

    @cached_tensors
    def everything(self) -> SparsePattern:
        """``SparsePattern`` of batch members × sources: `source_to_graph`, or one row with all sources."""
        if self.source_to_graph is not None:
            return self.source_to_graph
        all_in_one = selection(self.source_batch.new_zeros(self.num_sources), 1).transpose()
        return with_short(all_in_one, columns=True)

    @cached_tensors
    def sizes_and_pool(self) -> Orders:
        """𝓘 of each group, then 𝓘 = 0 for each batch member: the rows that φ₂ sees."""
        zero = self.sizes.values.new_zeros(min(self.num_members, 1), *self.sizes.values.shape[1:])
        pool = self.sizes.index.new_zeros(self.num_members)
        return Orders.at(
            torch.cat([zero, self.sizes.values]), torch.cat([self.sizes.index + zero.shape[0], pool])
        )

    @cached_tensors
    def merged(self) -> SparsePattern:
        """``SparsePattern`` of targets × sources with any overlap, for layers that do not see 𝓘."""
        if self.group_to_target is None:
            return self.source_to_group
        ptr = self.source_to_group.ptr[self.group_to_target.ptr]
        merged = pairs_from_sorted(ptr, self.source_to_group.index, self.num_sources)
        return weighted(merged, weights_of(self.source_to_group))

    @cached_tensors
    def source_sizes(self) -> SourceSizes:
        """The columns refined to distinct (source, 𝓘), for weights that depend on both."""
        return make_source_sizes(self.source_to_group, self.sizes)

    @cached_tensors
    def weight_groups(self) -> WeightGroups:
        """The groups refined by source order and sorted by (k, l, 𝓘), for a matrix per triplet."""
        return make_weight_groups(self)

    def prepare(self) -> Overlap:
        """This relation with all its lazy views made, as a compiled layer or a CUDA graph needs them."""
        for view in ("everything", "merged", "source_sizes", "weight_groups", "sizes_and_pool"):
            getattr(self, view)
        for view in ("distinct_source_orders", "distinct_target_orders"):
            getattr(self, view)
        return self

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Overlap:
        """This relation on another device."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        moved = {k: v.to(device, non_blocking=non_blocking) for k, v in values.items() if hasattr(v, "to")}
        return dataclasses.replace(self, **moved)

    __getattr__ = renamed_attributes(
        local="source_to_group", gather="group_to_target", pool="source_to_graph",
        spread="graph_to_target", slots="source_sizes", triplets="weight_groups",
    )  # fmt: skip

    def __repr__(self) -> str:
        counts = {"source": self.num_sources, "target": self.num_targets, "pair": self.num_pairs}
        parts = [counted(count, noun) for noun, count in counts.items()]
        sizes = self.sizes.values
        if sizes.dim() > 1:
            parts.append(f"{sizes.shape[0]} matrices M of {sizes.shape[1]} × {sizes.shape[2]} roles")
        elif sizes.numel():
            low, high = (int(v) for v in torch.aminmax(sizes))
            parts.append(f"𝓘 {low}" if low == high else f"𝓘 {low} to {high}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _plain(orders: Orders) -> tuple[Order, ...]:
    rows = orders.values.tolist()
    return tuple(map(tuple, rows) if orders.values.dim() > 1 else rows)


def overlap(h: Hypergraph, source: Family, target: Family, max_pairs: int = MAX_PAIRS) -> Overlap:
    """The overlap of the families ``source`` and ``target`` over the nodes of ``h``; see
    `Hypergraph.overlap`.

    With nodes on either side this is a rearrangement of the incidences; between hyperedges it is a
    sparse product. More than ``max_pairs`` possible pairs are refused before memory is spent.

    >>> h = Hypergraph.from_edges([[0, 1, 2], [1, 2, 3], [4]])
    >>> overlap(h, "edges", "edges").pairs()
    (tensor([0, 0, 1, 1, 2]), tensor([1, 0, 0, 1, 2]), tensor([2, 3, 2, 3, 1]))
    """
    sources, targets = (
        resolve(h, family, role, max_pairs) for family, role in ((source, "source"), (target, "target"))
    )
    source_to_group, sizes, group_to_target = groups_of(sources, targets, max_pairs)
    with_roles, one = sizes.values.dim() > 1, h.num_members == 1
    found = Overlap(
        source_to_group=source_to_group,
        sizes=sizes,
        group_to_target=group_to_target,
        source_to_graph=None if one else selection(sources.batch, h.num_members).transpose(),
        graph_to_target=None if one else selection(targets.batch, h.num_members),
        source_orders=orders_of(sources, with_roles),
        target_orders=orders_of(targets, with_roles),
        source_batch=sources.batch,
        target_batch=targets.batch,
        num_members=h.num_members,
    )
    return _with_weights(found, sources, targets)


def _with_weights(o: Overlap, sources: FamilyRows, targets: FamilyRows) -> Overlap:
    """``o`` whose sums weigh their terms, if hyperedges or incidences have weights."""
    if all(rows.weight is None and rows.pair_weight is None for rows in (sources, targets)):
        return o
    group = o.source_to_group.rows
    weights = pair_weights(o.group_target[group], o.source_to_group.index, sources, targets)
    everything = None if sources.weight is None else sources.weight[o.everything.index]
    return dataclasses.replace(
        o,
        source_to_group=weighted(o.source_to_group, weights),
        source_to_graph=o.source_to_graph if everything is None else weighted(o.everything, everything),
    )
