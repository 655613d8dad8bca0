"""A matcher with the backbone that looks for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from .association import Association
from .features import read_at
from .pair_batch import PairBatch


@dataclass(frozen=True, eq=False)
class Prepared:
    """A batch and its association hypergraph: what a model is called with, and a loss reads."""

    batch: PairBatch
    association: Association


@dataclass(frozen=True, eq=False)
class Look:
    """Images ``[B, 3, 256, 256]`` uint8, points ``[n, 2]`` on them and counts ``[B]``, for a backbone."""

    images: Tensor
    points: Tensor
    counts: Tensor


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
        """The batch with features."""
        a, b = batch.a, batch.b
        points, counts = torch.cat([a.points, b.points]), torch.cat([a.counts, b.counts])
        features, whole = self.look(Look(torch.cat([images_a, images_b]), points, counts))
        rows = features.split([a.points.shape[0], b.points.shape[0]])
        wholes = whole.split([batch.num_pairs, batch.num_pairs])
        return replace(
            batch,
            a=replace(a, features=rows[0], whole=wholes[0], images=None),
            b=replace(b, features=rows[1], whole=wholes[1], images=None),
        )


def split_look(flat: Tensor, at: Look, whole_channels: int) -> tuple[Tensor, Tensor]:
    """What a `PairModel` said of a `Look`, as features ``[n, channels]`` and global features."""
    images = at.counts.shape[0]
    features, whole = flat.split([flat.shape[0] - images * whole_channels, images * whole_channels])
    return features.reshape(at.points.shape[0], -1), whole.reshape(images, whole_channels)
