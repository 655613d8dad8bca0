"""Which labelled rows train the members, and which judge them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .outputs import SALT, Output

Array = np.ndarray
FEW, _SOME = 1500, 8000
"""Labelled rows up to which there are five folds, and up to which there are three; with more, one fifth is
the validation set."""
_TINY = 150
"""Least validation rows of a member: with fewer labels, the folds are drawn up to three times."""


@dataclass(frozen=True)
class Folds:
    """Row numbers of cross-validation.

    Attributes:
        rows: all labelled rows.
        train, asked: for each fold, the rows to train on and those to predict.
        checked: the rows of all ``asked``, on tiny sets several times; ``place[f]`` says where those of fold
            f stand among them.
        goal, weight: target and weight of ``checked``.
    """

    rows: Array
    train: list[Array]
    asked: list[Array]
    checked: Array
    place: list[Array]
    goal: Array
    weight: Array

    @classmethod
    def draw(
        cls, output: Output, target: Array, weight: Array | None, seed: int, groups: Array | None = None,
        judging: Array | None = None,
    ) -> Folds:  # fmt: skip
        """Five or three folds, or one fifth of many labels; each class is spread evenly over them.

        ``judging [rows]`` says which labels judge the members, and are not trained on; None: drawn.
        """
        rows = np.flatnonzero(output.labelled(target))
        if judging is not None:
            train, asked = rows[~judging[rows]], rows[judging[rows]]
            return cls._of(train, [(train, asked)], target, weight)
        used = fold_count(len(rows))
        count = 3 if used == 3 else 5
        group = None if groups is None else groups[rows]
        both = []
        for again in range(_repeats(len(rows))):
            fold = fold_numbers(output, target[rows], count, seed + 7919 * again, group)
            both += [(rows[fold != f], rows[fold == f]) for f in range(used)]
        return cls._of(rows, both, target, weight)

    @classmethod
    def _of(cls, rows: Array, both: list[tuple[Array, Array]], target: Array, weight: Array | None) -> Folds:
        """Of pairs of rows to train on and rows to predict."""
        both = [(t, a) for t, a in both if len(t) and len(a)]
        train, asked = [t for t, _ in both], [a for _, a in both]
        ends = np.cumsum([0, *map(len, asked)])
        place = [np.arange(start, end) for start, end in pairwise(ends)]
        checked = np.concatenate(asked) if asked else rows[:0]
        share = np.ones(len(checked)) if weight is None else weight[checked].astype(np.float64)
        return cls(rows, train, asked, checked, place, target[checked], share)


def fold_count(labelled: int) -> int:
    """Folds that so many labelled rows are divided into, once."""
    return 5 if labelled < FEW else 3 if labelled < _SOME else 1


def fit_count(labelled: int) -> int:
    """How often a member is fitted to be judged."""
    return _repeats(labelled) * fold_count(labelled)


def _repeats(labelled: int) -> int:
    return min(3, max(1, _TINY // max(1, labelled)))


def fold_numbers(output: Output, target: Array, count: int, seed: int, groups: Array | None = None) -> Array:
    """``[rows]``: the fold of each row; rows of one group are together."""
    generator = np.random.default_rng([SALT, seed])
    if groups is not None:
        names, place = np.unique(groups, return_inverse=True)
        return generator.permutation(np.arange(len(names)) % count)[place]
    order = generator.permutation(len(target))
    if output.kind == "classes":
        order = order[np.argsort(target[order], kind="stable")]
    fold = np.empty(len(target), np.int64)
    fold[order] = np.arange(len(target)) % count
    return fold
