"""The two ways to multiply rows by folded keys: all at once, or the rows of each 𝓘 by its own part."""

import pytest
import torch

from ehnn.nn import EHNNTransformer
from ehnn.ops.attention_logits import folded
from ehnn.ops.grouped_matmul import by_length
from ehnn.testing import random_hypergraph

from .operation_cases import check


@pytest.mark.parametrize("many", [0, 10**9])
@pytest.mark.parametrize("case", ["logits", "logits by size", "logits without pool"])
def test_both_ways_are_the_definition(monkeypatch, many, case):
    monkeypatch.setattr(folded, "_MANY", many)
    check(case, "folded", torch.float64)


def test_a_second_pass_makes_no_plan(monkeypatch):
    """Making one waits for the GPU, which is an error while a CUDA graph is recorded."""
    made = []
    split = by_length._split_by_length
    monkeypatch.setattr(by_length, "_split_by_length", lambda ptr: made.append(ptr) or split(ptr))
    monkeypatch.setattr(folded, "_MANY", 0)
    h = random_hypergraph(30, 12, orders=(2, 6), seed=0)
    layer, x = EHNNTransformer(8, 8, heads=2), torch.randn(12, 8)
    first = layer(x, h.overlap("edges", "edges"))
    assert len(made) == 1
    torch.testing.assert_close(layer(x, h.overlap("edges", "edges")), first)
    assert len(made) == 1
