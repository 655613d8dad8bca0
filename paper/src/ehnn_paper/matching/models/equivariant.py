"""EHNN on the association hypergraph (section 4.3 of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNMLP, EHNNTransformer
from ehnn.nn.layer import Layer
from ehnn.ops import segment_mean

from ..association import Association
from .channel import SinkhornChannel


class Equivariant(nn.Module):
    """One EHNN layer from candidates and hyperedges to candidates, then a Sinkhorn channel.

    Affinities of candidates and of hyperedges are two kinds of input channels that a linear map lifts to
    ``width``. The order embedding is concatenated, as everywhere in `ehnn.nn`.

    Args:
        layer: makes the layer from (d_in, d_out).
        width: channels of the layer.
        d_in: channels of a candidate, 1 for its affinity.
        inside: a hyperedge also enters with the mean of its candidates. Without it, one layer cannot tell
            whether a hyperedge fits that joins likely candidates or unlikely ones, which is what matching
            by edges is about.
        skip: what a candidate enters with goes on beside its embedding. The layer averages it with a
            hundred hyperedges; with ``skip`` it is not lost.

    Shapes: a hypergraph with affinities, and ``x [c, d_in]`` in place of those of candidates →
    ``[c, width + 1]``, or ``2 · width + 1`` with ``skip``. The last channel is Sinkhorn's.
    """

    orders = (2, 3)

    def __init__(
        self,
        layer: Callable[[int, int], Layer],
        width: int = 32,
        *,
        d_in: int = 1,
        inside: bool = True,
        skip: bool = True,
    ) -> None:
        super().__init__()
        self.inside, self.skip = inside, skip
        self.lift = nn.Linear(d_in + 1, width)  # of a candidate's channels and of a hyperedge's affinity
        self.layer = layer(width, width)
        self.channel = SinkhornChannel(2 * width if skip else width)
        self.width = (2 * width if skip else width) + 1

    def forward(self, h: Hypergraph, association: Association, x: Tensor | None = None) -> Tensor:
        x = h.features("nodes") if x is None else x
        weight, of_edge = self.lift.weight.split([x.shape[1], 1], 1)
        own = F.linear(x, weight, self.lift.bias)
        inside = segment_mean(own, h.incidence) if self.inside else self.lift.bias
        edges = h.features("edges") * of_edge.T + inside
        y = self.layer(torch.cat([own, edges]), association.overlap)
        return self.channel(torch.cat([y, own], 1) if self.skip else y, association.candidates)


class Layers(nn.Module):
    """`Equivariant` layers one after another, of which each has parameters of its own.

    A candidate enters the next layer with what the one before says of it, its Sinkhorn channel included; a
    hyperedge with its affinity, and the mean of what its candidates enter with.

    Args:
        layer, width, options: as `Equivariant`.
        layers: how many.

    Shapes: as the last layer.
    """

    orders = Equivariant.orders

    def __init__(self, layer: Callable[[int, int], Layer], width: int, layers: int, **options: Any) -> None:
        super().__init__()
        if layers < 1:
            raise ValueError(f"layers must be at least 1, got {layers!r}")
        steps = [Equivariant(layer, width, **options)]
        for _ in range(layers - 1):
            steps.append(Equivariant(layer, width, d_in=steps[-1].width, **options))
        self.steps, self.width = nn.ModuleList(steps), steps[-1].width

    def forward(self, h: Hypergraph, association: Association) -> Tensor:
        x = None
        for step in self.steps:
            x = step(h, association, x)
        assert x is not None
        return x


def ehnn_mlp(
    width: int = 32, layers: int = 1, *, inside: bool = True, skip: bool = True, **options: Any
) -> nn.Module:
    """EHNN-MLP with the paper's settings for Willow and PASCAL VOC; ``options`` of `EHNNMLP`."""
    return _stacked(partial(EHNNMLP, **options), width, layers, inside=inside, skip=skip)


def ehnn_transformer(
    width: int = 32, layers: int = 1, *, inside: bool = True, skip: bool = True, **options: Any
) -> nn.Module:
    """EHNN-Transformer; ``options`` of `EHNNTransformer`.

    The paper has 4 heads; width 128 on PASCAL VOC; width 32, dropout 0.1 and global dropout 0.5 on Willow.
    Its search has 1, 2 and 3 layers, and it does not say which was chosen.
    """
    return _stacked(partial(EHNNTransformer, **options), width, layers, inside=inside, skip=skip)


def _stacked(layer: Callable[[int, int], Layer], width: int, layers: int, **options: Any) -> nn.Module:
    """One layer without a wrapper, so that what was trained before there were several can still be read."""
    return Equivariant(layer, width, **options) if layers == 1 else Layers(layer, width, layers, **options)
