"""A matcher with the backbone that looks for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from .association import Association
from .features import read_at
from .pair_batch import PairBatch, Side


@dataclass(frozen=True, eq=False)
class Prepared:
    """A batch and its association hypergraph: what a model is called with, and a loss reads."""

    batch: PairBatch
    association: Association
    reusable: ClassVar = False  # `ehnn.training.replay` asks


@dataclass(frozen=True, eq=False)
class Look:
    """Images ``[B, 3, 256, 256]`` uint8, points ``[n, 2]`` on them and counts ``[B]``, for a backbone."""

    images: Tensor
    points: Tensor
    counts: Tensor
    reusable: ClassVar = False


class PairModel(nn.Module):
    """A matcher on features of a frozen backbone, or on images with a backbone that is trained along.

    The images of both sides pass the backbone as one batch.

    Args:
        matcher: on features.
        backbone: such as `load_vgg16`, or None.
        amp: the backbone works in bfloat16; the matcher never does.

    Shapes: a `Prepared` → ``[c]``, see `Matcher`. A `Look` → features ``[n, channels]`` and global features
    ``[B, channels]``, one after the other in a single vector (`split_look`).
    """

    def __init__(self, matcher: nn.Module, backbone: nn.Module | None = None, *, amp: bool = False) -> None:
        super().__init__()
        self.matcher, self.backbone, self.amp = matcher, backbone, amp

    def forward(self, ready: Prepared | Look, x: None = None) -> Tensor:
        if isinstance(ready, Look):
            return torch.cat([part.flatten() for part in self.look(ready)])
        batch = ready.batch
        if batch.a.features is None and batch.a.images is not None and batch.b.images is not None:
            batch = self._looked_at(batch, batch.a.images, batch.b.images)
        return self.matcher(batch, ready.association)

    def look(self, at: Look) -> tuple[Tensor, Tensor]:
        """Features of the points and of the images."""
        if self.backbone is None:
            raise ValueError("the model has no backbone: give it features, not images")
        with torch.autocast(at.images.device.type, torch.bfloat16, enabled=self.amp):
            *maps, whole = self.backbone(at.images)
        return read_at(maps, at.points, at.counts), whole.float()

    def _looked_at(self, batch: PairBatch, images_a: Tensor, images_b: Tensor) -> PairBatch:
        """The batch with features. Where a batch is filled, its last images lend theirs to made-up pairs."""
        sides, images = (batch.a, batch.b), (images_a, images_b)
        counts = [_lent(side, len(own)) for side, own in zip(sides, images, strict=True)]
        points = torch.cat([side.points for side in sides])
        features, whole = self.look(Look(torch.cat(images), points, torch.cat(counts)))
        rows = features.split([len(side.points) for side in sides])
        wholes = whole.split([len(own) for own in images])
        a, b = (
            replace(side, features=x, whole=lengthened(own, batch.num_pairs), images=None)
            for side, x, own in zip(sides, rows, wholes, strict=True)
        )
        return replace(batch, a=a, b=b)


def _lent(side: Side, images: int) -> Tensor:
    """``[images]``: how many points are read from each image; from the last those of all further pairs."""
    if images == side.counts.shape[0]:
        return side.counts
    first = side.counts[: images - 1]
    return torch.cat([first, side.points.shape[0] - first.sum(0, keepdim=True)])


def lengthened(x: Tensor, rows: int) -> Tensor:
    """``[n, d] → [rows, d]``: the last row is there again and again."""
    return x if x.shape[0] == rows else torch.cat([x, x[-1:].expand(rows - x.shape[0], *x.shape[1:])])


def split_look(flat: Tensor, at: Look, whole_channels: int) -> tuple[Tensor, Tensor]:
    """What a `PairModel` said of a `Look`, as features ``[n, channels]`` and global features."""
    images = at.counts.shape[0]
    features, whole = flat.split([flat.shape[0] - images * whole_channels, images * whole_channels])
    return features.reshape(at.points.shape[0], -1), whole.reshape(images, whole_channels)
