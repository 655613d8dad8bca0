"""A narrow φ as one kernel: the GPU code under Triton's interpreter, and what the definition says."""

import pytest
import torch

from ehnn.hypergraph.pairs import selection
from ehnn.ops import Mask, PhiWeights, phi

from .ops_helpers import assert_passes_interpreted


def test_kernels_agree_with_the_definition():
    assert_passes_interpreted("triton_phi_cases.py", "all triton cases of phi passed")


def weights(d):
    gamma, beta, b1, b2, b3 = torch.randn(5, d)
    w1, (w2, w3) = torch.randn(d, d + 2) / 4, torch.randn(2, d, d) / 4
    return PhiWeights(gamma, beta, ((w1, b1), (w2, b2)), (w3, b3), None)


def test_it_is_the_formula():
    torch.manual_seed(0)
    d, index, codes = 16, torch.tensor([2, 0, 0, 1, 2]), torch.randn(3, 2)
    x, w = torch.randn(5, d), weights(16)
    (w1, b1), (w2, b2) = w.hidden
    n = (x - x.mean(1, keepdim=True)) / (
        x.var(1, correction=0, keepdim=True) + 1e-5
    ).sqrt() * w.gamma + w.beta
    h = (n @ w1[:, :d].T + codes[index] @ w1[:, d:].T + b1).relu()
    want = x + (h @ w2.T + b2).relu() @ w.last[0].T + w.last[1]
    got = phi(x, codes, selection(index, 3), w, (None, None))
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


def test_a_mask_for_other_rows_is_refused():
    mask = Mask(torch.tensor(1), 0.5, torch.arange(3), 9)
    with pytest.raises(ValueError, match="3 rows of a whole, but x has 2"):
        phi(torch.zeros(2, 18), None, None, weights(16), (None, mask))
