"""The noun: a hypergraph (V, E, X)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .kept import kept_property, plain_tensors
from .pairs import Pairs, arange_like
from .products import MAX_PAIRS
from .validate import as_index, as_names, as_rows

if TYPE_CHECKING:
    from ehnn.overlap import Family, Overlap

FAMILIES = ("nodes", "edges", "all")
_STRUCTURE = {"incidence", "node_batch", "edge_batch", "num_members", "_overlaps"}


@dataclass(frozen=True, eq=False, repr=False)
class Hypergraph:
    """An undirected hypergraph with any number of nodes, hyperedges and features. Frozen.

    Build one with `from_edges` or `from_incidence`; batch several with `ehnn.batch`. A batch is a
    Hypergraph too: the disjoint union of its members, with ``node_batch`` and ``edge_batch`` saying
    which member each node and hyperedge belongs to. Empty hyperedges, isolated nodes, repeated
    hyperedges, zero nodes and zero hyperedges are ordinary. A hyperedge is a *set*: an incidence
    given twice is merged (the first of its weights is kept).

    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]], num_nodes=5)
    >>> h
    Hypergraph(5 nodes, 2 hyperedges, 5 incidences, orders 2 to 3)
    >>> h.orders.tolist(), h.degrees.tolist()
    ([3, 2], [1, 1, 2, 1, 0])

    Attributes:
        incidence: the (hyperedge, node) pairs in both sorted orders.
        x: ``[num_nodes, d_v]`` node features, or None.
        edge_x: ``[num_edges, d_e]`` hyperedge features, or None.
        y: ``[num_nodes]`` or ``[num_nodes, c]`` node labels, or None.
        edge_weight: ``[num_edges]``, or None.
        incidence_weight: ``[num_incidences]`` in the order of ``index``, or None.
        node_names, edge_names: one name per node / hyperedge, where the source had them.
        node_batch, edge_batch: ``[num_nodes]``, ``[num_edges]`` member of each.
        num_members: number of hypergraphs in the batch; 1 for a single one.
    """

    incidence: Pairs
    x: Tensor | None = None
    edge_x: Tensor | None = None
    y: Tensor | None = None
    edge_weight: Tensor | None = None
    incidence_weight: Tensor | None = None
    node_names: tuple[Hashable, ...] | None = None
    edge_names: tuple[Hashable, ...] | None = None
    node_batch: Tensor = None  # type: ignore[assignment]  # zeros where not given
    edge_batch: Tensor = None  # type: ignore[assignment]
    num_members: int = 1
    _overlaps: dict[Any, Overlap] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, m, nnz = self.num_nodes, self.num_edges, self.num_incidences
        store = {
            "x": as_rows(self.x, "x", n, "node", (2,)),
            "edge_x": as_rows(self.edge_x, "edge_x", m, "hyperedge", (2,)),
            "y": as_rows(self.y, "y", n, "node", (1, 2)),
            "edge_weight": as_rows(self.edge_weight, "edge_weight", m, "hyperedge", (1,)),
            "incidence_weight": as_rows(self.incidence_weight, "incidence_weight", nnz, "incidence", (1,)),
            "node_names": as_names(self.node_names, "node_names", n),
            "edge_names": as_names(self.edge_names, "edge_names", m),
            "node_batch": self._batch_vector(self.node_batch, n),
            "edge_batch": self._batch_vector(self.edge_batch, m),
        }
        for name, value in store.items():
            if isinstance(value, Tensor) and value.device != self.device:
                value = value.to(self.device)
            object.__setattr__(self, name, value)

    def _batch_vector(self, vector: Tensor | None, size: int) -> Tensor:
        if vector is None:
            if self.num_members != 1:
                raise ValueError(f"node_batch and edge_batch are needed for num_members={self.num_members}")
            return torch.zeros(size, dtype=torch.int64, device=self.device)
        checked = as_rows(vector, "batch", size, "item", (1,))
        assert checked is not None
        return checked

    # ------------------------------------------------------------------ building

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[Iterable[int]],
        num_nodes: int | None = None,
        x: Any = None,
        edge_x: Any = None,
        y: Any = None,
        *,
        edge_weight: Any = None,
        node_names: Sequence[Hashable] | None = None,
        edge_names: Sequence[Hashable] | None = None,
    ) -> Hypergraph:
        """A hypergraph from hyperedges given as collections of node numbers (from 0).

        ``num_nodes`` is taken from the rows of ``x``, ``y`` or ``node_names`` if not given, and only
        then from the largest number seen. Nodes with names instead of numbers: `ehnn.io.from_named_edges`.
        """
        from .build import from_edges

        attributes = {"x": x, "edge_x": edge_x, "y": y, "edge_weight": edge_weight}
        return from_edges(edges, num_nodes, attributes | {"node_names": node_names, "edge_names": edge_names})

    @classmethod
    def from_incidence(
        cls,
        incidence: Any,
        num_nodes: int | None = None,
        num_edges: int | None = None,
        x: Any = None,
        edge_x: Any = None,
        y: Any = None,
        *,
        edge_weight: Any = None,
        incidence_weight: Any = None,
        node_names: Sequence[Hashable] | None = None,
        edge_names: Sequence[Hashable] | None = None,
    ) -> Hypergraph:
        """A hypergraph from its incidences.

        ``incidence`` is one of: a 2 × nnz array of *integers*, (node, hyperedge) in each column; a dense
        ``[num_nodes, num_edges]`` matrix (numpy or torch); a scipy sparse matrix; a torch sparse COO or
        CSR tensor. Entries of a matrix other than 1 become incidence weights. An integer array with two
        rows is always read as an index; give a two-node dense matrix as bool or float.
        """
        from .build import from_incidence

        attributes = {"x": x, "edge_x": edge_x, "y": y, "edge_weight": edge_weight}
        attributes |= {"node_names": node_names, "edge_names": edge_names}
        return from_incidence(incidence, num_nodes, num_edges, incidence_weight, attributes)

    # ------------------------------------------------------------------ shape

    @property
    def num_nodes(self) -> int:
        """Stored, never guessed from the largest number that occurs."""
        return self.incidence.num_cols

    @property
    def num_edges(self) -> int:
        """Hyperedges, empty ones included."""
        return self.incidence.num_rows

    @property
    def num_incidences(self) -> int:
        """(node, hyperedge) pairs."""
        return len(self.incidence)

    @property
    def device(self) -> torch.device:
        """Of the structure; features are on the same."""
        return self.incidence.ptr.device

    @kept_property
    def _derived(self) -> dict[Any, Any]:
        """What others have computed from this hypergraph, features included, and want to find again."""
        return {}

    @kept_property
    def orders(self) -> Tensor:
        """``[num_edges]`` number of nodes of each hyperedge."""
        return self.incidence.lengths

    @kept_property
    def degrees(self) -> Tensor:
        """``[num_nodes]`` number of hyperedges of each node."""
        return self.incidence.t_lengths

    @property
    def index(self) -> Tensor:
        """``[2, num_incidences]`` (node, hyperedge) in each column, sorted by hyperedge, then node."""
        return torch.stack([self.incidence.index, self.incidence.rows])

    def edges(self) -> list[list[int]]:
        """The hyperedges as lists of node numbers."""
        parts = torch.split(self.incidence.index.cpu(), self.orders.tolist())
        return [part.tolist() for part in parts]

    def features(self, family: str) -> Tensor:
        """Features of a family of hyperedges (a node is a hyperedge of order 1).

        ``"nodes"``: ``x``. ``"edges"``: ``edge_x``. ``"all"``: ``[num_nodes + num_edges, d_v + d_e]`` with
        the node features in the first d_v channels and the hyperedge features in the last d_e.
        """
        if family not in FAMILIES:
            raise ValueError(f"family must be one of {FAMILIES}, got {family!r}")
        if family == "all" and self.x is not None and self.edge_x is not None:
            pad = torch.nn.functional.pad
            return torch.cat([pad(self.x, (0, self.edge_x.shape[1])), pad(self.edge_x, (self.x.shape[1], 0))])
        if family == "all" and self.x is not None:
            return torch.cat([self.x, self.x.new_zeros(self.num_edges, self.x.shape[1])])
        if family == "all" and self.edge_x is not None:
            return torch.cat([self.edge_x.new_zeros(self.num_nodes, self.edge_x.shape[1]), self.edge_x])
        found = {"nodes": self.x, "edges": self.edge_x}.get(family)
        if found is None:
            missing = {"nodes": "x", "edges": "edge_x", "all": "x and edge_x"}[family]
            raise ValueError(f"this hypergraph has no features of {family!r}: {missing} is None")
        return found

    # ------------------------------------------------------------------ relations

    def overlap(
        self, source: Family = "nodes", target: Family = "edges", max_pairs: int = MAX_PAIRS
    ) -> Overlap:
        """Which source hyperedges meet which target hyperedges, and in how many nodes.

        A family is ``"nodes"``, ``"edges"``, ``"all"`` (nodes, then hyperedges), ``"graph"`` (as target:
        one empty hyperedge per batch member, which makes a layer invariant), a list of candidate
        hyperedges over the same nodes, or another Hypergraph over the same nodes. Named families are
        computed once and kept. More than ``max_pairs`` possible pairs are refused.
        """
        from ehnn.overlap import overlap

        if not (isinstance(source, str) and isinstance(target, str)):
            return overlap(self, source, target, max_pairs)
        if (source, target) not in self._overlaps:
            with plain_tensors():
                self._overlaps[source, target] = overlap(self, source, target, max_pairs)
        return self._overlaps[source, target]

    # ------------------------------------------------------------------ new hypergraphs from old

    def replace(self, **changes: Any) -> Hypergraph:
        """A copy with some attributes changed; the structure and its overlaps are shared."""
        known = {f.name for f in dataclasses.fields(self)} - _STRUCTURE
        unknown = set(changes) - known
        if unknown:
            raise ValueError(f"replace got {sorted(unknown)}; it can change {sorted(known)}")
        return dataclasses.replace(self, **changes)

    def _map(self, fn: Callable[[Tensor], Tensor], incidence: Pairs, overlaps: dict) -> Hypergraph:
        tensors = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        tensors = {k: fn(v) for k, v in tensors.items() if isinstance(v, Tensor)}
        return dataclasses.replace(self, incidence=incidence, _overlaps=overlaps, **tensors)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Hypergraph:
        """This hypergraph on another device, with its cached overlaps."""
        if isinstance(device, torch.dtype):
            raise ValueError(
                f"to takes a device, got {device}; features are cast by h.replace(x=h.x.to({device}))"
            )
        if torch.empty(0, device=device).device == self.device:
            return self
        overlaps = {k: v.to(device, non_blocking) for k, v in self._overlaps.items()}
        return self._map(
            lambda t: t.to(device, non_blocking=non_blocking),
            self.incidence.to(device, non_blocking),
            overlaps,
        )

    def pin_memory(self) -> Hypergraph:
        """This hypergraph in page-locked memory, for asynchronous copies to a GPU."""
        return self._map(lambda t: t.pin_memory(), self.incidence.pin_memory(), {})

    def permute_nodes(self, perm: Any) -> Hypergraph:
        """π·h: node v becomes node ``perm[v]``, with its features, labels and name."""
        from .build import permute

        return permute(self, as_permutation(perm, self.num_nodes), None)

    def permute_edges(self, perm: Any) -> Hypergraph:
        """Hyperedge e becomes hyperedge ``perm[e]``, with its features, weight and name."""
        from .build import permute

        return permute(self, None, as_permutation(perm, self.num_edges))

    def subhypergraph(self, nodes: Any, *, whole_edges: bool = False) -> Hypergraph:
        """The hypergraph on ``nodes`` (renumbered in the given order).

        Every hyperedge is cut down to these nodes and dropped if none remains; with ``whole_edges``
        only the hyperedges that lie inside ``nodes`` are kept.
        """
        from .build import subhypergraph

        return subhypergraph(self, nodes, whole_edges)

    def unbatch(self) -> list[Hypergraph]:
        """The members of a batch; a single hypergraph gives a list of one."""
        from .batching import unbatch

        return unbatch(self)

    # ------------------------------------------------------------------ comparison and display

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hypergraph):
            return NotImplemented
        if (self.num_nodes, self.num_edges) != (other.num_nodes, other.num_edges):
            return False
        mine, theirs = self._content(), other._content()
        return all(_same(mine[k], theirs[k]) for k in mine)

    def _content(self) -> dict[str, Any]:
        content = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        del content["_overlaps"], content["incidence"]
        return content | {"ptr": self.incidence.ptr, "index": self.incidence.index}

    def __hash__(self) -> int:
        return hash((self.num_nodes, self.num_edges, self.num_incidences))

    def __repr__(self) -> str:
        counts = {"node": self.num_nodes, "hyperedge": self.num_edges, "incidence": self.num_incidences}
        parts = [f"{count} {name}" + "s" * (count != 1) for name, count in counts.items()]
        if self.num_edges:
            low, high = (int(v) for v in torch.aminmax(self.orders))
            parts.append(f"order {low}" if low == high else f"orders {low} to {high}")
        if self.num_members != 1:
            parts.append(f"batch of {self.num_members}")
        for name in ("x", "edge_x", "y", "edge_weight", "incidence_weight"):
            value = getattr(self, name)
            if value is not None:
                parts.append(f"{name} {list(value.shape)} {str(value.dtype).removeprefix('torch.')}")
        if self.device.type != "cpu":
            parts.append(str(self.device))
        return f"Hypergraph({', '.join(parts)})"


def as_permutation(perm: Any, size: int) -> Tensor:
    """``perm`` as an int64 tensor that is a permutation of ``range(size)``."""
    perm = as_index(perm, "perm", size)
    if perm.shape[0] != size or not torch.equal(perm.sort().values, arange_like(perm)):
        raise ValueError(f"perm must be a permutation of {size} numbers, got {perm.tolist()[:10]}")
    return perm


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.dtype == b.dtype and a.device == b.device and torch.equal(a, b)
    return type(a) is type(b) and a == b
