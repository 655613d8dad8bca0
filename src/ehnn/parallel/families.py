"""Families of hyperedges as one rank sees them: own rows, then ghosts."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ehnn._utils.cached import cached_tensors
from ehnn.hypergraph import Hypergraph
from ehnn.overlap.families import FamilyRows, resolve
from ehnn.overlap.orders import Orders

from .plan import Plan

if TYPE_CHECKING:
    from .shards import Shard


@dataclass(frozen=True, eq=False, kw_only=True)
class ShardFamily(FamilyRows):
    """Rows (own, then ghosts) of a family over the own nodes of a rank; ``batch`` is that of the own rows.

    Attributes:
        plan: where the ghosts belong; None for nodes, which have none.
        own: number of own rows.
        orders: ``[rows]`` true orders, ghosts included; with roles ``[rows, R]`` counts of roles.
        values: distinct orders on all ranks.
        counts: rows that each rank owns.
        numbers: ``[own]`` number of each own row in the whole family.
    """

    plan: Plan | None
    own: int
    orders: Tensor
    values: Tensor
    counts: list[int]
    numbers: Tensor

    @cached_tensors
    def own_orders(self) -> Orders:
        """Orders of the own rows."""
        return Orders.at(self.values, self.places[: self.own])

    @cached_tensors
    def places(self) -> Tensor:
        """``[rows]`` place of each order in ``values``."""
        return places(self.values, self.orders)

    def in_roles(self) -> ShardFamily:
        """This family beside one with roles: its orders are vectors, of one role if it has none."""
        if self.orders.dim() == 2:
            return self
        return replace(self, orders=self.orders.unsqueeze(1), values=self.values.unsqueeze(1))


def places(values: Tensor, rows: Tensor) -> Tensor:
    """The place of each of ``rows`` (integers, or vectors) in ``values``, which are distinct and sorted."""
    if values.dim() == 1:
        return torch.searchsorted(values, rows)
    found, which = torch.unique(rows, dim=0, return_inverse=True)
    every = torch.unique(torch.cat([values, found]), dim=0, return_inverse=True)[1]
    return every[values.shape[0] :][which]


def family(h: Shard, name: str) -> ShardFamily:
    """A named family of a shard, made once: relations share its memory. A collective."""
    if name not in h._families:
        h._families[name] = _family(h, name)
    return h._families[name]


def _family(h: Shard, name: str) -> ShardFamily:
    n, m = h.num_nodes, h.num_edges
    one = torch.ones(n, dtype=torch.int64, device=h.device)
    values = torch.ones(int(sum(h.node_counts) > 0), dtype=torch.int64, device=h.device)
    if name == "nodes":
        rows = resolve(Hypergraph(h.incidence.inner), name, "shard")
        return _made(rows, None, n, (one, values), h.node_batch, h.node_counts, h.node_ids)
    rows, plan = resolve(_with_ghosts(h), name, "shard"), h.incidence.plan
    if name == "edges":
        orders = _role_counts(rows, plan) or (h.touched_orders, h.distinct_orders)
        return _made(rows, plan, m, orders, h.edge_batch, h.edge_counts, h.edge_ids)
    plan = plan.behind(h.node_counts)
    both = torch.cat([one, h.touched_orders]), torch.unique(torch.cat([values, h.distinct_orders]))
    return _made(
        rows,
        plan,
        n + m,
        _role_counts(rows, plan) or both,
        torch.cat([h.node_batch, h.edge_batch]),
        [a + b for a, b in zip(h.node_counts, h.edge_counts, strict=True)],
        torch.cat([h.node_ids, sum(h.node_counts) + h.edge_ids]),
    )


def _with_ghosts(h: Shard) -> Hypergraph:
    """The incidences of this rank: own nodes, and the parts of own hyperedges and ghosts that lie on them."""
    weight = None if h.edge_weight is None else h.incidence.plan.known(h.edge_weight)
    return Hypergraph(
        h.incidence.inner,
        edge_weight=weight,
        incidence_weight=h.incidence_weight,
        roles=h.roles,
        num_roles=h.num_roles,
    )


def _role_counts(rows: FamilyRows, plan: Plan) -> tuple[Tensor, Tensor] | None:
    """Orders of rows with roles, ``[rows, R]``, and the distinct ones of all ranks; None without roles."""
    if rows.roles is None:
        return None
    size, R = rows.pairs.num_rows, rows.num_roles
    here = torch.bincount(rows.pairs.rows * R + rows.roles, minlength=size * R)
    counts = plan.counted(here.reshape(size, R))
    return counts, plan.ranks.distinct(counts[: plan.own])


def _made(
    rows: FamilyRows, plan: Plan | None, own: int, orders: tuple[Tensor, Tensor], batch: Tensor,
    counts: list[int], numbers: Tensor,
) -> ShardFamily:  # fmt: skip
    known = {f.name: getattr(rows, f.name) for f in fields(rows)} | {"batch": batch}
    order, values = orders
    return ShardFamily(
        **known, plan=plan, own=own, orders=order, values=values, counts=counts, numbers=numbers
    )
