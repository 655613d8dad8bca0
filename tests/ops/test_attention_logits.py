"""The two ways to multiply rows by folded keys: all at once, or the rows of each 𝓘 by its own part."""

import pytest
import torch

from ehnn.ops.attention_logits import folded

from .operation_cases import check


@pytest.mark.parametrize("many", [0, 10**9])
@pytest.mark.parametrize("case", ["logits", "logits by size", "logits without pool"])
def test_both_ways_are_the_definition(monkeypatch, many, case):
    monkeypatch.setattr(folded, "_MANY", many)
    check(case, "folded", torch.float64)
