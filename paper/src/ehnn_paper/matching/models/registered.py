"""A matcher that lays one image on the other between two EHNN layers: ours, not the paper's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ehnn.nn.layer import Layer

from ..association import Association
from ..candidates import Candidates
from ..pair_batch import PairBatch, Side
from .equivariant import Equivariant
from .matcher import Matcher

SHARPNESS = (4.0, 16.0)
CHANNELS = 1 + len(SHARPNESS)
FARTHEST = 4.0


class Registered(Matcher):
    """Two EHNN layers; between them, how near keypoints come when the images are laid on each other.

    The Sinkhorn channel of the first layer is a soft matching. The similarity (shift, rotation and scale)
    that fits it best is applied to the keypoints of a, and its error at each candidate (`registration`) goes
    on to the second layer. So a few keypoints that look alike tell where the others are, also on an image
    that is turned.

    Args:
        layer: makes an EHNN layer from (d_in, d_out).
        channels, whole_channels: as `Matcher`.
        width: of both layers.
        options: of `Matcher`.

    Shapes: as `Matcher`.
    """

    def __init__(
        self,
        layer: Callable[[int, int], Layer],
        channels: int = 1024,
        whole_channels: int = 512,
        *,
        width: int = 32,
        **options: Any,
    ) -> None:
        first: Any = Equivariant(layer, width)
        super().__init__(first, channels, whole_channels, **options)
        self.again = Equivariant(layer, width, d_in=first.width + CHANNELS)
        self.classifier = nn.Linear(self.again.width, 1, bias=False)

    def scores(self, batch: PairBatch, association: Association) -> Tensor:
        nodes, edges = self.affinity(*self._features(batch), batch, association)
        h = association.hypergraph(nodes, edges)
        x = self.middle(h, association)
        near = registration(x[:, -1], batch, association.candidates).to(x.dtype)
        return self.classifier(self.again(h, association, torch.cat([x, near], 1))).squeeze(1)


def registration(p: Tensor, batch: PairBatch, candidates: Candidates) -> Tensor:
    r"""How well each candidate fits the similarity that a soft matching asks for: ``[c] → [c, CHANNELS]``.

    Of all s, t (complex numbers, like the points u of a and v of b) those that minimise

    .. math:: \sum_c p_c\, |s\, u_c + t - v_c|^2

    in closed form, image pair by image pair; points are in units of their spread (`normalised`). With r² the
    squared error of a candidate, the channels are −r², not below −4, and exp(−4 r²), exp(−16 r²).
    """
    u, v = normalised(batch.a)[candidates.a], normalised(batch.b)[candidates.b]
    share = p.to(u.dtype).unsqueeze(1)
    total = candidates.total(share).clamp(min=1e-6)
    u, v = (z - (candidates.total(share * z) / total)[candidates.pair] for z in (u, v))
    dot, cross = (u * v).sum(1), u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    sums = candidates.total(share * torch.stack([dot, cross, u.square().sum(1)], 1))
    scale = (sums[:, :2] / (sums[:, 2:] + 1e-3))[candidates.pair]
    turned = torch.stack([-u[:, 1], u[:, 0]], 1)
    error = (scale[:, :1] * u + scale[:, 1:] * turned - v).square().sum(1)
    near = [torch.exp(-k * error) for k in SHARPNESS]
    return torch.stack([-error.clamp(max=FARTHEST), *near], 1)


def normalised(side: Side) -> Tensor:
    """``[n, 2]``: points relative to the mean of their image, in units of the root mean square distance."""
    owner, count = side.owner, side.counts.clamp(min=1).to(side.points.dtype).unsqueeze(1)

    def mean(rows: Tensor) -> Tensor:
        total = rows.new_zeros(side.counts.shape[0], rows.shape[1]).index_add(0, owner, rows)
        return (total / count).index_select(0, owner)

    centred = side.points - mean(side.points)
    return centred / mean(centred.square().sum(1, keepdim=True)).clamp(min=1e-12).sqrt()
