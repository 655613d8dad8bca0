"""Which rank owns which node and which hyperedge."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from ehnn._utils.validation import as_count, as_index
from ehnn.hypergraph import Hypergraph

from .growing import grow

METHODS = ("auto", "mtkahypar", "growing", "contiguous")


@dataclass(frozen=True, eq=False)
class Partition:
    """An owner for every node and hyperedge. Any assignment is correct; a good one cuts little.

    Attributes:
        nodes: ``[num_nodes]`` rank of each node.
        edges: ``[num_edges]`` rank of each hyperedge.
        ranks: number of ranks, some of which may own nothing.
        method: how it was made.

    >>> Partition(torch.tensor([0, 0, 1]), torch.tensor([0, 1]), 2, "mine").ranks
    2
    """

    nodes: Tensor
    edges: Tensor
    ranks: int
    method: str = "given"


@dataclass(frozen=True)
class CutReport:
    """The cost of a partition.

    Attributes:
        ranks, method: of the partition.
        nodes, edges, incidences: of each rank; a rank stores the incidences of its nodes.
        imbalance: incidences of the largest rank over the mean.
        row_imbalance: the same for nodes and hyperedges together, on which memory depends.
        cut_edges: hyperedges with nodes on several ranks or away from their owner.
        ghosts: Σ over hyperedges of the ranks that hold nodes of it but do not own it. Each costs one row
            per layer and direction: with owners among the touched ranks it is the (λ − 1) connectivity.
        incidences_cut: share of incidences whose node and hyperedge have different owners.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [3, 4, 5]])
    >>> cut_report(h, partition(h, 2, "contiguous")).imbalance
    1.0
    """

    ranks: int
    method: str
    nodes: tuple[int, ...]
    edges: tuple[int, ...]
    incidences: tuple[int, ...]
    imbalance: float
    row_imbalance: float
    cut_edges: int
    ghosts: int
    incidences_cut: float

    def __str__(self) -> str:
        return (
            f"{self.ranks} ranks ({self.method}): imbalance {self.imbalance:.3f} "
            f"(rows {self.row_imbalance:.3f}), {self.cut_edges:,} of {sum(self.edges):,} hyperedges cut, "
            f"{self.ghosts:,} ghost rows, {100 * self.incidences_cut:.1f} % of incidences between ranks"
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def partition(
    h: Hypergraph, ranks: int, method: str = "auto", *, imbalance: float = 0.05, seed: int = 0
) -> Partition:
    """Owners for ``ranks`` ranks, balanced by rows and incidences up to ``imbalance``.

    The ``method`` ``"growing"`` is built in: it cuts the nodes in breadth-first order into pieces of equal
    weight, and then moves nodes to where their hyperedges are. ``"mtkahypar"`` uses Mt-KaHyPar, and ``seed``.
    ``"contiguous"`` only cuts the numbering into pieces. ``"auto"`` takes Mt-KaHyPar where it is installed. A
    hyperedge goes to the rank with most of its nodes.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [3, 4, 5]])
    >>> partition(h, 2, "contiguous").nodes.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    ranks = as_count(ranks, "ranks", 1)
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    if method == "auto":
        method = "mtkahypar" if installed() else "growing"
    if ranks == 1 or h.num_nodes == 0:
        nodes = torch.zeros(h.num_nodes, dtype=torch.int64)
    elif method == "mtkahypar":
        from .kahypar import kahypar

        nodes = kahypar(h, ranks, imbalance, seed)
    else:
        nodes = grow(h, ranks, imbalance, passes=8 if method == "growing" else 0)
    return Partition(nodes, edge_owners(h, nodes, ranks), ranks, method)


def given_partition(h: Hypergraph, nodes: Any, ranks: int, edges: Any = None) -> Partition:
    """A partition over ``ranks``: owners ``nodes [num_nodes]`` and, if not to be chosen, ``edges
    [num_edges]``.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [3, 4, 5]])
    >>> given_partition(h, [0, 0, 0, 1, 1, 1], ranks=2).edges.tolist()
    [0, 0, 1]
    """
    nodes = _owners(nodes, "nodes", h.num_nodes, ranks)
    if edges is None:
        return Partition(nodes, edge_owners(h, nodes, ranks), ranks)
    return Partition(nodes, _owners(edges, "edges", h.num_edges, ranks), ranks)


def _owners(values: Any, name: str, count: int, ranks: int) -> Tensor:
    part = as_index(values, name, ranks)
    if part.shape[0] != count:
        raise ValueError(f"{name} must have {count} entries, got {part.shape[0]}")
    return part


def edge_owners(h: Hypergraph, nodes: Tensor, ranks: int) -> Tensor:
    """``[num_edges]`` the rank with most nodes of each hyperedge; empty hyperedges take turns."""
    key, count = torch.unique(h.incidence.rows * ranks + nodes[h.incidence.index], return_counts=True)
    edge, owner = torch.div(key, ranks, rounding_mode="floor"), key % ranks
    # The last of each hyperedge has the largest count; ties go to the ranks in turn.
    order = torch.argsort(count * ranks + (owner + edge) % ranks, stable=True)
    order = order[torch.argsort(edge[order], stable=True)]
    last = torch.ones(order.shape[0], dtype=torch.bool)
    last[:-1] = edge[order][1:] != edge[order][:-1]
    owners = torch.arange(h.num_edges) % ranks
    owners[edge[order][last]] = owner[order][last]
    return owners


def cut_report(h: Hypergraph, partition: Partition) -> CutReport:
    """Balance and cut of a partition of ``h``.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [3, 4, 5]])
    >>> cut_report(h, given_partition(h, [0, 0, 0, 1, 1, 1], ranks=2)).cut_edges
    1
    """
    ranks, edge = partition.ranks, h.incidence.rows
    node_rank, edge_rank = partition.nodes[h.incidence.index], partition.edges[edge]
    away = node_rank != edge_rank
    ghosts = torch.unique(edge[away] * ranks + node_rank[away])
    incidences = torch.bincount(node_rank, minlength=ranks)
    nodes, edges = (torch.bincount(p, minlength=ranks) for p in (partition.nodes, partition.edges))
    return CutReport(
        ranks,
        partition.method,
        tuple(nodes.tolist()),
        tuple(edges.tolist()),
        tuple(incidences.tolist()),
        _imbalance(incidences),
        _imbalance(nodes + edges),
        torch.unique(edge[away]).shape[0],
        ghosts.shape[0],
        float(away.double().mean()) if away.numel() else 0.0,
    )


def _imbalance(load: Tensor) -> float:
    return float(load.max() / load.double().mean()) if int(load.sum()) else 1.0


def installed() -> bool:
    """Whether Mt-KaHyPar can be used."""
    from importlib.util import find_spec

    return find_spec("mtkahypar") is not None
