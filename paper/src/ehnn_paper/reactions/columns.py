"""What the known reactions say of metabolites and of asked reactions, as columns of numbers.

``known`` ``[E]`` marks the reactions whose direction is given. Asked reactions, and reactions of their group,
must not be among them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array

from .data import Reactions

_COMMON = 0.01
"""An element is a column if it is in so large a share of the formulas."""
_POWERS = (0.0, 0.5, 1.0)
"""A shared metabolite counts 1 / degree to these powers in the votes."""
Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Table:
    """Columns of n asked reactions, each in the direction that is stated.

    Attributes:
        sides: ``[2, n, k]`` columns of the tail and of the head.
        votes: ``[n, v]`` columns that change their sign when the sides are exchanged.
        names: of the k columns.
    """

    sides: np.ndarray
    votes: np.ndarray
    names: tuple[str, ...]

    def antisymmetric(self, prefixes: tuple[str, ...] | None = None) -> np.ndarray:
        """``[n, columns]`` tail − head, then the votes; only the columns that begin so, without votes."""
        difference = self.sides[0] - self.sides[1]
        if prefixes is None:
            return np.concatenate([difference, self.votes], 1)
        return difference[:, [name.startswith(prefixes) for name in self.names]]

    def whole(self) -> np.ndarray:
        """``[n, columns]`` everything."""
        return np.concatenate([self.antisymmetric(), *self.sides], 1)

    def turned(self) -> Table:
        """The same reactions in the other direction."""
        return Table(self.sides[::-1], -self.votes, self.names)


def table(reactions: Reactions, known: np.ndarray, asked: np.ndarray) -> Table:
    """All columns of the asked reactions (numbers ``[n]``)."""
    columns = metabolite_columns(reactions, known)
    tails, heads = reactions.tails[asked], reactions.heads[asked]
    found = [side_columns(side, columns) for side in (tails, heads)]
    sides = np.stack([np.stack(list(one.values()), 1) for one in found])
    return Table(sides, votes(reactions, known, asked), tuple(found[0]))


def metabolite_columns(reactions: Reactions, known: np.ndarray) -> Columns:
    """``[N]`` each: degree, history, compartment and formula of the metabolites.

    The history of a metabolite is how many known reactions consume it and how many produce it, and the
    logarithm of their ratio, smoothed by ½. Its state separates rare from common metabolites: of two
    reactions, one has to produce a metabolite if the other consumes it.
    """
    tails, heads, two_sided = reactions.tails, reactions.heads, reactions.two_sided
    consumed, produced = (side.T @ known.astype(float) for side in (tails, heads))
    either = tails + heads
    unknown = either.T @ (two_sided & ~known).astype(float)
    degree = consumed + produced + unknown
    odds = np.log((consumed + 0.5) / (produced + 0.5))
    columns = {
        "degree": np.log1p(degree),
        "history odds": odds,
        "state smooth odds": np.log((consumed + 2) / (produced + 2)),
        "history consumed": np.log1p(consumed),
        "history produced": np.log1p(produced),
        "state no history": consumed + produced == 0,
        "state only consumed": (consumed > 0) & (produced == 0),
        "state only produced": (consumed == 0) & (produced > 0),
        "state odds, rare": odds * (degree <= 4),
        "state odds, medium": odds * ((degree > 4) & (degree <= 20)),
        "state odds, common": odds * (degree > 20),
        "state must be produced": (consumed > 0) & (produced == 0) & (unknown <= 1),
        "state must be consumed": (produced > 0) & (consumed == 0) & (unknown <= 1),
        "exchanged": either.T @ (~two_sided).astype(float) > 0,
        "atoms": np.log1p(reactions.elements.sum(1)),
    }
    for i in range(int(reactions.compartment.max(initial=0)) + 1):
        columns[f"compartment {i}"] = reactions.compartment == i
    for i in np.flatnonzero((reactions.elements > 0).mean(0) > _COMMON).tolist():
        columns[f"element {i}"] = np.log1p(reactions.elements[:, i])
    return {name: np.asarray(column, float) for name, column in columns.items()}


def side_columns(side: csr_array, columns: Columns) -> Columns:
    """``[n]`` each: sum, mean, largest and smallest of each column over the metabolites of a side."""
    size = np.diff(side.indptr)
    found: Columns = {"degree count": size.astype(float)}
    for name, column in columns.items():
        total = side @ column
        found[f"{name}, sum"] = total
        found[f"{name}, mean"] = total / np.maximum(size, 1)
        for how, reduce in (("max", np.maximum), ("min", np.minimum)):
            found[f"{name}, {how}"] = _over_rows(side, column, reduce)
    return found


def _over_rows(side: csr_array, column: np.ndarray, reduce: np.ufunc) -> np.ndarray:
    """``reduce`` over the entries of each row; 0 for an empty row."""
    found, full = np.zeros(side.shape[0]), np.diff(side.indptr) > 0
    if full.any():
        found[full] = reduce.reduceat(column[side.indices], side.indptr[:-1][full])
    return found


def votes(reactions: Reactions, known: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """``[n, 6 × powers]`` votes of the known reactions, each for the direction in which it is alike.

    A known reaction i agrees with the asked j by the metabolites that stand on the same side, and disagrees
    by those on the other: the four entries of the overlap matrix M of i and j. Columns for each power: the
    sum of agreement less disagreement; of reactions that share metabolites on both sides, the log ratio and
    the relative difference of both, the largest difference and its sign; the largest difference of all.
    """
    tails, heads = reactions.tails, reactions.heads
    degree = np.maximum((tails + heads).sum(0), 1)
    found = []
    for power in _POWERS:
        weigh = diags_array(degree**-power)
        (tt, th), (ht, hh) = (
            [csr_array(mine[asked] @ weigh @ theirs[known].T) for theirs in (tails, heads)]
            for mine in (tails, heads)
        )
        with_, against = tt.multiply(hh).tocsr(), th.multiply(ht).tocsr()
        yes, no = with_.sum(1), against.sum(1)
        most = _largest(with_) - _largest(against)
        found += [
            (tt + hh).sum(1) - (th + ht).sum(1), np.log((yes + 0.1) / (no + 0.1)),
            (yes - no) / np.maximum(yes + no, 1e-9), most, np.sign(most),
            _largest((tt + hh).tocsr()) - _largest((th + ht).tocsr()),
        ]  # fmt: skip
    return np.stack(found, 1)


def _largest(rows: csr_array) -> np.ndarray:
    """``[n]`` largest entry of each row, at least 0."""
    return rows.max(axis=1).toarray().ravel() if rows.shape[1] else np.zeros(rows.shape[0])
