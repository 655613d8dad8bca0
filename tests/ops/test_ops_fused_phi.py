"""φ for any number of rows as one kernel: under Triton's interpreter, and compiled on a GPU."""

import pytest
import torch

from ehnn.hypergraph.pairs import selection
from ehnn.ops import Mask, PhiWeights
from ehnn.ops.phi import PHI, fused
from ehnn.ops.phi.naive import reference_phi

from .ops_helpers import assert_as_good_as_plain, assert_passes_interpreted, values_and_gradients


def test_kernels_agree_with_the_definition():
    assert_passes_interpreted("triton_fused_phi_cases.py", "all cases of the fused phi passed")


def test_it_is_off_unless_asked_for():
    square, vector = torch.zeros(16, 16), torch.zeros(16)
    weights = PhiWeights(vector, vector, ((square, vector), (square, vector)), (square, vector), None)
    assert fused.supports(torch.zeros(3, 16), None, None, weights, (None, None), None) == ""
    names = [one.name for one in PHI.implementations]
    assert names.index("fused") < names.index("triton") < names.index("steps")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("rows", [64, 300, 5000, 40_003])
@pytest.mark.parametrize("d", [32, 64])
def test_on_a_gpu_it_is_as_accurate_as_float32(monkeypatch, rows, d):
    monkeypatch.setattr(fused, "ENABLED", True)
    torch.manual_seed(rows)
    orders = selection(torch.arange(rows, device="cuda") % min(rows, 7), min(rows, 7))
    codes = torch.randn(orders.num_cols, 3, device="cuda")
    masks = Mask(torch.tensor(7, device="cuda"), 0.5), None

    def phi(run, x, gamma, beta, w1, b1, w2, b2, w3, b3):
        weights = PhiWeights(gamma, beta, ((w1, b1), (w2, b2)), (w3, b3), None)
        assert run is reference_phi or fused.supports(x, codes, orders, weights, masks, None) is None
        return run(x, codes.to(x.dtype), orders, weights, masks, None)

    shapes = [(rows, d), (d,), (d,), (d, d + 3), (d,), (d, d), (d,), (d, d), (d,)]
    inputs = [torch.randn(s, device="cuda") / (1 if len(s) == 1 or s[0] == rows else d**0.5) for s in shapes]

    def fast(*tensors):
        return phi(fused.run, *tensors)

    assert_as_good_as_plain(fast, lambda *tensors: phi(reference_phi, *tensors), inputs)
    first, second = values_and_gradients(fast, inputs), values_and_gradients(fast, inputs)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
