"""What a node within a hyperedge sees of its other hyperedges: how much they share, and with which labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehnn.hypergraph import Hypergraph

Array = np.ndarray
MOST = 20_000_000
"""Triples (v, e, e′) that are listed at most: Σ degree²."""


@dataclass(frozen=True)
class Overlaps:
    """All (v, e) and (v, e′) with e ≠ e′.

    Attributes:
        own, other: ``[triples]`` the incidences (v, e) and (v, e′), as numbers in ``h.index``.
        pair: ``[triples]`` a number of (e, e′), the same for all nodes that these share.
        shared: ``[triples]`` |e ∩ e′|.
        likeness: ``[triples]`` |e ∩ e′| / |e ∪ e′|.
        rows: number of incidences.
    """

    own: Array
    other: Array
    pair: Array
    shared: Array
    likeness: Array
    rows: int

    @classmethod
    def of(cls, h: Hypergraph) -> Overlaps | None:
        """Those of ``h``; None if there are more than `MOST`."""
        degree = h.degrees.numpy()
        if int((degree.astype(np.float64) ** 2).sum()) > MOST:
            return None
        node, edge = h.index.numpy()
        by_node = np.argsort(node, kind="stable")
        start = np.concatenate([[0], np.cumsum(degree)])
        count = degree[node]
        own = np.repeat(np.arange(len(node)), count)
        place = np.arange(len(own)) - np.repeat(np.cumsum(count) - count, count)
        other = by_node[start[node[own]] + place]
        own, other = own[own != other], other[own != other]
        _, pair, size = np.unique(
            edge[own] * np.int64(max(h.num_edges, 1)) + edge[other], return_inverse=True, return_counts=True
        )
        shared, order = size[pair.ravel()], h.orders.numpy()
        union = order[edge[own]] + order[edge[other]] - shared
        return cls(own, other, pair.ravel(), shared, shared / np.maximum(union, 1), len(node))

    def sums(self, values: Array) -> Array:
        """``[rows]``: sums over the other hyperedges of a node."""
        return np.bincount(self.own, values, self.rows)

    def columns(self) -> Array:
        """``[rows, 7]``: how many hyperedges share 1, 2, 3, more nodes; squares; the nearest one twice."""
        counts = [self.sums(self.shared == k) for k in (1, 2, 3)]
        counts += [self.sums(self.shared > 3), self.sums((self.shared - 1.0) ** 2)]
        nearest, most = np.zeros(self.rows), np.zeros(self.rows)
        np.maximum.at(nearest, self.own, self.likeness)
        np.maximum.at(most, self.own, self.shared)
        return np.stack([*np.log1p(counts), nearest, np.log1p(most)], 1)

    def labels(self, values: Array) -> Array:
        """``[rows, width²]``: Σ over e′ of [label c of v in e′] · number of other shared nodes with label c′.

        ``values [rows, width]`` are the known labels, zeros elsewhere. This is the matrix M of the roles
        that known labels are: between e with v marked, and e′ with a role for each label.
        """
        given, found = values[self.other], []
        pairs = int(self.pair.max(initial=-1)) + 1
        for second in given.T:
            others = np.bincount(self.pair, second, pairs)[self.pair] - second
            found += [self.sums(first * others) for first in given.T]
        return np.log1p(np.maximum(np.stack(found, 1), 0))
