"""Several images at once: the images of a batch of pairs, in groups of one category."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import torch
from torch import Tensor

from ehnn.hypergraph.pairs import arange_like, repeat, starts

from ..candidates import Candidates
from ..pair_batch import PairBatch, Side


@dataclass(frozen=True, eq=False)
class Groups:
    """Images that are matched together.

    The images of a batch are those of a, then those of b; neighbouring pairs of one category are a group,
    ``most`` pairs at most. A batch without categories is groups of a single pair.

    Attributes:
        images: ``[keypoints of a + b]`` all of them as one side.
        group: ``[images]`` the group of each.
        number: of groups.
    """

    images: Side
    group: Tensor
    number: int

    @classmethod
    def of(cls, batch: PairBatch, most: int) -> Groups:
        names = batch.categories or range(batch.num_pairs)
        lengths: list[int] = []
        for _, same in groupby(names):
            count = len(list(same))
            lengths += [min(most, count - i) for i in range(0, count, most)]
        of_pair = repeat(torch.tensor(lengths), batch.num_pairs).to(batch.a.points.device)
        return cls(_both(batch), torch.cat([of_pair, of_pair]), len(lengths))

    @cached_property
    def pairs(self) -> tuple[Tensor, Tensor]:
        """All pairs of different images of a group, each once: ``[pairs]`` left and right."""
        same = self.group.unsqueeze(1) == self.group
        left, right = same.triu(1).nonzero().unbind(1)
        return left, right

    @cached_property
    def sizes(self) -> Tensor:
        """``[groups]`` images of each."""
        return torch.bincount(self.group, minlength=self.number)

    @cached_property
    def place(self) -> Tensor:
        """``[keypoints]``: the number of each among the keypoints of its group."""
        order = torch.argsort(self.group, stable=True)
        counts = self.images.counts[order]
        before = starts(counts) - starts(self.keypoints)[self.group[order]]
        first = torch.empty_like(before)
        first[order] = before
        owner = self.images.owner
        return first[owner] + arange_like(owner) - starts(self.images.counts)[owner]

    @cached_property
    def keypoints(self) -> Tensor:
        """``[groups]`` keypoints of each."""
        return torch.zeros_like(self.sizes).index_add_(0, self.group, self.images.counts)

    @cached_property
    def width(self) -> int:
        return int(self.keypoints.max())

    def cell(self, left: Tensor, right: Tensor) -> Tensor:
        """The place of pairs of keypoints of a group in ``[groups, width, width]``, flattened."""
        group = self.group[self.images.owner[left]]
        return (group * self.width + self.place[left]) * self.width + self.place[right]

    def joint(self, values: Tensor, cells: Tensor) -> Tensor:
        """``[groups, width, width]`` symmetric, from values of pairs, with 1 for a keypoint and itself."""
        every = arange_like(self.images.owner)
        flat = values.new_zeros(self.number * self.width**2).scatter(0, cells, values)
        table = flat.reshape(self.number, self.width, self.width)
        own = torch.zeros_like(flat).scatter(0, self.cell(every, every), 1.0).reshape(table.shape)
        return table + table.mT + own

    def cells_of(self, candidates: Candidates, left: Tensor, right: Tensor) -> Tensor:
        """`cell` of the candidates of the image pairs (left, right)."""
        first = starts(self.images.counts)
        rows = first[left][candidates.pair] + candidates.local_a
        return self.cell(rows, first[right][candidates.pair] + candidates.local_b)


def _both(batch: PairBatch) -> Side:
    a, b = batch.a, batch.b
    moved = a.points.shape[0]
    return Side(
        torch.cat([a.points, b.points]),
        torch.cat([a.counts, b.counts]),
        torch.cat([a.edges, b.edges + moved], 1),
        torch.cat([a.triangles, b.triangles + moved], 1),
        torch.cat([a.seen, b.seen]),
        torch.cat([a.seen_whole, b.seen_whole]),
    )


def take(side: Side, images: Tensor) -> Side:
    """Some images of a side, any number of times: ``images [k]``."""
    first, counts = starts(side.counts), side.counts[images]
    rows, _ = _ranges(first[images], counts)

    def moved(parts: Tensor) -> Tensor:
        lengths = side.per_pair(parts)
        columns, owner = _ranges(starts(lengths)[images], lengths[images])
        return parts[:, columns] + (starts(counts) - first[images])[owner]

    features = None if side.features is None else side.features[rows]
    whole = None if side.whole is None else side.whole[images]
    return Side(side.points[rows], counts, moved(side.edges), moved(side.triangles), features, whole)


def _ranges(first: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """``first[i], first[i] + 1, …``, ``lengths[i]`` numbers for each i, and the i of each."""
    owner = repeat(lengths, int(lengths.sum()))
    return arange_like(owner) + (first - starts(lengths))[owner], owner


def pairs_of(groups: Groups, left: Tensor, right: Tensor) -> PairBatch:
    """The image pairs (left, right), without truth."""
    a, b = take(groups.images, left), take(groups.images, right)
    return PairBatch(a, b, torch.full_like(a.owner, -1))
