"""What is kept of the nodes of fit: their labels and spectral coordinates, found again by name or number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ehnn.hypergraph import Hypergraph

from ..labels import plain
from .node_table import incidence_matrix
from .outputs import Output

Array = np.ndarray
_SAME = 0.5
"""Share of the hyperedges that must be the same sets for nodes without names to count as the same."""


@dataclass(frozen=True)
class FitNodes:
    """The nodes that fit has seen.

    In another hypergraph they are found by name; where fit had no names, names that are whole numbers are
    theirs. Where fit had names that are whole numbers, numbers are those names, unless more sets are the same
    by position. Without names, numbers are taken for the same nodes where at least half of the hyperedges (of
    the smaller hypergraph) are the same sets of numbers; otherwise every node is new.

    Attributes:
        names: of the nodes; None: numbers.
        target: ``[nodes]`` encoded labels.
        spectral: ``[nodes, rank]``; None where no member reads it.
        sets: ``[hyperedges]`` int64: a hash of each set of nodes.
        groups: names of the hyperedges; None: they are found as sets of nodes.
    """

    names: tuple[Any, ...] | None
    target: Array
    spectral: Array | None
    sets: Array
    groups: tuple[Any, ...] | None = None

    @classmethod
    def of(cls, h: Hypergraph, target: Array, spectral: Array | None) -> FitNodes:
        return cls(h.node_names, target, spectral, set_hashes(h), _distinct(h.edge_names))

    def places(self, h: Hypergraph) -> Array:
        """``[num_nodes]``: the number in fit of each node of ``h``, -1 where it is new."""
        if self.names is not None and h.node_names is not None:
            if self.names == h.node_names:  # also where a name comes twice
                return np.arange(h.num_nodes)
            number = {plain(name): i for i, name in enumerate(self.names)}
            return np.array([number.get(plain(name), -1) for name in h.node_names], np.int64)
        if (named := _as_numbers(h.node_names)) is not None:
            return np.where((named >= 0) & (named < len(self.target)), named, -1)
        numbers = np.arange(h.num_nodes)
        shared = self._shared(h, numbers)
        if (own := _as_numbers(self.names)) is not None:
            number = {name: i for i, name in enumerate(own.tolist())}
            named = np.array([number.get(i, -1) for i in range(h.num_nodes)], np.int64)
            if self._shared(h, np.where(named >= 0, named, len(self.target) + numbers)) >= shared:
                return named
        least = min(len(np.unique(self.sets)), len(np.unique(set_hashes(h))))
        if shared < _SAME * least or (not shared and h.num_nodes != len(self.target)):
            return np.full(h.num_nodes, -1)
        return np.where(numbers < len(self.target), numbers, -1)

    def _shared(self, h: Hypergraph, numbers: Array) -> int:
        """How many sets of fit are in ``h``, whose nodes have these ``numbers`` in fit."""
        return int(np.intersect1d(self.sets, set_hashes(h, numbers)).size)

    def written_otherwise(self, h: Hypergraph) -> tuple[Any, Any] | None:
        """A name of fit and the same one of ``h`` as another type, where no name of ``h`` is one of fit."""
        if self.names is None or h.node_names is None or (self.places(h) >= 0).any():
            return None
        mine = {str(plain(name)): plain(name) for name in self.names}
        pairs = ((mine.get(str(name)), name) for name in map(plain, h.node_names))
        return next((pair for pair in pairs if pair[0] is not None), None)

    def group_places(self, h: Hypergraph) -> Array:
        """``[num_edges]``: the number in fit of each hyperedge of ``h``, -1 where it is new.

        They are found by name, or else as sets of known nodes.
        """
        if self.groups is not None and h.edge_names is not None:
            number = {plain(name): i for i, name in enumerate(self.groups)}
            return np.array([number.get(plain(name), -1) for name in h.edge_names], np.int64)
        if not len(self.sets):
            return np.full(h.num_edges, -1)
        nodes = self.places(h)
        hashes = set_hashes(h, np.where(nodes >= 0, nodes, len(self.target) + np.arange(h.num_nodes)))
        order = np.argsort(self.sets, kind="stable")
        found = order[np.minimum(np.searchsorted(self.sets[order], hashes), len(order) - 1)]
        return np.where(self.sets[found] == hashes, found, -1)

    def columns(self, groups: Array, incidence: Any) -> Any:
        """``[num_nodes, hyperedges of fit]``: the incidence matrix with the hyperedges of fit as its columns.

        ``groups`` is that of `group_places`; a hyperedge that is not there is a column of zeros. A matrix
        that has the hyperedges several times (once for each role) gives those of fit as often.
        """
        from scipy.sparse import block_diag, csr_matrix

        known = np.flatnonzero(groups >= 0)
        shape = (len(groups), len(self.sets))
        chosen = csr_matrix((np.ones(len(known), np.float32), (known, groups[known])), shape)
        if len(groups):
            chosen = block_diag([chosen] * (incidence.shape[1] // len(groups)), format="csr")
        return (incidence @ chosen).tocsr()

    def labels(self, place: Array, output: Output) -> Array:
        """Labels known of nodes with the numbers ``place`` in fit (encoded); -1: a new node."""
        if not len(self.target):
            return self.target
        return output.hide(self.target[np.maximum(place, 0)], place >= 0)

    def join(
        self, place: Array, target: Array, output: Output, incidence: Any
    ) -> tuple[dict[str, Array], Array]:
        """Learned blocks of nodes with the numbers ``place`` in fit, and which (bool) have known co-members.

        ``target`` are the known labels.
        """
        labelled = output.labelled(target).astype(np.float32)
        known = (place >= 0) | (np.asarray(incidence @ (incidence.T @ labelled)) > 0)
        learned = {}
        if self.spectral is not None:
            learned["spectral"] = _extended(self.spectral, place, incidence)
        return learned, known

    def coordinates(self, place: Array, h: Hypergraph) -> Array:
        """``[num_nodes, rank]`` spectral coordinates of nodes with the numbers ``place`` in fit."""
        assert self.spectral is not None
        return _extended(self.spectral, place, abs(incidence_matrix(h)))

    def arrays(self) -> dict[str, Array]:
        """What is saved of it, beside ``names``."""
        kept = {"target": self.target, "sets": self.sets}
        return kept if self.spectral is None else kept | {"spectral": self.spectral}

    @classmethod
    def restore(cls, names: Any, arrays: Mapping[str, Array], groups: Any = None) -> FitNodes:
        """Inverse of `arrays`."""
        return cls(
            None if names is None else tuple(names), arrays["target"], arrays.get("spectral"), arrays["sets"],
            None if groups is None else tuple(groups),
        )  # fmt: skip


def _extended(spectral: Array, place: Array, incidence: Any) -> Array:
    r"""Coordinates of all nodes, those of new ones by the eigenvalue equation that known ones fulfil:

    .. math:: X_i = \frac{1}{\lambda} \frac{1}{d_i + \bar d}
              \sum_{e \ni i} \frac{1}{b_e + \bar b} \sum_{j \in e} X_j

    with the degrees d and orders b among known nodes, and each eigenvalue from the known coordinates X. Where
    the hyperedges of known nodes are those of fit, a new node gets what it would have had there (Nyström).
    """
    seen = place >= 0
    rows = np.where(seen[:, None], spectral[np.maximum(place, 0)], 0.0).astype(np.float32)
    if seen.all() or not seen.any() or not spectral.shape[1]:
        return rows
    known = incidence[np.flatnonzero(seen)]
    kept = np.asarray((known != 0).sum(0)).ravel() >= 2
    orders = np.asarray(known.sum(0)).ravel()
    degrees = np.asarray(incidence @ kept.astype(np.float32)).ravel()
    of_groups = kept / np.maximum(orders + orders[kept].mean() if kept.any() else 1.0, 1e-12)
    of_rows = 1 / np.maximum(degrees + degrees[seen].mean(), 1e-12)
    found = of_rows[:, None] * np.asarray(incidence @ (of_groups[:, None] * (known.T @ rows[seen])))
    value = (found[seen] * rows[seen]).sum(0) / np.maximum((rows[seen] ** 2).sum(0), 1e-12)
    return np.where(seen[:, None], rows, found / np.maximum(value, 1e-6)).astype(np.float32)


def _as_numbers(names: tuple[Any, ...] | None) -> Array | None:
    """Names that are whole numbers; None where one is not, or there are none."""
    numbers = [plain(name) for name in names or ()]
    if not numbers or any(type(v) is not int or abs(v) >= 2**63 for v in numbers):
        return None
    return np.array(numbers, np.int64)


def _distinct(names: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """Names that can be saved and tell hyperedges apart, or None."""
    if names is None or len(set(names)) != len(names):
        return None
    return names if all(isinstance(plain(name), (str, int)) for name in names) else None


def set_hashes(h: Hypergraph, numbers: Array | None = None) -> Array:
    """``[num_edges]`` int64: equal for equal sets of node numbers (or of other ``numbers`` of the nodes)."""
    node, edge = h.index.numpy()
    node = node if numbers is None else numbers[node]
    mixed = (node.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    total = np.zeros(h.num_edges, np.uint64)
    np.add.at(total, edge, mixed)
    return total.view(np.int64)
