"""Relations that bring their own sums do not go to a kernel that reads indices."""

from __future__ import annotations

import copy

import pytest
import torch

import ehnn
from ehnn.nn import EHNNMLP
from ehnn.ops import explain
from ehnn.ops._native.compiled import missing
from ehnn.overlap import Overlap

pytestmark = pytest.mark.skipif(missing("layer", torch.float32) is not None, reason="needs a C compiler")


class Drawn(Overlap):
    """As a sampled or sharded relation."""


def test_the_kernel_of_a_layer_declines_them() -> None:
    o = ehnn.testing.random_hypergraph(20, 12, (1, 5), seed=0).overlap("nodes", "edges")
    drawn = copy.copy(o)
    object.__setattr__(drawn, "__class__", Drawn)
    layer, x = EHNNMLP(16, 16), torch.randn(20, 16)
    for relation, declined in ((o, False), (drawn, True)):
        choices = explain(layer, x, relation, quiet=True)
        (choice,) = (c for c in choices if c.operation == "ehnn_mlp")
        assert any("sharded, sampled" in reason for _, reason in choice.declined) == declined
