"""Matchers that also see where keypoints lie: ours, not the paper's, with names that end in +."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ehnn.nn import EHNNMLP, EHNNTransformer
from ehnn.nn.layer import Layer

from .association import Association
from .models import MATCHERS, Matcher, make_matcher
from .models.registered import Registered, normalised
from .pair_batch import PairBatch, Side

FREQUENCIES = (0.125, 0.25, 0.5)
CHANNELS = 2 + 4 * len(FREQUENCIES)


class Positional(nn.Module):
    r"""A matcher whose keypoint features go on with the keypoint's place among the others.

    With u the place relative to the mean of the image's keypoints, in units of their root mean square
    distance from it, the channels are :math:`u` and :math:`\sin 2\pi f u, \cos 2\pi f u` for a few
    frequencies f, times a learned factor. An inner product of two of them, which is what affinities are
    made of, says how near two keypoints lie when the images are laid on each other. Shifts and scales
    change nothing; rotations do.

    Args:
        matcher: on ``channels + CHANNELS`` channels.

    Shapes: as `Matcher`.
    """

    def __init__(self, matcher: Matcher) -> None:
        super().__init__()
        self.matcher = matcher
        self.factor = nn.Parameter(torch.full((CHANNELS,), CHANNELS**-0.5))

    @property
    def middle(self) -> Any:
        return self.matcher.middle

    def associate(self, batch: PairBatch) -> Association:
        return self.matcher.associate(batch)

    def forward(self, batch: PairBatch, association: Association | None = None) -> Tensor:
        return self.matcher(replace(batch, a=self._side(batch.a), b=self._side(batch.b)), association)

    def _side(self, side: Side) -> Side:
        places = positional_channels(side).to(side.seen.dtype) * self.factor
        return replace(side, features=torch.cat([side.seen, places], 1))


def positional_channels(side: Side) -> Tensor:
    """``[n, CHANNELS]``."""
    u = normalised(side)
    waves = [2 * math.pi * f * u for f in FREQUENCIES]
    return torch.cat([u, *(w.sin() for w in waves), *(w.cos() for w in waves)], 1)


LAYERS: dict[str, Callable[..., Layer]] = {"ehnn-mlp": EHNNMLP, "ehnn-transformer": EHNNTransformer}


def make_model(name: str, channels: int = 1024, whole_channels: int = 512, **options: Any) -> nn.Module:
    """`make_matcher`, and for a name that ends in + a matcher with places (`Registered` for EHNN).

    >>> make_model("ehnn-mlp+", 8, 4, refine=0).matcher.channels == 8 + CHANNELS
    True
    """
    base, more = name.removesuffix("+"), channels + CHANNELS
    if name == base or base not in MATCHERS:
        return make_matcher(name, channels, whole_channels, **options)
    if base in LAYERS:
        own = {key: options.pop(key) for key in ("refine", "refine_width", "width") if key in options}
        return Positional(Registered(partial(LAYERS[base], **options), more, whole_channels, **own))
    matcher = make_matcher(base, more, whole_channels, **options)
    if not isinstance(matcher, Matcher):
        raise ValueError(f"{base!r} has no variant with places: it makes no association hypergraph")
    return Positional(matcher)
