"""Candidates: all pairs of a keypoint of a and a keypoint of b, within each image pair."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from ehnn._utils.cached import cached_tensors
from ehnn.hypergraph.pairs import arange_like, repeat, starts

from .pair_batch import PairBatch


@dataclass(frozen=True, eq=False)
class Candidates:
    """The nodes of the association hypergraph, sorted by image pair, keypoint of a, keypoint of b.

    Everything that a matcher says is a vector over them: a score, or how likely the two keypoints match.

    Attributes:
        a, b: ``[c]`` rows of ``batch.a.points`` and ``batch.b.points``.
        pair: ``[c]`` the image pair of each.
        first: ``[a.n]``; keypoints i of a and j of b (of one pair) are candidate ``first[i] + j``.
        counts_a, counts_b, start_a, start_b: ``[pairs]`` keypoints, and the first row, of each image.
        rows_a, rows_b: ``[a.n]``, ``[b.n]`` the place of each keypoint in ``[pairs, width]``, flattened.
        width: the most keypoints that an image has.
    """

    a: Tensor
    b: Tensor
    pair: Tensor
    first: Tensor
    counts_a: Tensor
    counts_b: Tensor
    start_a: Tensor
    start_b: Tensor
    rows_a: Tensor
    rows_b: Tensor
    width: int

    def __len__(self) -> int:
        return self.a.shape[0]

    @property
    def num_pairs(self) -> int:
        return self.counts_a.shape[0]

    def to(self, device: torch.device | str) -> Candidates:
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return dataclasses.replace(self, **{k: v.to(device) for k, v in values.items() if k != "width"})

    @cached_tensors
    def local_a(self) -> Tensor:
        """``[c]``: the number of the keypoint of a inside its image."""
        return self.a - self.start_a[self.pair]

    @cached_tensors
    def local_b(self) -> Tensor:
        """``[c]``: the number of the keypoint of b inside its image."""
        return self.b - self.start_b[self.pair]

    @cached_tensors
    def grid(self) -> Tensor:
        """``[c]``: the place of each candidate in ``[pairs, width, width]``, flattened."""
        return (self.pair * self.width + self.local_a) * self.width + self.local_b

    @cached_tensors
    def square(self) -> tuple[Tensor, Tensor]:
        """Places ``[c]`` with the smaller side as rows, and the frame ``[pairs · width²]`` around them.

        The frame is 0 in the dummy rows that make the matrix of a pair square and on the diagonal outside
        of it, −∞ elsewhere.
        """
        pairs, width = self.num_pairs, self.width
        swapped = (self.counts_a > self.counts_b)[self.pair]
        row = torch.where(swapped, self.local_b, self.local_a)
        column = self.local_a + self.local_b - row
        number = torch.arange(width, device=self.a.device)
        size = torch.maximum(self.counts_a, self.counts_b).reshape(pairs, 1, 1)
        inside = torch.maximum(number.unsqueeze(1), number) < size
        zero = inside | torch.eye(width, dtype=torch.bool, device=self.a.device)
        frame = torch.zeros(zero.shape, device=self.a.device).masked_fill_(~zero, -torch.inf)
        return (self.pair * width + row) * width + column, frame.flatten()

    def dense(self, values: Tensor, fill: float = 0.0) -> Tensor:
        """``[c] → [pairs, width, width]``, with ``fill`` where there is no candidate."""
        empty = values.new_full((self.num_pairs * self.width**2,), fill)
        return empty.scatter(0, self.grid, values).reshape(self.num_pairs, self.width, self.width)

    def total(self, values: Tensor) -> Tensor:
        """``[c, …] → [pairs, …]``: the sum over the candidates of each pair."""
        return values.new_zeros(self.num_pairs, *values.shape[1:]).index_add(0, self.pair, values)

    def tables(self, x_a: Tensor, x_b: Tensor) -> tuple[Tensor, Tensor]:
        """``[n, d] → [pairs, width, d]`` of both sides: rows image after image, padded with zeros."""
        return self._padded(x_a, self.rows_a), self._padded(x_b, self.rows_b)

    def _padded(self, x: Tensor, place: Tensor) -> Tensor:
        empty = x.new_zeros(self.num_pairs * self.width, x.shape[1])
        return empty.index_copy(0, place, x).reshape(self.num_pairs, self.width, x.shape[1])


def candidates_of(batch: PairBatch) -> Candidates:
    """All candidates of a batch, on its device."""
    counts_a, counts_b, owner = batch.a.counts, batch.b.counts, batch.a.owner
    sizes = batch.sizes
    a, b, first = products(owner, counts_b, sizes.candidates)
    rows_a, rows_b = (_rows(side.counts, side.owner, sizes.width) for side in (batch.a, batch.b))
    return Candidates(
        a, b, owner[a], first, counts_a, counts_b, starts(counts_a), starts(counts_b), rows_a, rows_b,
        sizes.width,
    )  # fmt: skip


def _rows(counts: Tensor, owner: Tensor, width: int) -> Tensor:
    """``[n]``: the place of the rows of one side in ``[pairs, width]``, flattened."""
    return arange_like(owner) + (width * arange_like(counts) - starts(counts))[owner]


def products(owner: Tensor, counts: Tensor, total: int) -> tuple[Tensor, Tensor, Tensor]:
    """Each left row with every right row of its group, where right rows stand group after group.

    Args:
        owner: ``[left]`` the group of each left row.
        counts: ``[groups]`` right rows of each group.
        total: the number of products, Σ counts[owner].

    Returns:
        left, right: ``[total]`` rows, sorted by left, then right.
        first: ``[left]``; rows l and r make product ``first[l] + r``.
    """
    times = counts[owner]
    first = starts(times) - starts(counts)[owner]
    left = repeat(times, total)
    return left, arange_like(left) - first[left], first
