"""The part of a hypergraph that one rank holds."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ehnn._utils.cached import plain_tensors
from ehnn._utils.validation import as_count, as_index, as_rows
from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.hypergraph.pairs import arange_like, check_sorted, pairs_from_coo, pairs_from_sorted
from ehnn.hypergraph.products import MAX_PAIRS
from ehnn.hypergraph.roles import check_roles
from ehnn.overlap.families import Family

from .build import sharded_overlap
from .families import ShardFamily
from .owners import Partition
from .pairs import PushPairs
from .plan import make_plan
from .ranks import Ranks
from .relation import ShardedOverlap

_ROWS = {"x": "node_ids", "y": "node_ids", "edge_x": "edge_ids", "edge_weight": "edge_ids"}
_PAIRS = ("roles", "incidence_weight")
"""Kept for each incidence."""
_DIMS = {"x": (2,), "y": (1, 2), "edge_x": (2,), "edge_weight": (1,)}
_NEEDED = (
    "node_ids", "edge_ids", "ptr", "index", "ghost_owner", "ghost_row", "touched_orders", "node_batch",
    "edge_batch", "num_members",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Shard(Hypergraph):
    """Own nodes and own hyperedges of one rank; a `Hypergraph` to every model that asks it for overlaps.

    ``num_nodes``, ``num_edges``, features, labels and batch vectors are those of the own rows, ``orders`` and
    ``degrees`` are true, and ``num_incidences`` counts the incidences of own nodes, which are the ones that
    are stored here, with their roles and weights. Sums over a relation reach the other ranks, so all ranks
    run the same model together; see `ehnn.parallel.backward` for gradients.

    Attributes:
        ranks: the ranks of the run.
        node_ids, edge_ids: ``[num_nodes]``, ``[num_edges]`` numbers in the whole hypergraph, ascending.
        touched_orders: true orders of the own hyperedges and then of the ghosts.
        distinct_orders: the orders that occur on any rank.
        node_counts, edge_counts: nodes and hyperedges of every rank.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [3, 4, 5]])
    >>> part = shard(h, ehnn.parallel.partition(h, 1, "contiguous"), Ranks())  # one rank alone
    >>> part.node_ids.tolist(), part.node_counts
    ([0, 1, 2, 3, 4, 5], [6])
    """

    incidence: PushPairs
    ranks: Ranks = None  # type: ignore[assignment]
    node_ids: Tensor = None  # type: ignore[assignment]
    edge_ids: Tensor = None  # type: ignore[assignment]
    touched_orders: Tensor = None  # type: ignore[assignment]
    distinct_orders: Tensor = None  # type: ignore[assignment]
    node_counts: list[int] = None  # type: ignore[assignment]
    edge_counts: list[int] = None  # type: ignore[assignment]
    _families: dict[str, ShardFamily] = field(default_factory=dict)

    @property
    def device(self) -> torch.device:
        return self.incidence.inner.ptr.device

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Shard:
        """This shard on another device, where overlaps are computed again: all ranks move together."""
        moved = super().to(device, non_blocking)
        assert isinstance(moved, Shard)
        return self if moved is self else dataclasses.replace(moved, _families={}, _overlaps={})

    def replace(self, **changes: Any) -> Shard:
        """`Hypergraph.replace`, for a shard."""
        changed = super().replace(**changes)
        assert isinstance(changed, Shard)
        same = changed._overlaps is self._overlaps
        return changed if same else dataclasses.replace(changed, _families={})

    def overlap(
        self, source: Family = "nodes", target: Family = "edges", max_pairs: int = MAX_PAIRS
    ) -> ShardedOverlap:
        """The relation of two named families on this rank; the first call is a collective."""
        if not (isinstance(source, str) and isinstance(target, str)):
            raise ValueError("a shard knows the families 'nodes', 'edges', 'all' and 'graph' by name only")
        if (source, target) not in self._overlaps:
            with plain_tensors():
                self._overlaps[source, target] = sharded_overlap(self, source, target, max_pairs)
        return self._overlaps[source, target]  # type: ignore[return-value]


def cut(h: Hypergraph, partition: Partition, rank: int) -> dict[str, Tensor]:
    """The tensors of one rank's shard: what `join` needs, and what a shard file holds.

    Incidences are kept by the owner of their node. Hyperedges of other ranks with nodes here are ghosts,
    sorted by owner and then by their number there.
    """
    nodes, edges = partition.nodes, partition.edges
    node_ids, edge_ids = (nodes == rank).nonzero().squeeze(1), (edges == rank).nonzero().squeeze(1)
    here = nodes[h.incidence.index] == rank
    node, edge = h.incidence.index[here], h.incidence.rows[here]
    place = _numbers_within(edges)
    touched = torch.unique(edge[edges[edge] != rank])
    touched = touched[torch.argsort(edges[touched], stable=True)]  # places ascend with numbers inside a rank
    local = torch.zeros(h.num_edges, dtype=torch.int64)
    local[edge_ids] = arange_like(edge_ids)
    local[touched] = edge_ids.shape[0] + arange_like(touched)
    rows = edge_ids.shape[0] + touched.shape[0]
    star, order = pairs_from_coo(local[edge], _numbers_within(nodes)[node], rows, node_ids.shape[0], True)
    tensors = {
        "node_ids": node_ids,
        "edge_ids": edge_ids,
        "ptr": star.ptr,
        "index": star.index,
        "ghost_owner": edges[touched],
        "ghost_row": place[touched],
        "touched_orders": h.orders[torch.cat([edge_ids, touched])],
        "node_batch": h.node_batch[node_ids],
        "edge_batch": h.edge_batch[edge_ids],
        "num_members": torch.tensor(h.num_members),
    }
    ids = {"node_ids": node_ids, "edge_ids": edge_ids}
    kept = {name: (getattr(h, name), ids[rows]) for name, rows in _ROWS.items()}
    pairs = here.nonzero().squeeze(1)
    pairs = pairs if order is None else pairs[order]
    kept |= {name: (getattr(h, name), pairs) for name in _PAIRS}
    if h.roles is not None:
        tensors["num_roles"] = torch.tensor(h.num_roles)
    return tensors | {name: value[index] for name, (value, index) in kept.items() if value is not None}


def _numbers_within(part: Tensor) -> Tensor:
    """The number of each item among those of its part."""
    order = torch.argsort(part, stable=True)
    counts = torch.bincount(part)
    start = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    number = torch.empty_like(order)
    number[order] = arange_like(order) - start[part[order]]
    return number


def check(tensors: dict[str, Tensor], rank: int, ranks: int) -> None:
    """A ValueError if tensors that were read from a file are not those of a shard as `cut` makes them."""
    for name in _NEEDED:
        if name not in tensors:
            raise ValueError(f"the tensor {name} is missing")
        if tensors[name].dtype != torch.int64 or tensors[name].dim() != (name != "num_members"):
            raise ValueError(f"{name} is {tensors[name].dtype} of shape {tuple(tensors[name].shape)}")
    nodes, own, ghosts = (tensors[name].shape[0] for name in ("node_ids", "edge_ids", "ghost_owner"))
    members = as_count(int(tensors["num_members"]), "num_members", 1)
    for name, size in (("node_batch", members), ("edge_batch", members), ("ghost_owner", ranks)):
        as_index(tensors[name], name, size)
    for name in ("node_ids", "edge_ids", "ghost_row", "touched_orders"):
        as_index(tensors[name], name)
    rows = {"touched_orders": own + ghosts, "ghost_row": ghosts, "ptr": own + ghosts + 1}
    for name, count in (rows | {"node_batch": nodes, "edge_batch": own}).items():
        if tensors[name].shape[0] != count:
            raise ValueError(f"{name} must have {count} entries, got {tensors[name].shape[0]}")
    owner = tensors["ghost_owner"]
    if bool((owner == rank).any()) or bool((owner.diff() < 0).any()):
        raise ValueError("ghost_owner must ascend and name other ranks only")
    for name in ("node_ids", "edge_ids"):
        if bool((tensors[name].diff() <= 0).any()):
            raise ValueError(f"{name} must ascend")
    for name, dims in _DIMS.items():
        count = tensors[_ROWS[name]].shape[0]
        as_rows(tensors.get(name), name, count, "row", dims)
    check_sorted(tensors["ptr"], tensors["index"], nodes)
    incidences = tensors["index"].shape[0]
    as_rows(tensors.get("incidence_weight"), "incidence_weight", incidences, "incidence", (1,))
    if "roles" in tensors:
        check_roles(tensors["roles"], as_count(int(tensors.get("num_roles", 0)), "num_roles", 1), incidences)


def join(tensors: dict[str, Tensor], ranks: Ranks) -> Shard:
    """The `Shard` of this rank from the tensors of `cut`. A collective: ranks agree on who sends what."""
    own = tensors["edge_ids"].shape[0]
    star: SparsePattern = pairs_from_sorted(tensors["ptr"], tensors["index"], tensors["node_ids"].shape[0])
    plan = make_plan(ranks, own, tensors["ghost_owner"], tensors["ghost_row"])
    orders = tensors["touched_orders"]
    more = ("node_ids", "edge_ids", "touched_orders", "node_batch", "edge_batch")
    rows: dict[str, Any] = {name: tensors[name] for name in (*more, *_ROWS, *_PAIRS) if name in tensors}
    if "roles" in tensors:
        rows["num_roles"] = int(tensors["num_roles"])
    return Shard(
        PushPairs(star, plan, orders[:own]),
        num_members=int(tensors["num_members"]),
        ranks=ranks,
        distinct_orders=ranks.distinct(orders[:own]),
        node_counts=ranks.counts(star.num_cols),
        edge_counts=ranks.counts(own),
        **rows,
    )


def shard(h: Hypergraph, partition: Partition, ranks: Ranks) -> Shard:
    """This rank's shard of a hypergraph that every rank has in memory, by ``partition``; ``ranks`` is from
    `start`.

    For large ones see `load_shard`.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [3, 4, 5]])
    >>> part = shard(h, ehnn.parallel.partition(h, 1, "contiguous"), Ranks())  # one rank alone
    >>> part.num_nodes, part.num_edges
    (6, 3)
    """
    if partition.ranks != ranks.size:
        raise ValueError(f"the partition is for {partition.ranks} ranks, but {ranks.size} are running")
    sizes = (partition.nodes.shape[0], partition.edges.shape[0])
    if sizes != (h.num_nodes, h.num_edges):
        raise ValueError(f"the partition is of {sizes[0]} nodes and {sizes[1]} hyperedges, but h is {h!r}")
    return join(cut(h, partition, ranks.rank), ranks)
