"""The matchers of the paper's Tables 3 and 4, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from ..loss import hungarian_attention_loss
from .black_box import BlackBoxMatcher, hamming_loss
from .controls import Control
from .embedding import EmbeddingMatcher
from .equivariant import ehnn_mlp, ehnn_transformer
from .graduated import Graduated, sum_of_terms
from .matcher import Matcher
from .message_passing import ngm, nhgm
from .spectral import Spectral
from .synchronised import Synchronised


def _with_middle(middle: Callable[..., Any], plain: bool = False) -> Callable[..., nn.Module]:
    """Makes a `Matcher`; ``plain`` ones are of the time before SplineConv."""

    def make(
        channels: int, whole_channels: int, refine: int | None, refine_width: int | None, **options: Any
    ) -> Matcher:
        return Matcher(
            middle(**options),
            channels,
            whole_channels,
            refine=(0 if plain else 2) if refine is None else refine,
            refine_width=refine_width,
            geometric=plain and middle is not Spectral,
        )

    return make


def _embedding(
    channels: int, whole_channels: int, refine: int | None, refine_width: int | None, **options: Any
) -> nn.Module:
    return EmbeddingMatcher(channels, **options)


def _black_box(
    channels: int, whole_channels: int, refine: int | None, refine_width: int | None, **options: Any
) -> nn.Module:
    layers = 2 if refine is None else refine
    return BlackBoxMatcher(channels, whole_channels, refine=layers, refine_width=refine_width, **options)


def _synchronised(*args: Any, most: int = 4, **options: Any) -> nn.Module:
    return Synchronised(_with_middle(ngm, plain=True)(*args, **options), most)


def _graduated(
    channels: int, whole_channels: int, refine: int | None, refine_width: int | None, **options: Any
) -> nn.Module:
    return Graduated(channels, refine=2 if refine is None else refine, refine_width=refine_width, **options)


MATCHERS: dict[str, Callable[..., nn.Module]] = {
    "ehnn-mlp": _with_middle(ehnn_mlp),
    "ehnn-transformer": _with_middle(ehnn_transformer),
    "nhgm-v2": _with_middle(nhgm),
    "ngm-v2": _with_middle(ngm),
    "nhgm": _with_middle(nhgm, plain=True),
    "ngm": _with_middle(ngm, plain=True),
    "gmn": _with_middle(Spectral, plain=True),
    "pca-gm": _embedding,
    "ipca-gm": partial(_embedding, exchanges=3),
    "cie-h": partial(_embedding, edge_channels=True),
    "bbgm": _black_box,
    "nmgm": _synchronised,
    "gann-mgm": _graduated,
}
"""Matchers that are trained; each takes ``channels``, ``whole_channels`` and options of its own."""

CONTROLS = ("features", "coordinates")
"""Scores without parameters."""

LOSSES = {"cie-h": hungarian_attention_loss, "bbgm": hamming_loss, "gann-mgm": sum_of_terms}
"""Matchers that are trained with another loss than `permutation_loss`."""


def make_matcher(
    name: str,
    channels: int = 1024,
    whole_channels: int = 512,
    *,
    refine: int | None = None,
    refine_width: int | None = None,
    **options: Any,
) -> nn.Module:
    """The matcher called ``name``, of `MATCHERS` or `CONTROLS`.

    Args:
        name: as in the results, for example ``"ehnn-mlp"``.
        channels, whole_channels: of the features of keypoints and images.
        refine, refine_width: SplineConv layers, where the matcher has them (2 unless told), and the width
            between them.
        options: of the network, for example ``width``.

    >>> make_matcher("nhgm-v2", channels=8).middle.orders
    (2, 3)
    """
    if name in CONTROLS:
        if options:
            raise ValueError(f"matcher {name!r} has no options, got {sorted(options)}")
        return Control(name)
    if name not in MATCHERS:
        raise ValueError(f"matcher must be one of {(*MATCHERS, *CONTROLS)}, got {name!r}")
    return MATCHERS[name](channels, whole_channels, refine=refine, refine_width=refine_width, **options)
