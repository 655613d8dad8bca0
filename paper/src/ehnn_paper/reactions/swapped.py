"""Reactions with coefficients, and copies of them in which half of the metabolites are exchanged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from ehnn.hypergraph import Hypergraph

from .data import as_hypergraph

_TRIES = 100


@dataclass(frozen=True, eq=False)
class Rows:
    """Reactions as rows; ``tails`` and ``heads`` are ``[n, N]`` with the coefficients as entries."""

    tails: csr_array
    heads: csr_array

    def __len__(self) -> int:
        return int(self.tails.shape[0])

    def __getitem__(self, rows: np.ndarray) -> Rows:
        return Rows(self.tails[rows], self.heads[rows])

    def __add__(self, other: Rows) -> Rows:
        tails, heads = ([getattr(rows, side) for rows in (self, other)] for side in ("tails", "heads"))
        return Rows(csr_array(vstack(tails)), csr_array(vstack(heads)))

    @property
    def sides(self) -> tuple[csr_array, csr_array]:
        """Both as 0/1 matrices."""
        return csr_array((self.tails > 0).astype(float)), csr_array((self.heads > 0).astype(float))

    @property
    def key(self) -> np.ndarray:
        """``[n]`` a number for the set of metabolites of each: sums of random 62-bit numbers."""
        mark = np.random.default_rng(0).integers(2**62, size=self.tails.shape[1])
        return ((self.tails + self.heads) > 0).astype(np.int64) @ mark

    def hypergraph(self, roles: bool) -> Hypergraph:
        """As hyperedges, directed or not."""
        h = as_hypergraph(*self.sides)
        return h if roles else h.replace(roles=None)


def rows_of(
    node: np.ndarray, edge: np.ndarray, side: np.ndarray, coef: np.ndarray, shape: tuple[int, int]
) -> Rows:
    """Rows from incidences; ``side`` is −1 for consumed and 1 for produced."""
    tails, heads = (csr_array((coef[side == s], (edge[side == s], node[side == s])), shape) for s in (-1, 1))
    return Rows(tails, heads)


def half_swapped(rows: Rows, seed: int) -> Rows:
    """A copy of each reaction with half of its metabolites (at least one) exchanged for others.

    The new ones are drawn evenly from all metabolites that the reaction does not have, and take the side and
    the coefficient of those they stand for.
    """
    count = rows.tails.shape[1]
    parts = [side.tocoo() for side in (rows.tails, rows.heads)]
    edge = np.concatenate([part.row for part in parts]).astype(np.int64)
    code = edge * count + np.concatenate([part.col for part in parts])
    coef = np.concatenate([part.data for part in parts])
    side = np.repeat([-1, 1], [part.nnz for part in parts])
    members = code[~_repeated(code)]  # a metabolite on both sides is one member
    new, order = _exchanged(members, count, seed), np.argsort(members)
    node = new[order[np.searchsorted(members[order], code)]]
    return rows_of(node, edge, side, coef, (len(rows), count))


def _exchanged(members: np.ndarray, count: int, seed: int) -> np.ndarray:
    """``[members]`` the node of each member (row · count + node), or another one for half of a row."""
    draw, row = np.random.default_rng(seed), members // count
    size = np.bincount(row)
    shuffled = np.lexsort([draw.random(len(row)), row])
    rank = np.empty_like(row)
    rank[shuffled] = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
    swapped = rank < np.maximum(size // 2, 1)[row]
    new, wanted = members % count, np.flatnonzero(swapped)
    for _ in range(_TRIES):
        new[wanted] = draw.integers(count, size=len(wanted))
        found = row * count + new
        wanted = np.flatnonzero(swapped & (np.isin(found, members) | _repeated(found)))
        if not len(wanted):
            return new
    raise ValueError(f"no {int(size.max())} of {count} metabolites were found for a swapped reaction")


def _repeated(code: np.ndarray) -> np.ndarray:
    """Whether the same code stands earlier."""
    found = np.ones(len(code), bool)
    found[np.unique(code, return_index=True)[1]] = False
    return found
