"""Relations of a sample, whose sums estimate those of the whole hypergraph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ehnn._utils.cached import cached_tensors
from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import arange_like, pairs_from_coo, pairs_from_sorted, selection
from ehnn.hypergraph.weighted import product, unless_ones
from ehnn.overlap import Overlap
from ehnn.overlap.orders import Orders
from ehnn.overlap.source_sizes import SourceSizes, make_source_sizes

from .pairs import in_one_row
from .sampled import Part, SampledPairs

if TYPE_CHECKING:
    from .sampling import Sample


@dataclass(frozen=True, eq=False, repr=False)
class SampledOverlap(Overlap):
    """A drawn relation; ``source_to_graph`` is never None."""

    whole: SampledPairs = None  # type: ignore[assignment]

    @property
    def merged(self) -> SparsePattern:
        return self.whole

    @cached_tensors
    def source_sizes(self) -> SourceSizes:
        made, distinct = make_source_sizes(self.source_to_group, self.sizes), self.sizes.values.shape[0]
        if made.source_to_slot is None:
            return made
        assert isinstance(self.source_to_group, SampledPairs)
        slots = made.source_to_slot.index * distinct + made.sizes.index
        parts = []
        for p in self.source_to_group.parts:
            slot = torch.searchsorted(slots, p.pairs.index * distinct + self.sizes.index[p.pairs.rows])
            pairs = pairs_from_sorted(p.pairs.ptr, slot, slots.shape[0])
            parts.append(Part(pairs, p.scale, None, p.factors))
        return replace(made, slot_to_group=SampledPairs(parts, self.source_to_group.lengths))

    @property
    def weight_groups(self) -> Any:
        raise ValueError("EHNNLinear, which sums by triplets of orders, is not available on samples")


def sampled_overlap(s: Sample, source: str, target: str) -> SampledOverlap:
    """The drawn relation between nodes, hyperedges or all of them, with nodes at one end."""
    n, ones = s.num_nodes, torch.ones_like(s.node_ids)
    to_nodes = target == "nodes"
    drawn, true = (s.to_nodes, s.true_degrees) if to_nodes else (s.to_edges, s.true_orders)
    scale = true / drawn.lengths.clamp(min=1)
    code, factors = _marks(s, drawn, to_nodes)
    counts = true.unsqueeze(1) if code is None else (s.role_degrees if to_nodes else s.role_orders)
    assert counts is not None
    codes = [drawn.index.new_zeros(len(drawn)) if code is None else code]
    if "all" not in (source, target):
        parts = [Part(drawn, scale, None, factors)]
    else:  # a node meets itself, in a role of its own; nodes come before hyperedges
        size = (n, n + s.num_edges) if to_nodes else (n + s.num_edges, n)
        down, right = (0, n) if to_nodes else (n, 0)
        scale = scale if to_nodes else torch.cat([ones, scale])
        own, moved = _block(ones.cumsum(0) - 1, *size), _shifted(drawn, down, right)
        parts = [Part(own), Part(moved, scale, None, factors)]
        codes, counts = _with_nodes(codes[0], counts, n, code is not None, to_nodes)
    whole = SampledPairs(parts, counts.sum(1))
    source_to_graph = SampledPairs(
        [_pool(s, source)], torch.tensor([sum(_totals(s, source))], device=s.device)
    )
    source_to_group, code, group_to_target = _groups(whole, codes, counts)
    with_roles = s.num_roles > 1
    sources, targets = (ones.new_zeros(k) for k in (whole.num_cols, whole.num_rows))
    return SampledOverlap(
        source_to_group, _sizes(code, counts.shape[1], with_roles, to_nodes), group_to_target,
        source_to_graph, None,
        _orders(s, source, with_roles), _orders(s, target, with_roles), sources, targets, 1, whole=whole,
    )  # fmt: skip


def _marks(s: Sample, drawn: SparsePattern, to_nodes: bool) -> tuple[Tensor | None, Tensor | None]:
    """``[pairs]`` role and weight of the drawn pairs; a hyperedge as source brings its own weight."""
    edge, node = (drawn.index, drawn.rows) if to_nodes else (drawn.rows, drawn.index)
    every, n = s.incidence, max(s.num_nodes, 1)
    place = torch.searchsorted(every.rows * n + every.index, edge * n + node)
    of_pair, of_edge = unless_ones(s.incidence_weight), unless_ones(s.edge_weight)
    weight = product(
        None if of_pair is None else of_pair[place],
        of_edge[edge] if of_edge is not None and to_nodes else None,
    )
    return (None if s.roles is None or s.num_roles == 1 else s.roles[place]), weight


def _with_nodes(
    code: Tensor, counts: Tensor, n: int, with_roles: bool, to_nodes: bool
) -> tuple[list[Tensor], Tensor]:
    """Codes of the pairs of nodes with themselves, then of the drawn ones; and counts of targets by code."""
    roles = counts.shape[1]
    own = code.new_full((n,), roles if with_roles else 0)
    if with_roles:
        counts = torch.nn.functional.pad(counts, (0, 1))
    alone = torch.nn.functional.one_hot(own, counts.shape[1])
    return [own, code], counts + alone if to_nodes else torch.cat([alone, counts])


def _groups(
    whole: SampledPairs, codes: list[Tensor], counts: Tensor
) -> tuple[SampledPairs, Tensor, SparsePattern | None]:
    """Drawn pairs with equal (target, code) form a group; ``counts [targets, codes]`` are the true lengths.

    Returns groups × sources, the code of each group, and targets × groups (None if group j is target j).
    """
    size = counts.shape[1]
    keys = [p.pairs.rows * size + code for p, code in zip(whole.parts, codes, strict=True)]
    found, group = torch.unique(torch.cat(keys), return_inverse=True)
    target, code = torch.div(found, size, rounding_mode="floor"), found % size
    split = zip(whole.parts, group.split([*map(len, keys)]), strict=True)
    parts = [_regrouped(part, rows, target) for part, rows in split]
    one_each = found.shape[0] == whole.num_rows and torch.equal(target, arange_like(target))
    group_to_target = None if one_each else selection(target, whole.num_rows).transpose()
    return SampledPairs(parts, counts[target, code]), code, group_to_target


def _regrouped(part: Part, rows: Tensor, target: Tensor) -> Part:
    """The pairs of a part in new rows, of which row g belongs to ``target[g]``."""
    pairs, order = pairs_from_coo(rows, part.pairs.index, target.shape[0], part.pairs.num_cols, True)
    scale = None if part.scale is None else part.scale[target]
    return Part(pairs, scale, part.weight, None if part.factors is None else part.factors[order])


def _sizes(code: Tensor, codes: int, with_roles: bool, to_nodes: bool) -> Orders:
    """𝓘 = 1, or with roles the matrix M with a single 1 at the role of the node."""
    if not with_roles:
        return Orders.at(code.new_ones(1), code)
    table = torch.eye(codes, dtype=torch.int64, device=code.device)
    return Orders.at(table.unsqueeze(2 if to_nodes else 1), code)


def _orders(s: Sample, family: str, with_roles: bool) -> Orders:
    """The order of each row; with roles a vector of role counts, where nodes have an extra role in "all"."""
    ones = torch.ones_like(s.node_ids)
    if not with_roles:
        orders = {"nodes": ones, "edges": s.true_orders, "all": torch.cat([ones, s.true_orders])}
        return Orders.of(orders[family])
    counts = s.role_orders
    assert counts is not None
    if family == "nodes":
        counts = ones.unsqueeze(1)
    elif family == "all":
        alone = torch.nn.functional.one_hot(ones * s.num_roles, s.num_roles + 1)
        counts = torch.cat([alone, torch.nn.functional.pad(counts, (0, 1))])
    return Orders.at(*torch.unique(counts, dim=0, return_inverse=True))


def _totals(s: Sample, source: str) -> list[int]:
    return [t for t, name in zip(s.totals, ("nodes", "edges"), strict=True) if source in (name, "all")]


def _pool(s: Sample, source: str) -> Part:
    """The sum over all sources from the seeds: each represents N / seeds nodes and their share of edges."""
    factor = s.totals[0] / max(s.num_seeds, 1)
    node = torch.zeros(s.num_nodes, dtype=torch.float64, device=s.device)
    node[: s.num_seeds] = factor
    seen = s.to_nodes.rows < s.num_seeds
    row, edge = s.to_nodes.rows[seen], s.to_nodes.index[seen]
    times = (s.true_degrees / s.to_nodes.lengths.clamp(min=1))[row] / s.true_orders[edge]
    weight = node.new_zeros(s.num_edges).index_add(0, edge, factor * times.double())
    columns = {"nodes": node, "edges": weight, "all": torch.cat([node, weight])}[source]
    factors = unless_ones(s.edge_weight)
    if factors is not None:
        alone = factors.new_ones(s.num_nodes)
        factors = {"nodes": None, "edges": factors, "all": torch.cat([alone, factors])}[source]
    return Part(in_one_row(columns.shape[0], s.device), None, columns, factors)


def _block(row: Tensor, rows: int, cols: int) -> SparsePattern:
    """(i, i) for each i of ``row``."""
    return pairs_from_coo(row, row, rows, cols)[0]


def _shifted(pairs: SparsePattern, down: int, right: int) -> SparsePattern:
    moved = pairs.rows + down, pairs.index + right
    return pairs_from_coo(*moved, pairs.num_rows + down, pairs.num_cols + right)[0]
