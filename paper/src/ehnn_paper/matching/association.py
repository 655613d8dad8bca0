"""The association hypergraph of a batch of image pairs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import torch
from torch import Tensor

from ehnn._utils.cached import cached_tensors, keep, plain_tensors
from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.hypergraph.pairs import arange_like, pairs_from_sorted, with_short
from ehnn.overlap import Overlap

from .association_overlap import candidates_overlap
from .candidates import Candidates, candidates_of, products
from .ordering import pointer_of, stable_sort
from .pair_batch import PairBatch, Side

MAX_HYPEREDGES = 50_000_000
ORDERS = (2, 3)


@dataclass(frozen=True, eq=False)
class Association:
    """Which candidates belong together: structure alone, which no parameter changes.

    A node is a candidate. A pair of an edge of a and an edge of b is two hyperedges of two candidates, one
    for each way to lay one edge on the other; a pair of triangles is six hyperedges of three
    candidates. Every hyperedge is there once, those of two candidates first.

    Attributes:
        candidates: the nodes.
        structure: hypergraph without features; an image pair is a member of the batch.
        edge_pairs: number of pairs of edges; the hyperedges 2q and 2q + 1 come from pair q.
        triangles_a, triangles_b: ``[triangle pairs]`` columns of ``batch.a.triangles`` and
            ``batch.b.triangles``; the six hyperedges from ``2 · edge_pairs + 6q`` on come from pair q, with
            the corners of b in the order of `corner_orders`.
        sides: ``[2, 3 · triangles]``: `triangle_sides` of those of a, then b, as rows of the keypoints of a,
            then b.
    """

    candidates: Candidates
    structure: Hypergraph
    edge_pairs: int
    triangles_a: Tensor
    triangles_b: Tensor
    sides: Tensor

    @property
    def num_pairs(self) -> int:
        return self.candidates.num_pairs

    def hypergraph(self, nodes: Tensor, edges: Tensor) -> Hypergraph:
        """The hypergraph with affinities ``nodes [c]`` and ``edges [hyperedges]`` as features."""
        return self.structure.replace(x=nodes.unsqueeze(1), edge_x=edges.unsqueeze(1))

    @cached_tensors
    def overlap(self) -> Overlap:
        """Which candidates and hyperedges meet which candidates: ``structure.overlap("all", "nodes")``."""
        if not len(self.candidates):
            return self.structure.overlap("all", "nodes")
        counts = {2: 2 * self.edge_pairs, 3: 6 * self.triangles_a.shape[0]}
        return candidates_overlap(self.structure, counts)

    @cached_tensors
    def to_nodes(self) -> SparsePattern:
        """Candidates × hyperedges: ``structure.incidence.transpose()``."""
        incidence = self.structure.incidence
        return keep(incidence.transpose(), split=incidence.t_split, t_split=incidence.split)

    def prepare(self) -> Association:
        """This with everything made that a network asks for, so that on a GPU nothing has to be counted."""
        candidates, pairs = self.candidates, [self.structure.incidence, self.to_nodes]
        _ = candidates.grid, candidates.square, self.structure.orders
        if len(candidates):
            o = self.overlap
            pairs += [o.source_to_group, o.source_orders.pairs, o.target_orders.pairs, o.sizes_and_pool.pairs]
            pairs += [p for p in (o.source_to_graph, o.graph_to_target) if p is not None]
            _ = [p.inverse_lengths for p in (self.structure.incidence, o.source_to_group, o.everything)]
        _ = [(p.split, p.t_split) for p in pairs]
        return self

    def to(self, device: torch.device | str) -> Association:
        return Association(
            self.candidates.to(device),
            self.structure.to(device),
            self.edge_pairs,
            self.triangles_a.to(device),
            self.triangles_b.to(device),
            self.sides.to(device),
        )


def associate(
    batch: PairBatch, orders: Collection[int] = ORDERS, max_hyperedges: int = MAX_HYPEREDGES
) -> Association:
    """The association hypergraph of a batch, on its device.

    Args:
        batch: the image pairs.
        orders: which hyperedges to make: 2 from pairs of edges, 3 from pairs of triangles.
        max_hyperedges: more are refused before memory is spent.

    Memory is linear in the number of hyperedges, 2 · Σ eₐ e_b + 6 · Σ tₐ t_b. Index arithmetic alone: on a
    GPU nothing waits for the device but the sizes of a batch that was made there.
    """
    if not set(orders) <= set(ORDERS):
        raise ValueError(f"orders must be among {ORDERS}, got {tuple(orders)}")
    sizes = batch.sizes
    edge_pairs = sizes.edge_pairs if 2 in orders else 0
    triangle_pairs = sizes.triangle_pairs if 3 in orders else 0
    total = 2 * edge_pairs + 6 * triangle_pairs
    if total > max_hyperedges:
        raise ValueError(
            f"the association hypergraph would have {total:,} hyperedges, more than "
            f"max_hyperedges={max_hyperedges:,}; use smaller batches, fewer keypoints or orders=(2,)"
        )
    candidates = candidates_of(batch)
    twos, two_batch = _twos(batch, candidates, edge_pairs)
    threes, three_batch, triangles_a, triangles_b = _threes(batch, candidates, triangle_pairs)
    structure = Hypergraph(
        _incidence(twos, threes, len(candidates)),
        node_batch=candidates.pair,
        edge_batch=torch.cat([two_batch, three_batch]),
        num_members=candidates.num_pairs,
    )
    sides = _sides(batch) if triangle_pairs else triangles_a.new_zeros(2, 0)
    return Association(candidates, structure, edge_pairs, triangles_a, triangles_b, sides)


def _twos(batch: PairBatch, candidates: Candidates, total: int) -> tuple[Tensor, Tensor]:
    """Candidates ``[2 · total, 2]`` and image pair of the hyperedges from edges."""
    if not total:
        return candidates.a.new_zeros(0, 2), candidates.a.new_zeros(0)
    left, right, owner = _matched(batch.a, batch.b, batch.a.edges, batch.b.edges, total)
    row = candidates.first[ascending(batch.a.edges)][:, left].T  # [total, 2]
    column = batch.b.edges[:, right].T
    laid = row.unsqueeze(1) + torch.stack([column, column.flip(1)], 1)
    return laid.flatten(0, 1), owner.repeat_interleave(2, output_size=2 * total)


def _threes(batch: PairBatch, candidates: Candidates, total: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Candidates ``[6 · total, 3]``, image pair, and triangles of the hyperedges from triangles."""
    if not total:
        none = candidates.a.new_zeros(0)
        return none.reshape(0, 3), none, none, none
    left, right, owner = _matched(batch.a, batch.b, batch.a.triangles, batch.b.triangles, total)
    row = candidates.first[ascending(batch.a.triangles)].T  # [triangles of a, 3]
    column = batch.b.triangles.T[:, corner_orders(left.device)]  # [triangles of b, 6, 3]
    laid = row[left].unsqueeze(1) + column[right]
    return laid.flatten(0, 1), owner.repeat_interleave(6, output_size=6 * total), left, right


def _matched(a: Side, b: Side, left: Tensor, right: Tensor, total: int) -> tuple[Tensor, Tensor, Tensor]:
    """All pairs of a column of ``left`` and a column of ``right`` in one image pair, and that image pair."""
    owner = a.owner[left[0]]
    i, j, _ = products(owner, b.per_pair(right), total)
    return i, j, owner[i]


def _sides(batch: PairBatch) -> Tensor:
    """Of all triangles of a, with their corners as in the hyperedges, and of b."""
    corners = [ascending(batch.a.triangles), batch.b.triangles + batch.a.points.shape[0]]
    return triangle_sides(torch.cat(corners, 1))


def triangle_sides(triangles: Tensor) -> Tensor:
    """``[3, t] → [2, 3t]``: from the first corner to the second and to the third, from the second to it."""
    first, second, third = triangles.unbind(0)
    ends = [torch.stack(rows, 1) for rows in ((first, first, second), (second, third, third))]
    return torch.stack(ends).flatten(1)


def ascending(rows: Tensor) -> Tensor:
    """Corners in ascending order, which makes the candidates of a hyperedge ascend."""
    return rows.sort(0).values


@lru_cache
def corner_orders(device: torch.device) -> Tensor:
    """``[6, 3]``: the orders in which the corners of b's triangle are laid on those of a's."""
    with plain_tensors():
        return torch.tensor(list(permutations(range(3))), device=device)


def _incidence(twos: Tensor, threes: Tensor, num_nodes: int) -> SparsePattern:
    """Hyperedges × candidates."""
    index = torch.cat([twos.flatten(), threes.flatten()])
    split, last = twos.numel(), index.shape[0]
    ptr = torch.cat(
        [
            torch.arange(0, split, 2, device=index.device),
            torch.arange(split, last + 1, 3, device=index.device),
        ]
    )
    if index.device.type == "cpu" and not torch.compiler.is_compiling():
        return with_short(pairs_from_sorted(ptr, index, num_nodes), rows=True)
    edge = arange_like(ptr[:-1])
    owner = [edge[: len(twos)].repeat_interleave(2), edge[len(twos) :].repeat_interleave(3)]
    return with_short(pairs_without_waiting(ptr, index, torch.cat(owner), num_nodes), rows=True)


def pairs_without_waiting(ptr: Tensor, index: Tensor, rows: Tensor, num_cols: int) -> SparsePattern:
    """`pairs_from_sorted` with the row of each pair given, and nothing that waits for the device."""
    values, order = stable_sort(index)
    t_ptr = pointer_of(values, num_cols)
    return SparsePattern.unchecked(ptr.shape[0] - 1, num_cols, ptr, index, t_ptr, rows[order], order)
