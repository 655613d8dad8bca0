"""Batches of few sizes: made-up pairs fill a batch, so that what was recorded of one serves many.

A CUDA graph is recorded for tensors of given sizes, and every batch of image pairs has sizes of its own. A
filled batch has those of its `Frame`, of which there are few: after the real pairs stand made-up ones, whose
points, edges and triangles bring every sum over pairs to the number that the frame says. They touch no real
pair, and `permutation_loss` does not count them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ehnn.hypergraph.pairs import starts

from .pair_batch import NOT_COUNTED, PairBatch, Side, Sizes
from .sinkhorn import WIDEST

FILLED = (
    "ehnn-mlp", "ehnn-transformer", "ehnn-mlp+", "ehnn-transformer+", "nhgm-v2", "nhgm-v2+", "ngm-v2", "nhgm",
    "ngm", "gmn", "pca-gm", "ipca-gm",
)  # fmt: skip
"""Matchers that are trained on filled batches: they match each pair by itself, by `permutation_loss`."""
_WIDTHS = 8
"""The width of a frame is a multiple of it."""
_UNIT = 16
"""Sizes are multiples of it: Triton compiles kernels anew for sizes that are not."""


@dataclass(frozen=True)
class Frame:
    """The sizes of a filled batch; those of two sides are of a, then b.

    Attributes:
        sizes: as the host knows them.
        points, edges, triangles: of all images of a side.
        blocks: made-up pairs with candidates, beside two small ones.
        spare: made-up images of each side without a partner.
    """

    sizes: Sizes
    points: tuple[int, int]
    edges: tuple[int, int]
    triangles: tuple[int, int]
    blocks: int
    spare: int

    @classmethod
    def of(cls, batch: PairBatch) -> Frame | None:
        """The frame of a batch; None if there is none that it fits into."""
        own = batch.sizes
        width = _WIDTHS * math.ceil(max(own.width, 1) / _WIDTHS)
        if width > WIDEST:
            return None
        # Room for a block of at least three points of a, and for a pair of three and three.
        candidates = _up(own.candidates + 3 * width + 9)
        edge_pairs, triangle_pairs = _up(own.edge_pairs), _up(own.triangle_pairs)
        # A plane graph has fewer than 3 n edges and 2 n triangles.
        most = _up(max(batch.a.points.shape[0], batch.b.points.shape[0]))
        rows = 4 + _step(candidates) // width
        blocks, spare = math.ceil(rows / width), 1 + math.ceil((_step(most) + rows + 2 * _UNIT) / width)
        # In the first block b has 2 · width edges and width triangles, which those of a are laid on.
        laid_edges, laid_triangles = _step(edge_pairs) // (2 * width), _step(triangle_pairs) // width
        return cls(
            Sizes(width, candidates, edge_pairs, triangle_pairs),
            _even(most + rows + 6 + width, most + blocks * width + 7),
            _even(3 * most + laid_edges + 2 * width, 3 * most + 2 * width + 1),
            _even(2 * most + laid_triangles + width, 2 * most + width + 1),
            blocks,
            spare,
        )

    @property
    def pairs(self) -> int:
        """How many pairs are made up."""
        return self.blocks + 2 + 2 * self.spare


def filled(batch: PairBatch) -> PairBatch | None:
    """The batch with made-up pairs after its own; None if it fits into no frame.

    On the CPU, before a backbone has looked. Its targets are `NOT_COUNTED` in made-up pairs; categories are
    left out.
    """
    frame = Frame.of(batch)
    if frame is None:
        return None
    pairs = _made_up(batch, frame)
    if pairs is None:
        return None
    a, b = (_with(side, [pair[i] for pair in pairs]) for i, side in enumerate((batch.a, batch.b)))
    target = torch.nn.functional.pad(batch.target, (0, len(a.points) - len(batch.target)), value=NOT_COUNTED)
    return PairBatch(a, b, target, known_sizes=frame.sizes)


@dataclass(frozen=True)
class _Image:
    """Points on a circle, and rings of edges and triangles among them."""

    points: int
    edges: int = 0
    triangles: int = 0

    def ring(self, count: int, corners: int) -> Tensor:
        """``[corners, count]``: neighbours on the circle, from one point after the other."""
        steps = torch.arange(count) + torch.arange(corners).unsqueeze(1)
        return steps % self.points if count else steps


def _made_up(batch: PairBatch, frame: Frame) -> list[tuple[_Image, _Image]] | None:
    """The pairs that are missing, or None where more is missing than they can bring."""
    own, full = batch.sizes, frame.sizes
    width = full.width
    rows, rest = divmod(full.candidates - own.candidates - 9, width)
    edges, odd_edges = divmod(full.edge_pairs - own.edge_pairs, 2 * width)
    triangles, odd_triangles = divmod(full.triangle_pairs - own.triangle_pairs, width)
    pairs = [(_Image(n), _Image(width)) for n in _shared(rows, frame.blocks, width)]
    pairs[0] = _Image(pairs[0][0].points, edges, triangles), _Image(width, 2 * width, width)
    pairs += [(_Image(3, odd_edges, odd_triangles), _Image(3, 1, 1)), (_Image(rest), _Image(1))]
    for i, side in enumerate((batch.a, batch.b)):
        missing = [
            total[i] - there - sum(getattr(pair[i], name) for pair in pairs)
            for name, total, there in (
                ("points", frame.points, side.points.shape[0]),
                ("edges", frame.edges, side.edges.shape[1]),
                ("triangles", frame.triangles, side.triangles.shape[1]),
            )
        ]
        if min(missing) < 0 or not 3 <= missing[0] <= width * frame.spare:
            return None
        images = [_Image(n) for n in _shared(missing[0], frame.spare, width)]
        images[0] = _Image(images[0].points, *missing[1:])
        pairs += [(image, _Image(0)) if i == 0 else (_Image(0), image) for image in images]
    return pairs


def _shared(total: int, parts: int, most: int) -> list[int]:
    """``total`` as ``parts`` numbers up to ``most``, the first ones full."""
    return [min(max(total - i * most, 0), most) for i in range(parts)]


def _with(side: Side, images: list[_Image]) -> Side:
    counts = torch.cat([side.counts, torch.tensor([image.points for image in images])])
    first = starts(counts)[len(side.counts) :].tolist()
    more = list(zip(images, first, strict=True))
    made = replace(
        side,
        points=torch.cat([side.points, *(_circle(image.points).to(side.points) for image in images)]),
        counts=counts,
        edges=torch.cat([side.edges, *(image.ring(image.edges, 2) + row for image, row in more)], 1),
        triangles=torch.cat(
            [side.triangles, *(image.ring(image.triangles, 3) + row for image, row in more)], 1
        ),
        known_owner=None,
    )
    return replace(made, known_owner=made.owner)


def _circle(points: int) -> Tensor:
    """``[points, 2]`` in an image."""
    angle = 2 * math.pi * torch.arange(points) / max(points, 1)
    return 128 + 64 * torch.stack([angle.cos(), angle.sin()], 1)


def _even(a: int, b: int) -> tuple[int, int]:
    """The next multiples of `_UNIT`."""
    return _UNIT * math.ceil(a / _UNIT), _UNIT * math.ceil(b / _UNIT)


def _step(number: int) -> int:
    """Between the numbers that `_up` gives around ``number``: an eighth to a quarter of it."""
    return max(2 ** max(number.bit_length() - 3, 0), _UNIT)


def _up(number: int) -> int:
    """The next of few numbers, four for each doubling."""
    return _step(number) * math.ceil(number / _step(number))
