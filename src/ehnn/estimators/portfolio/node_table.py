"""The columns that members read of the nodes of a hypergraph."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ehnn.hypergraph import Hypergraph

from .outputs import SALT, Output
from .spectral import right_vectors, spectral_features
from .votes import group_evidence, spread, votes

Array = np.ndarray
RANK = 32
"""Spectral features of the incidence matrix."""
SMALL, WIDE = 64, 256
"""Columns of features that trees read, and that networks read as they are; see `NodeTable`."""
_SMOOTHING = 0.3
"""α of TF-HNN."""
_NUMBERS = 15_000_000
"""Numbers of smoothed features that are held at most: larger ones are reduced to `WIDE` directions before."""
_PASSES = 5
"""Number of passes of `spread`; each pass hides one group of the known labels."""
_CELLS = 40_000_000
"""Most numbers in memory for `spread`. Larger tables use fewer passes; the largest have no such columns."""


class NodeTable:
    """Blocks of columns, a row for each node of ``h``; `with_known` sets the labels that the votes count.

    Blocks without labels: ``x`` (features of the node, and the mean of those of its hyperedges), ``small``
    (at most 64 columns of it), ``wide`` (what networks read), ``smooth`` (averages over co-members),
    ``degree``, ``spectral``, ``members`` (the incidence matrix). Blocks of known labels of other nodes:
    ``vote``, ``evidence``, ``spread``.

    Features of more than 256 columns, such as words, are smoothed as TF-HNN does it and then read as
    ``wide`` and as ``smooth``: singular vectors of them would lose the words that tell classes apart.
    With roles, ``degree`` counts each role, and ``members`` also has a column for each hyperedge and role.

    Args:
        h: on the CPU; weights of hyperedges and incidences are entries of the incidence matrix.
        learned: directions of features and spectral coordinates of the nodes from `learned` of another table;
            ``passes``: ``[num_nodes]`` as from `label_passes`.
    """

    def __init__(self, h: Hypergraph, learned: dict[str, Array] | None = None) -> None:
        self.h, self.given, self.rows = h, learned or {}, h.num_nodes
        self.output: Output | None = None
        self.cache: dict[str, Any] = {}
        self.labels: dict[str, Any] = {}

    def with_known(self, output: Output, target: Array, prior: Array) -> NodeTable:
        """The same rows with these known labels (encoded); other blocks are shared."""
        table = NodeTable(self.h, self.given)
        table.cache, table.output, table.labels = self.cache, output, {"target": target}
        table.labels["values"], table.labels["known"] = output.matrix(target)
        table.labels["prior"] = prior.astype(np.float32)
        return table

    @property
    def relation(self) -> Hypergraph:
        """The hypergraph whose nodes are the rows."""
        return self.h

    together = None
    """Group of each row; labels of a group are hidden together. None: every row is its own group."""

    @property
    def target(self) -> Array:
        """The known labels."""
        return self.labels["target"]

    def matrix(self, blocks: tuple[str, ...]) -> Any:
        """The blocks side by side; sparse if one of them is."""
        return joined([self.block(name) for name in blocks], self.rows)

    def block(self, name: str) -> Any:
        """``[rows, columns]`` of one block."""
        kept = self.labels if name in LABEL_BLOCKS else self.cache
        if name not in kept:
            kept[name] = getattr(self, f"_{name}")()
        return kept[name]

    @cached_property
    def incidence(self) -> Any:
        """``[nodes, hyperedges]`` csr matrix."""
        if "incidence" not in self.cache:
            self.cache["incidence"] = incidence_matrix(self.h)
        return self.cache["incidence"]

    @cached_property
    def by_role(self) -> Any:
        """``[nodes, (1 + roles) × hyperedges]`` csr matrix: all incidences, then those of each role."""
        from scipy.sparse import hstack

        if self.h.roles is None or self.h.num_roles == 1:
            return self.incidence
        if "by_role" not in self.cache:
            roles = self.h.roles.numpy()
            parts = [incidence_matrix(self.h, roles == r) for r in range(self.h.num_roles)]
            self.cache["by_role"] = hstack([self.incidence, *parts], format="csr")
        return self.cache["by_role"]

    # ------------------------------------------------------------------ blocks without labels

    @property
    def has_features(self) -> bool:
        return any(x is not None and x.shape[1] for x in (self.h.x, self.h.edge_x))

    def _members(self) -> Any:
        return self.given.get("members", self.by_role)

    def _x(self) -> Any:
        parts = [] if self.h.x is None else [self.h.x.numpy().astype(np.float32)]
        if self.h.edge_x is not None and self.h.edge_x.shape[1]:
            degree = np.maximum(np.asarray(self.incidence.sum(1)).ravel(), 1e-12)[:, None]
            parts.append(np.asarray(self.incidence @ self.h.edge_x.numpy().astype(np.float32)) / degree)
        if not parts:
            return np.zeros((self.rows, 0), np.float32)
        x = np.concatenate(parts, 1).astype(np.float32)
        if x.shape[1] > 64 and (x != 0).mean() < 0.1:
            from scipy.sparse import csr_matrix

            return csr_matrix(x)
        return x

    def _small(self) -> Array:
        return self._reduced("small", SMALL)

    @property
    def reads_smoothed(self) -> bool:
        """Whether networks read smoothed features in place of ``x``: it is wide, and not too large."""
        key = "directions.smoothed"  # fit decides, and rows of later hypergraphs follow; False in older files
        if key not in self.cache:
            wide, numbers = self.block("x").shape[1] > WIDE, self.rows * self.block("x").shape[1]
            self.cache[key] = self.given.get(key, np.array(wide and numbers <= _NUMBERS and not self.given))
        return bool(self.cache[key])

    def _wide(self) -> Array:
        return self._average() if self.reads_smoothed else self._reduced("wide", WIDE)

    def _reduced(self, name: str, rank: int) -> Array:
        x = self.block("x")
        if x.shape[1] <= rank:
            return x.toarray() if hasattr(x, "tocsr") else x
        key = f"directions.{name}"
        if key not in self.cache:
            self.cache[key] = self.given[key] if key in self.given else right_vectors(x, rank)
        return np.asarray(x @ self.cache[key], np.float32)

    def _smooth(self) -> Array:
        """One and two steps of TF-HNN's smoothing operator, beside the features themselves."""
        x = self.block("wide")
        if self.reads_smoothed:
            return x
        first = self._smoothed(x)
        return np.concatenate([x, first, self._smoothed(first)], 1)

    def _average(self) -> Array:
        """What TF-HNN reads: α x + α (1 − α) S x + (1 − α)² S² x."""
        x = self.block("x")
        x = x.toarray() if hasattr(x, "tocsr") else x
        first = self._smoothed(x)
        rest = 1 - _SMOOTHING
        return np.asarray(_SMOOTHING * (x + rest * first) + rest**2 * self._smoothed(first), np.float32)

    def _smoothed(self, x: Array) -> Array:
        """S x with S = D̂^{-1/2} (H B⁻¹ Hᵀ + I) D̂^{-1/2}."""
        order = np.maximum(np.asarray(self.incidence.sum(0)).ravel(), 1e-12)
        scale = (1 + np.asarray(self.incidence.sum(1)).ravel()).astype(np.float32)[:, None] ** -0.5
        mean = (self.incidence.T @ (scale * x)) / order[:, None].astype(np.float32)
        return np.asarray(scale * (self.incidence @ mean + scale * x), np.float32)

    def _degree(self) -> Array:
        node, edge = self.h.index.numpy()
        degree, order = self.h.degrees.numpy(), self.h.orders.numpy()
        total = np.bincount(node, order[edge], self.rows)
        largest, least = np.zeros(self.rows), np.full(self.rows, np.inf)
        np.maximum.at(largest, node, order[edge])
        np.minimum.at(least, node, order[edge])
        busy = np.bincount(edge, degree[node], self.h.num_edges) / np.maximum(order, 1)
        near = np.bincount(node, busy[edge], self.rows) / np.maximum(degree, 1)
        columns = (
            degree,
            total / np.maximum(degree, 1),
            largest,
            np.where(degree > 0, least, 0),
            total - degree,
            near,
        )
        first = np.log1p(np.stack(columns, 1))
        exact = np.stack([degree == k for k in range(4)], 1)
        return np.concatenate([first, exact, role_counts(self.h, node, self.rows)], 1).astype(np.float32)

    def _spectral(self) -> Array:
        if "spectral" in self.given:
            return self.given["spectral"]
        return spectral_features(self.incidence, RANK)

    # ------------------------------------------------------------------ blocks of known labels

    def _known(self) -> tuple[Array, Array, Array]:
        return self.labels["values"], self.labels["known"], self.labels["prior"]

    def _count(self) -> Array:
        share, total = votes(self.incidence, *self._known(), power=0.0)
        return np.concatenate([share, np.log1p(total)], 1).astype(np.float32)

    def _vote(self) -> Array:
        share, total = votes(self.incidence, *self._known(), power=1.0)
        return np.concatenate([share, np.log1p(total)], 1).astype(np.float32)

    def _evidence(self) -> Array:
        assert self.output is not None
        if self.output.kind != "classes":
            return np.zeros((self.rows, 0), np.float32)
        return group_evidence(self.incidence, *self._known()).astype(np.float32)

    def _spread(self) -> Array:
        values, known, prior = self._known()
        passes = min(_PASSES, _CELLS // max(1, values.size) - 1)
        key = "directions.spread"  # fit decides whether the block has columns
        if key not in self.cache:
            self.cache[key] = self.given.get(key, np.array(passes >= 2))
        if not self.cache[key]:
            return np.zeros((self.rows, 0), np.float32)
        passes = max(2, passes)
        drawn = self.given.get("passes", label_passes(self.rows))
        groups = np.where(known.any(1), drawn % passes, -1)
        return spread(self.incidence, values, known, prior, groups).astype(np.float32)


def label_passes(rows: int) -> Array:
    """``[rows]`` random integers: modulo the number of passes, the pass that hides the label of a row."""
    return np.random.default_rng(SALT).integers(0, 2**40, rows)


def passes_of(numbers: Array) -> Array:
    """`label_passes` of rows given by their number in `fit`; new rows (number -1) get 0."""
    drawn = label_passes(int(numbers.max(initial=0)) + 1)
    return np.where(numbers >= 0, drawn[np.maximum(numbers, 0)], 0)


LABEL_BLOCKS = ("count", "vote", "evidence", "spread")


def joined(parts: list[Any], rows: int) -> Any:
    """Blocks side by side; sparse if one of them is."""
    if any(hasattr(part, "tocsr") for part in parts):
        from scipy.sparse import csr_matrix, hstack

        scaled = [part if hasattr(part, "tocsr") else csr_matrix(part) for part in parts]
        return hstack(scaled, format="csr", dtype=np.float32)
    return np.concatenate(parts, 1) if parts else np.zeros((rows, 0), np.float32)


def role_counts(h: Hypergraph, owner: Array, rows: int) -> Array:
    """``[rows, 2 × roles]``: logarithms and shares of the roles of the incidences of each owner.

    ``owner [num_incidences]``; no columns without roles.
    """
    if h.roles is None or h.num_roles == 1:
        return np.zeros((rows, 0), np.float32)
    size = rows * h.num_roles
    count = np.bincount(owner * h.num_roles + h.roles.numpy(), minlength=size).reshape(rows, -1)
    share = count / np.maximum(count.sum(1, keepdims=True), 1)
    return np.concatenate([np.log1p(count), share], 1).astype(np.float32)


def incidence_matrix(h: Hypergraph, chosen: Array | None = None) -> Any:
    """``[nodes, hyperedges]`` csr matrix; its entries are the weights, 1 where there are none.

    ``chosen [num_incidences]`` says which incidences are in it; None: all.
    """
    from scipy.sparse import csr_matrix

    node, edge = h.index.numpy()
    entries = np.ones(len(node), np.float32)
    if h.incidence_weight is not None:
        entries = entries * h.incidence_weight.numpy().astype(np.float32)
    if h.edge_weight is not None:
        entries = entries * h.edge_weight.numpy().astype(np.float32)[edge]
    if chosen is not None:
        node, edge, entries = node[chosen], edge[chosen], entries[chosen]
    return csr_matrix((entries, (node, edge)), (h.num_nodes, h.num_edges))
