"""Mini-batches of one large hypergraph: seed nodes and a limited part of what reaches them. Approximate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph, Pairs
from ehnn.hypergraph.pairs import arange_like, pairs_from_coo, repeat, selection
from ehnn.overlap import Family, Overlap
from ehnn.overlap.orders import Orders

from .sampled import Part, SampledPairs

PAIRS = (("nodes", "edges"), ("edges", "nodes"), ("nodes", "all"), ("all", "nodes"))


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Hypergraph):
    """Seed nodes and what was drawn around them. **Approximate**: see `sample`.

    Rows ``0 … num_seeds − 1`` are the seeds; only their outputs are meant to be read. ``incidence`` holds all
    drawn incidences; orders and degrees are those of the whole hypergraph.

    Attributes:
        node_ids, edge_ids: numbers in the whole hypergraph.
        num_seeds: number of seeds.
        to_edges: drawn nodes of each hyperedge (hyperedges × nodes).
        to_nodes: drawn hyperedges of each node (nodes × hyperedges).
        true_orders, true_degrees: in the whole hypergraph.
        totals: nodes and hyperedges (without empty ones) of the whole hypergraph.
    """

    node_ids: Tensor = None  # type: ignore[assignment]
    edge_ids: Tensor = None  # type: ignore[assignment]
    num_seeds: int = 0
    to_edges: Pairs = None  # type: ignore[assignment]
    to_nodes: Pairs = None  # type: ignore[assignment]
    true_orders: Tensor = None  # type: ignore[assignment]
    true_degrees: Tensor = None  # type: ignore[assignment]
    totals: tuple[int, int] = (0, 0)
    approximate: bool = True

    @property
    def orders(self) -> Tensor:
        return self.true_orders

    @property
    def degrees(self) -> Tensor:
        return self.true_degrees

    def overlap(self, source: Family = "nodes", target: Family = "edges", **kwargs: Any) -> Overlap:
        """The drawn relation between nodes and hyperedges, with sums that estimate the whole one's."""
        if (source, target) not in PAIRS:
            raise ValueError(f"a sample has the relations {PAIRS}, got {(source, target)!r}")
        if (source, target) not in self._overlaps:
            self._overlaps[source, target] = _relation(self, str(source), str(target))
        return self._overlaps[source, target]


def sample(
    h: Hypergraph, seeds: Tensor, fan_out: Sequence[tuple[int, int]], generator: torch.Generator | None = None
) -> Sample:
    """Draw around ``seeds``: for each (edges, nodes) of ``fan_out``, so many hyperedges of every node reached
    last, and so many nodes of every hyperedge reached last.

    One pair of layers nodes → hyperedges → nodes needs one entry. Draws are uniform without replacement and
    each row is drawn once, so sums over a row, times true count / drawn count, are unbiased; a limit of −1
    takes all. The global sum is estimated from the seeds alone, which must be uniform for that to be right:
    a hyperedge counts 1 / order for each of its nodes among them. One member only; **approximate**.
    """
    if h.num_members != 1:
        raise ValueError(f"sampling takes one hypergraph, got a batch of {h.num_members}")
    nodes, edges = seeds, seeds.new_zeros(0)
    reached_n, reached_e = (torch.zeros(k, dtype=torch.bool) for k in (h.num_nodes, h.num_edges))
    reached_n[seeds] = True
    by_node, drawn_v, drawn_e = h.incidence.transpose(), [], []
    frontier = seeds
    for edges_per_node, nodes_per_edge in fan_out:
        row, edge = _draw(by_node, frontier, edges_per_node, generator)
        drawn_v.append(torch.stack([row, edge]))
        new = torch.unique(edge[~reached_e[edge]])
        reached_e[new] = True
        row, node = _draw(h.incidence, new, nodes_per_edge, generator)
        drawn_e.append(torch.stack([row, node]))
        edges = torch.cat([edges, new])
        frontier = torch.unique(node[~reached_n[node]])
        reached_n[frontier] = True
        nodes = torch.cat([nodes, frontier])
    return _assemble(h, nodes, edges, seeds.shape[0], drawn_v, drawn_e)


def _draw(pairs: Pairs, rows: Tensor, limit: int, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Row and column of at most ``limit`` uniformly drawn pairs of each of the ``rows``."""
    lengths = pairs.lengths[rows]
    total = int(lengths.sum())
    which = repeat(lengths, total)
    start = lengths.cumsum(0) - lengths
    place = pairs.ptr[rows][which] + torch.arange(total) - start[which]
    if limit >= 0:
        order = torch.argsort(torch.rand(total, dtype=torch.float64, generator=generator))
        order = order[torch.argsort(which[order], stable=True)]  # shuffled within each row
        keep = order[torch.arange(total) - start[which] < limit]
        which, place = which[keep], place[keep]
    return rows[which], pairs.index[place]


def _assemble(
    h: Hypergraph, nodes: Tensor, edges: Tensor, num_seeds: int, drawn_v: list[Tensor], drawn_e: list[Tensor]
) -> Sample:
    node_place, edge_place = _places(nodes, h.num_nodes), _places(edges, h.num_edges)
    v, e = torch.cat(drawn_v, 1), torch.cat(drawn_e, 1)
    n, m = nodes.shape[0], edges.shape[0]
    to_nodes, _ = pairs_from_coo(node_place[v[0]], edge_place[v[1]], n, m)
    to_edges, _ = pairs_from_coo(edge_place[e[0]], node_place[e[1]], m, n)
    every, _ = pairs_from_coo(
        torch.cat([to_edges.rows, to_nodes.index]), torch.cat([to_edges.index, to_nodes.rows]), m, n
    )
    return Sample(
        every,
        x=None if h.x is None else h.x[nodes],
        y=None if h.y is None else h.y[nodes],
        edge_x=None if h.edge_x is None else h.edge_x[edges],
        node_ids=nodes,
        edge_ids=edges,
        num_seeds=num_seeds,
        to_edges=to_edges,
        to_nodes=to_nodes,
        true_orders=h.orders[edges],
        true_degrees=h.degrees[nodes],
        totals=(h.num_nodes, int((h.orders > 0).sum())),
    )


def _places(ids: Tensor, size: int) -> Tensor:
    place = torch.full((size,), -1, dtype=torch.int64)
    place[ids] = arange_like(ids)
    return place


def _relation(s: Sample, source: str, target: str) -> Overlap:
    n, m = s.num_nodes, s.num_edges
    ones = torch.ones(n, dtype=torch.int64)
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
    pool = SampledPairs([_pool(s, source)], torch.tensor([sum(_totals(s, source))]))
    num_targets = whole.num_rows
    met = whole.ptr.diff() > 0
    local, gather = _met(whole, met)
    zeros = torch.zeros(local.num_rows, dtype=torch.int64)
    return _SampledOverlap(
        local, Orders.at(torch.ones(1, dtype=torch.int64), zeros), gather, pool,
        selection(torch.zeros(num_targets, dtype=torch.int64), 1),
        Orders.of(orders[source]), Orders.of(orders[target]),
        torch.zeros(whole.num_cols, dtype=torch.int64), torch.zeros(num_targets, dtype=torch.int64), 1,
        whole=whole,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _SampledOverlap(Overlap):
    whole: SampledPairs = None  # type: ignore[assignment]

    @property
    def merged(self) -> Pairs:
        return self.whole

    @property
    def triplets(self) -> Any:
        raise ValueError("EHNNLinear, which sums by triplets of orders, is not available on samples")


def _totals(s: Sample, source: str) -> list[int]:
    return [t for t, name in zip(s.totals, ("nodes", "edges"), strict=True) if source in (name, "all")]


def _pool(s: Sample, source: str) -> Part:
    """The sum over all sources from the seeds: each stands for N / seeds nodes and their share of edges."""
    factor = s.totals[0] / max(s.num_seeds, 1)
    node = torch.zeros(s.num_nodes, dtype=torch.float64)
    node[: s.num_seeds] = factor
    seen = s.to_nodes.rows < s.num_seeds
    row, edge = s.to_nodes.rows[seen], s.to_nodes.index[seen]
    times = (s.true_degrees / s.to_nodes.lengths.clamp(min=1))[row] / s.true_orders[edge]
    weight = torch.zeros(s.num_edges, dtype=torch.float64).index_add(0, edge, factor * times.double())
    columns = {"nodes": node, "edges": weight, "all": torch.cat([node, weight])}[source]
    return Part(selection(torch.zeros(columns.shape[0], dtype=torch.int64), 1).transpose(), None, columns)


def _block(row: Tensor, rows: int, cols: int) -> Pairs:
    """(i, i) for each i of ``row``."""
    return pairs_from_coo(row, row, rows, cols)[0]


def _shifted(pairs: Pairs, down: int, right: int) -> Pairs:
    moved = pairs.rows + down, pairs.index + right
    return pairs_from_coo(*moved, pairs.num_rows + down, pairs.num_cols + right)[0]


def _met(whole: SampledPairs, met: Tensor) -> tuple[SampledPairs, Pairs | None]:
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


def seed_batches(nodes: Tensor, batch_size: int, seed: int, epoch: int) -> Iterator[Tensor]:
    """The ``nodes`` in random batches, a function of (seed, epoch) alone."""
    if batch_size < 1:
        raise ValueError(f"batch_size must be positive, got {batch_size}")
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    yield from nodes[torch.randperm(nodes.shape[0], generator=generator)].split(batch_size)
