"""The data type of the library: a hypergraph (V, E, X)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ehnn._utils.cached import cached_tensors, plain_tensors
from ehnn._utils.validation import as_names, as_permutation, as_rows, short

from .display import describe, same_content
from .features import family_features
from .pairs import SparsePattern
from .products import MAX_PAIRS
from .roles import check_roles
from .weighted import check_finite

if TYPE_CHECKING:
    from ehnn.overlap import Overlap
    from ehnn.overlap.families import Family

_STRUCTURE = {"incidence", "node_batch", "edge_batch", "num_members", "_overlaps"}
_RELATIONS = {"roles", "num_roles", "edge_weight", "incidence_weight"}  # what overlaps are made of


@dataclass(frozen=True, eq=False, repr=False)
class Hypergraph:
    """Nodes, hyperedges (sets of nodes of any size), and their features, labels, weights, roles and names.

    A Hypergraph cannot be changed; `replace` returns a copy.

    Build one with `from_edges`, `from_directed` or `from_incidence`; batch several with `ehnn.batch`. A batch
    is a Hypergraph too: the disjoint union of its members, in which ``node_batch`` and ``edge_batch`` say
    which member each node and hyperedge belongs to. Empty hyperedges, isolated nodes, repeated
    hyperedges, zero nodes and zero hyperedges are allowed. A hyperedge is a *set*: an incidence that is
    given twice counts once, and it is a ValueError to give it two different weights or roles.

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
        edge_weight: ``[num_edges]`` finite numbers, or None.
        incidence_weight: ``[num_incidences]`` finite numbers in the order of ``index``, or None.
        incidence_x: ``[num_incidences, d_i]`` features of the incidences in the order of ``index``, or None.
        roles: ``[num_incidences]`` int64 in the order of ``index``: the role of the node in the hyperedge,
            from 0; None if hyperedges are plain sets. At most `MAX_ROLES` different ones.
        num_roles: the number of roles, of which not all need to occur; 1 without roles.
        node_names, edge_names: one name per node / hyperedge, where the source had them.
        node_batch, edge_batch: ``[num_nodes]``, ``[num_edges]`` member of each.
        num_members: number of hypergraphs in the batch; 1 for a single one.
    """

    incidence: SparsePattern
    x: Tensor | None = None
    edge_x: Tensor | None = None
    y: Tensor | None = None
    edge_weight: Tensor | None = None
    incidence_weight: Tensor | None = None
    incidence_x: Tensor | None = None
    roles: Tensor | None = None
    num_roles: int = None  # type: ignore[assignment]  # one more than the largest role where not given
    node_names: tuple[Hashable, ...] | None = None
    edge_names: tuple[Hashable, ...] | None = None
    node_batch: Tensor = None  # type: ignore[assignment]  # zeros where not given
    edge_batch: Tensor = None  # type: ignore[assignment]
    num_members: int = 1
    _overlaps: dict[Any, Overlap] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.incidence, SparsePattern):
            raise ValueError(
                f"incidence must be a SparsePattern, got {short(self.incidence)}; use Hypergraph.from_edges, "
                "from_directed or from_incidence"
            )
        n, m, nnz = self.num_nodes, self.num_edges, self.num_incidences
        store = {
            "x": as_rows(self.x, "x", n, "node", (2,)),
            "edge_x": as_rows(self.edge_x, "edge_x", m, "hyperedge", (2,)),
            "y": as_rows(self.y, "y", n, "node", (1, 2)),
            "edge_weight": as_rows(self.edge_weight, "edge_weight", m, "hyperedge", (1,)),
            "incidence_weight": as_rows(self.incidence_weight, "incidence_weight", nnz, "incidence", (1,)),
            "incidence_x": as_rows(self.incidence_x, "incidence_x", nnz, "incidence", (2,)),
            **check_roles(self.roles, self.num_roles, nnz),
            "node_names": as_names(self.node_names, "node_names", n),
            "edge_names": as_names(self.edge_names, "edge_names", m),
            "node_batch": self._batch_vector(self.node_batch, n),
            "edge_batch": self._batch_vector(self.edge_batch, m),
        }
        for name, value in store.items():
            if isinstance(value, Tensor) and value.device != self.device:
                value = value.to(self.device)
            object.__setattr__(self, name, value)
        check_finite("edge_weight", self.edge_weight, self._edge_in_words)
        check_finite("incidence_weight", self.incidence_weight, self._incidence_in_words)

    def _edge_in_words(self, e: int) -> str:
        return f"hyperedge {e if self.edge_names is None else short(self.edge_names[e])}"

    def _incidence_in_words(self, row: int) -> str:
        v, e = int(self.incidence.index[row]), int(self.incidence.rows[row])
        node = v if self.node_names is None else short(self.node_names[v])
        return f"node {node} in {self._edge_in_words(e)}"

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
        roles: Iterable[Iterable[int]] | None = None,
        node_names: Sequence[Hashable] | None = None,
        edge_names: Sequence[Hashable] | None = None,
    ) -> Hypergraph:
        """A hypergraph from hyperedges given as collections of node numbers (from 0).

        ``num_nodes`` is taken from the rows of ``x``, ``y`` or ``node_names`` if not given, and only
        then from the largest number seen. Nodes with names instead of numbers: `ehnn.io.from_named_edges`.
        ``roles`` has the nesting of ``edges``: the role of each node in its hyperedge, from 0.
        """
        from .build import from_edges

        attributes = {"x": x, "edge_x": edge_x, "y": y, "edge_weight": edge_weight}
        attributes |= {"node_names": node_names, "edge_names": edge_names}
        return from_edges(edges, num_nodes, roles, attributes)

    @classmethod
    def from_directed(
        cls,
        edges: Iterable[tuple[Iterable[int], Iterable[int]]],
        num_nodes: int | None = None,
        x: Any = None,
        edge_x: Any = None,
        y: Any = None,
        **attributes: Any,
    ) -> Hypergraph:
        """A hypergraph from directed hyperedges (tail, head), two collections of node numbers each.

        Nodes of a tail have role 0, nodes of a head role 1. A node in both has role 2, so that it still has
        one role. Either side may be empty. The other arguments are those of `from_edges`.

        >>> h = Hypergraph.from_directed([([0, 1], [2]), ([2], [3])])
        >>> h.index.tolist(), h.roles.tolist()
        ([[0, 1, 2, 2, 3], [0, 0, 0, 1, 1]], [0, 0, 1, 0, 1])
        """
        from .roles import sides

        nodes, roles, count = sides(edges)
        h = cls.from_edges(nodes, num_nodes, x, edge_x, y, roles=roles, **attributes)
        return h.replace(num_roles=count)

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
        roles: Any = None,
        node_names: Sequence[Hashable] | None = None,
        edge_names: Sequence[Hashable] | None = None,
    ) -> Hypergraph:
        """A hypergraph from its incidences.

        ``incidence`` is one of: a 2 × nnz array of *integers*, (node, hyperedge) in each column; a dense
        ``[num_nodes, num_edges]`` matrix (numpy or torch); a scipy sparse matrix; a torch sparse COO or
        CSR tensor. Entries of a matrix other than 1 become incidence weights. An integer array with two
        rows is always read as an index; give a two-node dense matrix as bool or float. ``incidence_weight``
        and ``roles`` have one entry per incidence, in the order in which the incidences are given. An
        incidence that is given twice counts once; with two weights or two roles it is a ValueError.
        """
        from .build import from_incidence

        attributes = {"x": x, "edge_x": edge_x, "y": y, "edge_weight": edge_weight}
        attributes |= {"node_names": node_names, "edge_names": edge_names}
        of_pairs = {"incidence_weight": incidence_weight, "roles": roles}
        return from_incidence(incidence, num_nodes, num_edges, of_pairs, attributes)

    # ------------------------------------------------------------------ shape

    @property
    def num_nodes(self) -> int:
        """Number of nodes: stored, isolated ones included."""
        return self.incidence.num_cols

    @property
    def num_edges(self) -> int:
        """Number of hyperedges, empty ones included."""
        return self.incidence.num_rows

    @property
    def num_incidences(self) -> int:
        """Number of (node, hyperedge) pairs."""
        return len(self.incidence)

    @property
    def device(self) -> torch.device:
        """The device of the incidences and of all attributes."""
        return self.incidence.ptr.device

    @cached_tensors
    def _derived(self) -> dict[Any, Any]:
        """Values that models have computed from this hypergraph, features included: a cache."""
        return {}

    @cached_tensors
    def orders(self) -> Tensor:
        """``[num_edges]`` number of nodes of each hyperedge."""
        return self.incidence.lengths

    @cached_tensors
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
        ``"incidences"``: ``incidence_x``.
        """
        return family_features(self, family)

    # ------------------------------------------------------------------ relations

    def overlap(
        self, source: Family = "nodes", target: Family = "edges", max_pairs: int = MAX_PAIRS
    ) -> Overlap:
        """Which source hyperedges meet which target hyperedges, and in how many nodes.

        A family is ``"nodes"``, ``"edges"``, ``"all"`` (nodes, then hyperedges), ``"incidences"`` (hyperedges
        with one node marked), ``"graph"`` (as target: one empty hyperedge per batch member, which makes a
        layer invariant), a list of candidate hyperedges, or another Hypergraph over the same nodes. Named
        families are computed once and kept. More than ``max_pairs`` possible pairs are refused.
        """
        if not (isinstance(source, str) and isinstance(target, str)):
            from ehnn.overlap import overlap

            return overlap(self, source, target, max_pairs)
        if (source, target) not in self._overlaps:
            self._find(source, target, max_pairs)
        return self._overlaps[source, target]

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _find(self, source: str, target: str, max_pairs: int) -> None:
        """Find and keep the overlap of two named families; a compiler does not look into it."""
        from ehnn.overlap import overlap

        with plain_tensors():
            self._overlaps[source, target] = overlap(self, source, target, max_pairs)

    # ------------------------------------------------------------------ new hypergraphs from old

    def replace(self, **changes: Any) -> Hypergraph:
        """A copy with some attributes changed; the structure is shared, and the overlaps unless roles change.

        Roles and weights of incidences are in the order of ``index``.
        """
        known = {f.name for f in dataclasses.fields(self)} - _STRUCTURE
        unknown = set(changes) - known
        if unknown:
            raise ValueError(f"replace got {sorted(unknown)}; it can change {sorted(known)}")
        if "roles" in changes:
            changes.setdefault("num_roles", None)
        if any(changes[name] is not getattr(self, name) for name in _RELATIONS & set(changes)):
            changes["_overlaps"] = {}
        return dataclasses.replace(self, **changes)

    def _map(
        self, fn: Callable[[Tensor], Tensor], incidence: SparsePattern, overlaps: dict[Any, Overlap]
    ) -> Hypergraph:
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
        return same_content(self, other)

    def __hash__(self) -> int:
        return hash((self.num_nodes, self.num_edges, self.num_incidences))

    def __repr__(self) -> str:
        return describe(self)
