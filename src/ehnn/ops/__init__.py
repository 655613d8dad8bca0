"""Sums over pointers, without parameters: each has a plain reference beside its fast versions."""

from .backend import use_backend
from .dropout import Mask, seeded_dropout
from .grouped_matmul import grouped_matmul
from .join import join
from .layer_norm import layer_norm, norm_and_skip
from .linear import linear
from .segment_sum import segment_mean, segment_sum, spread
from .shifted_relu import shifted_relu
from .small_phi import small_phi, small_phi_fits
from .softmax_sum import reference_softmax_sum, segment_softmax_sum

__all__ = [
    "Mask",
    "grouped_matmul",
    "join",
    "layer_norm",
    "linear",
    "norm_and_skip",
    "reference_softmax_sum",
    "seeded_dropout",
    "segment_mean",
    "segment_softmax_sum",
    "segment_sum",
    "shifted_relu",
    "small_phi",
    "small_phi_fits",
    "spread",
    "use_backend",
]
