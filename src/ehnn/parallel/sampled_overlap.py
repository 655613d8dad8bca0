"""Relations of a sample, whose sums estimate those of the whole hypergraph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import pairs_from_coo, selection
from ehnn.hypergraph.weighted import refuse_weights
from ehnn.overlap import Overlap
from ehnn.overlap.orders import Orders

from .pairs import in_one_row
from .sampled import Part, SampledPairs

if TYPE_CHECKING:
    from .sampling import Sample


@dataclass(frozen=True, eq=False)
class SampledOverlap(Overlap):
    """A drawn relation; ``source_to_graph`` is never None."""

    whole: SampledPairs = None  # type: ignore[assignment]

    @property
    def merged(self) -> SparsePattern:
        return self.whole

    @property
    def weight_groups(self) -> Any:
        raise ValueError("EHNNLinear, which sums by triplets of orders, is not available on samples")


def sampled_overlap(s: Sample, source: str, target: str) -> SampledOverlap:
    """The drawn relation between nodes, hyperedges or all of them, with nodes at one end."""
    refuse_weights(s.edge_weight, "edge_weight", "a layer on a sample")
    n, m = s.num_nodes, s.num_edges
    ones = torch.ones_like(s.node_ids)
    orders = {"nodes": ones, "edges": s.true_orders, "all": torch.cat([ones, s.true_orders])}
    if target == "nodes":
        drawn, true = s.to_nodes, s.true_degrees
    else:
        drawn, true = s.to_edges, s.true_orders
    scale = true / drawn.lengths.clamp(min=1)
    if "all" not in (source, target):
        parts, lengths = [Part(drawn, scale)], true
    elif source == "all":  # a node, and its hyperedges behind the nodes
        parts = [Part(_block(ones.cumsum(0) - 1, n, n + m)), Part(_shifted(drawn, 0, n), scale)]
        lengths = true + 1
    else:
        parts = [
            Part(_block(ones.cumsum(0) - 1, n + m, n)),
            Part(_shifted(drawn, n, 0), torch.cat([ones, scale])),
        ]
        lengths = torch.cat([ones, true])
    whole = SampledPairs(parts, lengths)
    total = torch.tensor([sum(_totals(s, source))], device=s.device)
    pool = SampledPairs([_pool(s, source)], total)
    num_targets = whole.num_rows
    met = whole.ptr.diff() > 0
    local, gather = _met(whole, met)
    groups, sources, targets = (ones.new_zeros(k) for k in (local.num_rows, whole.num_cols, num_targets))
    return SampledOverlap(
        local, Orders.at(ones.new_ones(1), groups), gather, pool, None,
        Orders.of(orders[source]), Orders.of(orders[target]), sources, targets, 1, whole=whole,
    )  # fmt: skip


def _totals(s: Sample, source: str) -> list[int]:
    return [t for t, name in zip(s.totals, ("nodes", "edges"), strict=True) if source in (name, "all")]


def _pool(s: Sample, source: str) -> Part:
    """The sum over all sources from the seeds: each stands for N / seeds nodes and their share of edges."""
    factor = s.totals[0] / max(s.num_seeds, 1)
    node = torch.zeros(s.num_nodes, dtype=torch.float64, device=s.device)
    node[: s.num_seeds] = factor
    seen = s.to_nodes.rows < s.num_seeds
    row, edge = s.to_nodes.rows[seen], s.to_nodes.index[seen]
    times = (s.true_degrees / s.to_nodes.lengths.clamp(min=1))[row] / s.true_orders[edge]
    weight = node.new_zeros(s.num_edges).index_add(0, edge, factor * times.double())
    columns = {"nodes": node, "edges": weight, "all": torch.cat([node, weight])}[source]
    return Part(in_one_row(columns.shape[0], s.device), None, columns)


def _block(row: Tensor, rows: int, cols: int) -> SparsePattern:
    """(i, i) for each i of ``row``."""
    return pairs_from_coo(row, row, rows, cols)[0]


def _shifted(pairs: SparsePattern, down: int, right: int) -> SparsePattern:
    moved = pairs.rows + down, pairs.index + right
    return pairs_from_coo(*moved, pairs.num_rows + down, pairs.num_cols + right)[0]


def _met(whole: SampledPairs, met: Tensor) -> tuple[SampledPairs, SparsePattern | None]:
    """Only the rows with drawn pairs are groups."""
    if bool(met.all()):
        return whole, None
    target = met.nonzero().squeeze(1)
    number = met.cumsum(0) - 1
    parts = [
        Part(
            pairs_from_coo(number[p.pairs.rows], p.pairs.index, target.shape[0], whole.num_cols)[0],
            None if p.scale is None else p.scale[target],
            p.weight,
        )
        for p in whole.parts
    ]
    lengths = whole.lengths[target]
    return SampledPairs(parts, lengths), selection(target, whole.num_rows).transpose()
