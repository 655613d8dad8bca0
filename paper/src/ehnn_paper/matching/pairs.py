"""Pairs of images of one category, drawn as the paper's experiments draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from .keypoints import Keypoints, KeypointSet

Mode = Literal["intersection", "all"]
FEWEST = 3
"""Pairs with fewer common keypoints are drawn again: they have no triangle, and hardly a wrong answer."""
_TRIES = 1000


@dataclass(frozen=True, eq=False)
class Pair:
    """Two images whose keypoints are to be matched.

    Attributes:
        a, b: their keypoints as used, in the order used.
        target: ``[len(a)]`` int64, the row of ``b`` that each keypoint of ``a`` matches, −1 for none.
    """

    a: Keypoints
    b: Keypoints
    target: Tensor

    @property
    def category(self) -> str:
        return self.a.category


def make_pair(
    a: Keypoints, b: Keypoints, mode: Mode = "intersection", generator: torch.Generator | None = None
) -> Pair:
    """Match two images' keypoints by their names.

    With ``"intersection"`` only keypoints that both images have are kept, and there must be one. With
    ``"all"`` every keypoint is kept, the two numbers may differ, and what has no partner is an outlier with
    target −1. With a generator the keypoints of both images are shuffled, so that no model can read the
    answer from their order.

    >>> a = Keypoints("a", "duck", torch.zeros(2, 2), ("beak", "eye"))
    >>> b = Keypoints("b", "duck", torch.zeros(3, 2), ("eye", "tail", "beak"))
    >>> make_pair(a, b).b.names, make_pair(a, b).target.tolist()
    (('eye', 'beak'), [1, 0])
    >>> make_pair(b, a, "all").target.tolist()
    [1, -1, 0]
    """
    if mode not in ("intersection", "all"):
        raise ValueError(f"mode must be 'intersection' or 'all', got {mode!r}")
    rows_a, rows_b = _rows(a, b, mode, generator), _rows(b, a, mode, generator)
    if not rows_a.numel() or not rows_b.numel():
        raise ValueError(
            f"images {a.id!r} and {b.id!r} have no keypoint in common"
            if mode == "intersection"
            else f"images {a.id!r} and {b.id!r} must have keypoints, they have {len(a)} and {len(b)}"
        )
    a, b = a.select(rows_a), b.select(rows_b)
    place = {name: i for i, name in enumerate(b.names)}
    return Pair(a, b, torch.tensor([place.get(name, -1) for name in a.names]))


def _rows(of: Keypoints, other: Keypoints, mode: Mode, generator: torch.Generator | None) -> Tensor:
    wanted = set(other.names if mode == "intersection" else of.names)
    rows = torch.tensor([i for i, name in enumerate(of.names) if name in wanted], dtype=torch.int64)
    return rows if generator is None else rows[torch.randperm(len(rows), generator=generator)]


@dataclass(frozen=True, eq=False)
class PairSampler:
    """Random pairs for training.

    A pair's category is drawn uniformly, then two different images of it; a pair with fewer than three common
    keypoints is drawn again. Batches depend on (seed, step) alone.
    """

    keypoint_set: KeypointSet
    split: str = "train"
    seed: int = 0
    mode: Mode = "intersection"
    categories: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not self._items:
            raise ValueError(f"the split {self.split!r} of {self.keypoint_set.name!r} has no images")

    @cached_property
    def _items(self) -> list[tuple[Keypoints, ...]]:
        names = self.keypoint_set.categories if self.categories is None else self.categories
        found = [self.keypoint_set.items(name, self.split) for name in names]
        return [items for items in found if items]

    @cached_property
    def _usable(self) -> list[list[Keypoints]]:
        return [usable(items) for items in self._items]

    def batch_of_pairs(self, step: int, size: int) -> list[Pair]:
        """``size`` pairs, the same for the same seed and step."""
        generator = seeded(self.seed, step)
        chosen = torch.randint(len(self._items), (size,), generator=generator).tolist()
        return [draw_pair(self._usable[c], generator, self.mode) for c in chosen]


def test_pairs(keypoint_set: KeypointSet, category: str, count: int, seed: int) -> list[Pair]:
    """``count`` random pairs of two different test images of a category, the same for the same seed."""
    return fixed_pairs(keypoint_set, category, count, seed, "test")


def fixed_pairs(
    keypoint_set: KeypointSet,
    category: str,
    count: int,
    seed: int,
    split: str,
    mode: Mode = "intersection",
) -> list[Pair]:
    """The same for any split, such as one held out for validation."""
    number = keypoint_set.categories.index(category) if category in keypoint_set.categories else 0
    items = usable(keypoint_set.items(category, split))
    generator = seeded(seed, number, 1)
    return [draw_pair(items, generator, mode) for _ in range(count)]


def usable(items: Sequence[Keypoints]) -> list[Keypoints]:
    """Those that can be in a pair; an error if there are not two."""
    found = [k for k in items if len(k) >= FEWEST]
    if len(found) < 2:
        raise _no_pair(items)
    return found


def draw_pair(items: Sequence[Keypoints], generator: torch.Generator, mode: Mode = "intersection") -> Pair:
    """Two different of some `usable` images with at least three common keypoints, uniformly among such
    ordered pairs."""
    for _ in range(_TRIES):
        i = int(torch.randint(len(items), (), generator=generator))
        j = int(torch.randint(len(items) - 1, (), generator=generator))
        a, b = items[i], items[j + (j >= i)]
        if len(set(a.names) & set(b.names)) >= FEWEST:
            return make_pair(a, b, mode, generator)
    raise _no_pair(items)


def _no_pair(items: Sequence[Keypoints]) -> ValueError:
    told = f"of {items[0].category!r} " if items else ""
    have = sum(len(k) >= FEWEST for k in items)
    return ValueError(
        f"{len(items)} images {told}hold no pair with {FEWEST} keypoints in common "
        f"({have} of them have that many at all)"
    )


def seeded(*numbers: int) -> torch.Generator:
    """A generator for these non-negative numbers; neighbouring numbers give unrelated streams."""
    return torch.Generator().manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]))
