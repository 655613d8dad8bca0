"""Controls that learn nothing: what features or coordinates alone give."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from ..association import Association, associate
from ..pair_batch import PairBatch, Side


class Control(nn.Module):
    """Scores of candidates from the batch alone, for `hungarian`.

    Args:
        what: ``"features"`` (cosine similarity of what the backbone sees at the keypoints) or
            ``"coordinates"`` (minus the squared distance of the points, centred image by image).

    Shapes: a `PairBatch` → ``[c]``.
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        if what not in ("features", "coordinates"):
            raise ValueError(f"what must be 'features' or 'coordinates', got {what!r}")
        self.what = what

    def associate(self, batch: PairBatch) -> Association:
        """The candidates, without hyperedges."""
        return associate(batch, ())

    def forward(self, batch: PairBatch, association: Association | None = None) -> Tensor:
        candidates = (self.associate(batch) if association is None else association).candidates
        if self.what == "features":
            left, right = (F.normalize(f, dim=1) for f in (batch.a.seen, batch.b.seen))
            return (left[candidates.a] * right[candidates.b]).sum(1)
        return -(_centred(batch.a)[candidates.a] - _centred(batch.b)[candidates.b]).square().sum(1)


def _centred(side: Side) -> Tensor:
    """``[n, 2]`` points minus the mean of their image."""
    total = side.points.new_zeros(side.counts.shape[0], 2).index_add(0, side.owner, side.points)
    return side.points - (total / side.counts.clamp(min=1).unsqueeze(1))[side.owner]
