"""Families of hyperedges as one rank sees them: own rows, then ghosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ehnn._utils.cached import cached_tensors
from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import pairs_from_sorted
from ehnn.hypergraph.weighted import unless_ones, weighted
from ehnn.overlap.orders import Orders

from .plan import Plan

if TYPE_CHECKING:
    from .shards import Shard


@dataclass(frozen=True, eq=False)
class ShardFamily:
    """Rows (own, then ghosts) of a family over the own nodes of a rank.

    Attributes:
        pairs: ``SparsePattern`` of rows × own nodes: the part of each hyperedge that lies on this rank, with
            the weights of its incidences.
        plan: where the ghosts belong; None for nodes, which have none.
        own: number of own rows.
        orders: ``[rows]`` true orders, ghosts included.
        values: distinct orders on all ranks.
        batch: ``[own]`` member of each own row.
        counts: rows that each rank owns.
        numbers: ``[own]`` number of each own row in the whole family.
    """

    pairs: SparsePattern
    plan: Plan | None
    own: int
    orders: Tensor
    values: Tensor
    batch: Tensor
    counts: list[int]
    numbers: Tensor

    @cached_tensors
    def own_orders(self) -> Orders:
        """Orders of the own rows."""
        return Orders.at(self.values, self.places[: self.own])

    @cached_tensors
    def places(self) -> Tensor:
        """``[rows]`` place of each order in ``values``."""
        return torch.searchsorted(self.values, self.orders)


def family(h: Shard, name: str) -> ShardFamily:
    """A named family of a shard, made once: relations share its memory."""
    if name not in h._families:
        h._families[name] = _family(h, name)
    return h._families[name]


def _family(h: Shard, name: str) -> ShardFamily:
    star, n, m = h.incidence.inner, h.num_nodes, h.num_edges
    one = torch.ones(n, dtype=torch.int64, device=h.device)
    values = torch.ones(int(sum(h.node_counts) > 0), dtype=torch.int64, device=h.device)
    nodes = torch.arange(n + 1, device=h.device)
    if name == "nodes":
        single = SparsePattern.unchecked(n, n, nodes, nodes[:-1], nodes, nodes[:-1], nodes[:-1])
        return ShardFamily(single, None, n, one, values, h.node_batch, h.node_counts, h.node_ids)
    plan, weight = h.incidence.plan, unless_ones(h.incidence_weight)
    if name == "edges":
        orders, batch = (h.touched_orders, h.distinct_orders), h.edge_batch
        return ShardFamily(weighted(star, weight), plan, m, *orders, batch, h.edge_counts, h.edge_ids)
    ptr = torch.cat([nodes, star.ptr[1:] + n])
    both = pairs_from_sorted(ptr, torch.cat([nodes[:-1], star.index]), n)
    both = weighted(both, None if weight is None else torch.cat([weight.new_ones(n), weight]))
    return ShardFamily(
        both,
        plan.behind(h.node_counts),
        n + m,
        torch.cat([one, h.touched_orders]),
        torch.unique(torch.cat([values, h.distinct_orders])),
        torch.cat([h.node_batch, h.edge_batch]),
        [a + b for a, b in zip(h.node_counts, h.edge_counts, strict=True)],
        torch.cat([h.node_ids, sum(h.node_counts) + h.edge_ids]),
    )
