"""Mini-batches of one large hypergraph: seed nodes and a limited part of what reaches them. Approximate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ehnn._utils.validation import as_count, as_index
from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.hypergraph.pairs import arange_like, pairs_from_coo, repeat, starts
from ehnn.hypergraph.products import MAX_PAIRS
from ehnn.overlap.families import Family
from ehnn.tasks.draws import generator_of

from .sampled_overlap import SampledOverlap, sampled_overlap

_LONG = 8
"""Rows with so many times more pairs than are drawn are not shuffled as a whole."""
PAIRS = (("nodes", "edges"), ("edges", "nodes"), ("nodes", "all"), ("all", "nodes"))


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Hypergraph):
    """Seed nodes and what was drawn around them. **Approximate**: see `sample`.

    Rows ``0 … num_seeds − 1`` are the seeds; only their outputs are meant to be read. ``incidence`` holds all
    drawn incidences, with their roles, weights and features; orders and degrees are those of the whole
    hypergraph.

    Attributes:
        node_ids, edge_ids: numbers in the whole hypergraph.
        num_seeds: number of seeds.
        to_edges: drawn nodes of each hyperedge (hyperedges × nodes).
        to_nodes: drawn hyperedges of each node (nodes × hyperedges).
        true_orders, true_degrees: in the whole hypergraph.
        role_orders, role_degrees: ``[num_edges, R]`` and ``[num_nodes, R]`` the same by role, or None.
        totals: nodes and hyperedges (without empty ones) of the whole hypergraph.
    """

    node_ids: Tensor = None  # type: ignore[assignment]
    edge_ids: Tensor = None  # type: ignore[assignment]
    num_seeds: int = 0
    to_edges: SparsePattern = None  # type: ignore[assignment]
    to_nodes: SparsePattern = None  # type: ignore[assignment]
    true_orders: Tensor = None  # type: ignore[assignment]
    true_degrees: Tensor = None  # type: ignore[assignment]
    role_orders: Tensor | None = None
    role_degrees: Tensor | None = None
    totals: tuple[int, int] = (0, 0)

    @property
    def orders(self) -> Tensor:
        return self.true_orders

    @property
    def degrees(self) -> Tensor:
        return self.true_degrees

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Sample:
        """This sample on another device."""
        moved = super().to(device, non_blocking)
        if moved is self:
            return self
        assert isinstance(moved, Sample)
        drawn = {name: getattr(self, name).to(device, non_blocking) for name in ("to_edges", "to_nodes")}
        return replace(moved, _overlaps={}, **drawn)

    def overlap(
        self, source: Family = "nodes", target: Family = "edges", max_pairs: int = MAX_PAIRS
    ) -> SampledOverlap:
        """The drawn relation between nodes and hyperedges, with sums that estimate the whole one's.

        It has as many pairs as incidences were drawn, whatever ``max_pairs`` is.
        """
        if (source, target) not in PAIRS:
            raise ValueError(f"a sample has the relations {PAIRS}, got {(source, target)!r}")
        if (source, target) not in self._overlaps:
            self._overlaps[source, target] = sampled_overlap(self, str(source), str(target))
        return self._overlaps[source, target]  # type: ignore[return-value]


def sample(
    h: Hypergraph, seeds: Any, fan_out: Sequence[tuple[int, int]], generator: torch.Generator | None = None
) -> Sample:
    """Draw around ``seeds``: for each (edges, nodes) of ``fan_out``, ``edges`` hyperedges of every node that
    was reached last, and ``nodes`` nodes of every hyperedge that was reached last.

    One pair of layers nodes → hyperedges → nodes needs one entry. Draws are uniform without replacement and
    each row is drawn once, so sums over a row, times true count / drawn count, are unbiased; a limit of −1
    takes all. The global sum is estimated from the seeds alone, which must be uniform for that to be right:
    a hyperedge counts 1 / order for each of its nodes among them; `RunningPools` averages these estimates
    over mini-batches. One member only; **approximate**. All is done on the device of ``h``, where
    ``generator`` must be too.

    Nodes and hyperedges are drawn evenly, whatever their roles and weights. A drawn pair keeps its role and
    its weight, and stands for as many pairs of its row as without them.

    Layers that use overlaps (EHNN, AllSet) rescale their sums in this way. A model that reads ``incidence``
    itself, such as HGNN, sees the drawn incidences without rescaling.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [3, 4, 5]])
    >>> drawn = sample(h, [0, 5], fan_out=[(2, 2)])
    >>> drawn.num_seeds, drawn.node_ids[:2].tolist()
    (2, [0, 5])
    """
    if h.num_members != 1:
        raise ValueError(f"sampling takes one hypergraph, got a batch of {h.num_members}")
    if not len(fan_out):
        raise ValueError("fan_out must have an (edges, nodes) for each pair of layers, got none")
    seeds = as_index(seeds, "seeds", h.num_nodes).to(h.device)
    nodes, edges = seeds, seeds.new_zeros(0)
    sizes = h.num_nodes, h.num_edges
    reached_n, reached_e = (torch.zeros(k, dtype=torch.bool, device=h.device) for k in sizes)
    reached_n[seeds] = True
    if int(reached_n.sum()) != seeds.shape[0]:
        value, count = torch.unique(seeds, return_counts=True)
        raise ValueError(f"seeds must be distinct nodes, got {int(value[count.argmax()])} more than once")
    star, drawn_v, drawn_e = h.incidence, [], []
    frontier = seeds
    for edges_per_node, nodes_per_edge in fan_out:
        row, place = _draw(star.t_ptr, frontier, edges_per_node, generator)
        edge = star.t_index[place]
        drawn_v.append(torch.stack([row, edge, star.t_perm[place]]))
        new = torch.unique(edge[~reached_e[edge]])
        reached_e[new] = True
        row, place = _draw(star.ptr, new, nodes_per_edge, generator)
        node = star.index[place]
        drawn_e.append(torch.stack([row, node, place]))
        edges = torch.cat([edges, new])
        frontier = torch.unique(node[~reached_n[node]])
        reached_n[frontier] = True
        nodes = torch.cat([nodes, frontier])
    return _assemble(h, nodes, edges, seeds.shape[0], drawn_v, drawn_e)


def _draw(ptr: Tensor, rows: Tensor, limit: int, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Row and place of at most ``limit`` uniformly drawn pairs of each of the ``rows``."""
    if limit < 1:
        return _draw_from_all(ptr, rows, limit, generator)
    long = ptr[rows + 1] - ptr[rows] > _LONG * limit
    row, place, failed = _draw_from_long(ptr, rows[long], limit, generator)
    others = torch.cat([rows[~long], failed])
    other_row, other_place = _draw_from_all(ptr, others, limit, generator)
    return torch.cat([row, other_row]), torch.cat([place, other_place])


def _draw_from_long(
    ptr: Tensor, rows: Tensor, limit: int, generator: torch.Generator | None
) -> tuple[Tensor, Tensor, Tensor]:
    """``limit`` pairs of each row without looking at all of them; and the rows where that failed.

    Of 2 · limit draws with replacement the first ``limit`` distinct ones are draws without replacement.
    """
    begin, draws = ptr[rows], 2 * limit
    lengths = (ptr[rows + 1] - begin).unsqueeze(1)
    u = torch.rand(rows.shape[0], draws, dtype=torch.float64, device=ptr.device, generator=generator)
    inside = (u * lengths).long().clamp(max=lengths - 1)
    order = torch.argsort(inside, stable=True)  # equal ones side by side, the first draw first
    repeated = torch.zeros_like(inside, dtype=torch.bool)
    ordered = inside.gather(1, order)
    repeated.scatter_(1, order[:, 1:], ordered[:, 1:] == ordered[:, :-1])
    keep = ~repeated & ((~repeated).cumsum(1) <= limit)
    enough = keep.sum(1) == limit
    keep &= enough.unsqueeze(1)
    place = (begin.unsqueeze(1) + inside)[keep]
    return rows[enough].repeat_interleave(limit), place, rows[~enough]


def _draw_from_all(
    ptr: Tensor, rows: Tensor, limit: int, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """The same for rows that are short enough to be shuffled; all pairs if ``limit`` is negative."""
    begin = ptr[rows]
    lengths = ptr[rows + 1] - begin
    total = int(lengths.sum())
    which = repeat(lengths, total)
    inside = arange_like(which) - starts(lengths)[which]
    place = begin[which] + inside
    if limit >= 0:
        order = torch.argsort(torch.rand(total, dtype=torch.float64, device=ptr.device, generator=generator))
        order = order[torch.argsort(which[order], stable=True)]  # shuffled within each row
        keep = order[inside < limit]
        which, place = which[keep], place[keep]
    return rows[which], place


def _assemble(
    h: Hypergraph, nodes: Tensor, edges: Tensor, num_seeds: int, drawn_v: list[Tensor], drawn_e: list[Tensor]
) -> Sample:
    node_place, edge_place = _places(nodes, h.num_nodes), _places(edges, h.num_edges)
    v, e = torch.cat(drawn_v, 1), torch.cat(drawn_e, 1)
    n, m = nodes.shape[0], edges.shape[0]
    to_nodes, _ = pairs_from_coo(node_place[v[0]], edge_place[v[1]], n, m)
    to_edges, _ = pairs_from_coo(edge_place[e[0]], node_place[e[1]], m, n)
    row, col = torch.cat([e[0], v[1]]), torch.cat([e[1], v[0]])
    every, first = pairs_from_coo(edge_place[row], node_place[col], m, n, need_order=True)
    place = torch.cat([e[2], v[2]])[first]
    role_orders, role_degrees = (None, None) if h.num_roles == 1 else _role_counts(h)
    return Sample(
        every,
        x=_rows(h.x, nodes),
        y=_rows(h.y, nodes),
        edge_x=_rows(h.edge_x, edges),
        edge_weight=_rows(h.edge_weight, edges),
        incidence_weight=_rows(h.incidence_weight, place),
        incidence_x=_rows(h.incidence_x, place),
        roles=_rows(h.roles, place),
        num_roles=h.num_roles,
        node_ids=nodes,
        edge_ids=edges,
        num_seeds=num_seeds,
        to_edges=to_edges,
        to_nodes=to_nodes,
        true_orders=h.orders[edges],
        true_degrees=h.degrees[nodes],
        role_orders=_rows(role_orders, edges),
        role_degrees=_rows(role_degrees, nodes),
        totals=(h.num_nodes, int((h.orders > 0).sum())),
    )


def _rows(values: Tensor | None, rows: Tensor) -> Tensor | None:
    return None if values is None else values[rows]


def _role_counts(h: Hypergraph) -> tuple[Tensor, Tensor]:
    """``[num_edges, R]`` nodes of each role in a hyperedge, ``[num_nodes, R]`` hyperedges of a node; kept."""
    kept = h._derived
    if _role_counts not in kept:
        assert h.roles is not None
        kept[_role_counts] = tuple(
            torch.bincount(row * h.num_roles + h.roles, minlength=rows * h.num_roles).reshape(rows, -1)
            for row, rows in ((h.incidence.rows, h.num_edges), (h.incidence.index, h.num_nodes))
        )
    found: tuple[Tensor, Tensor] = kept[_role_counts]
    return found


def _places(ids: Tensor, size: int) -> Tensor:
    place = torch.full((size,), -1, dtype=torch.int64, device=ids.device)
    place[ids] = arange_like(ids)
    return place


def seed_batches(nodes: Tensor, batch_size: int, seed: int, epoch: int) -> Iterator[Tensor]:
    """The ``nodes`` in random batches, a function of (seed, epoch) alone."""
    generator = generator_of(seed, epoch)
    order = torch.randperm(nodes.shape[0], generator=generator).to(nodes.device)
    yield from nodes[order].split(as_count(batch_size, "batch_size", 1))
