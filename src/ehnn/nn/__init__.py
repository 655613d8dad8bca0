"""Layers with parameters, ``layer(x, overlap) -> y``, and models that stack them."""

from . import baselines
from .layer import Layer
from .linear import EHNNLinear
from .memory import bounded_memory
from .mlp import EHNNMLP
from .order import OrderEncoding
from .phi import OrderBias, Phi
from .readout import Readout
from .stack import Stack, pairs_path
from .transformer import EHNNTransformer

__all__ = [
    "EHNNMLP",
    "EHNNLinear",
    "EHNNTransformer",
    "Layer",
    "OrderBias",
    "OrderEncoding",
    "Phi",
    "Readout",
    "Stack",
    "baselines",
    "bounded_memory",
    "pairs_path",
]
