"""Layers with parameters, ``layer(x, overlap) -> y``, and models that stack them."""

from ehnn._utils.moved import former

from . import baselines
from .dropout import Dropout
from .layer import Layer
from .linear import EHNNLinear
from .mlp import EHNNMLP
from .order import OrderEncoding
from .phi import OrderBias, Phi
from .readout import Readout
from .stack import Block, Stack, pairs_path
from .transformer import EHNNTransformer

__all__ = [
    "EHNNMLP",
    "Block",
    "Dropout",
    "EHNNLinear",
    "EHNNTransformer",
    "Layer",
    "OrderBias",
    "OrderEncoding",
    "Phi",
    "Readout",
    "Stack",
    "baselines",
    "pairs_path",
]

__getattr__ = former(
    __name__,
    {"bounded_memory": "ehnn.ops:bounded_memory"},
)
