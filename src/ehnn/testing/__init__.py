"""Tests for your own layers: random hypergraphs, checks of equivariance and invariance.

Hypothesis strategies are in `ehnn.testing.strategies`, which needs ``hypothesis``.
"""

from .equivariance import assert_equivariant, assert_invariant
from .generate import random_hypergraph

__all__ = ["assert_equivariant", "assert_invariant", "random_hypergraph"]
