"""EHNN on the association hypergraph (section 4.3 of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNMLP, EHNNTransformer
from ehnn.nn.layer import Layer

from ..association import Association
from .channel import SinkhornChannel


class Equivariant(nn.Module):
    """One EHNN layer from candidates and hyperedges to candidates, then a Sinkhorn channel.

    Affinities of candidates and of hyperedges are two input channels that a linear map lifts to
    ``width``. The order embedding is concatenated, as everywhere in `ehnn.nn`.

    Args:
        layer: makes the layer from (d_in, d_out).
        width: channels of the layer.
        skip: the affinity of a candidate goes on beside its embedding, as one channel more. The layer
            averages it with that of a hundred hyperedges; with ``skip`` it is not lost.

    Shapes: a hypergraph with affinities → ``[c, width + 1]``, or ``width + 2`` with ``skip``.
    """

    orders = (2, 3)

    def __init__(self, layer: Callable[[int, int], Layer], width: int = 32, *, skip: bool = False) -> None:
        super().__init__()
        self.lift = nn.Linear(2, width)
        self.layer = layer(width, width)
        self.skip = skip
        self.channel = SinkhornChannel(width + skip)
        self.width = width + skip + 1

    def forward(self, h: Hypergraph, association: Association) -> Tensor:
        y = self.layer(self.lift(h.features("all")), association.overlap)
        y = torch.cat([y, h.features("nodes")], 1) if self.skip else y
        return self.channel(y, association.candidates)


def ehnn_mlp(width: int = 32, *, skip: bool = False, **options: Any) -> Equivariant:
    """EHNN-MLP with the paper's settings for Willow and PASCAL VOC; ``options`` of `EHNNMLP`."""
    return Equivariant(partial(EHNNMLP, **options), width, skip=skip)


def ehnn_transformer(width: int = 32, *, skip: bool = False, **options: Any) -> Equivariant:
    """EHNN-Transformer; ``options`` of `EHNNTransformer`.

    The paper has 4 heads; width 128 on PASCAL VOC; width 32, dropout 0.1 and global dropout 0.5 on Willow.
    """
    return Equivariant(partial(EHNNTransformer, **options), width, skip=skip)
