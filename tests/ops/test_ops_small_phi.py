"""A narrow φ as one kernel: the GPU code under Triton's interpreter, and the plain version."""

import pytest
import torch

from ehnn.hypergraph.pairs import selection
from ehnn.ops.dropout import Mask
from ehnn.ops.small_phi import small_phi
from ehnn.ops.small_phi import small_phi_fits as fits

from .ops_helpers import assert_passes_interpreted


def test_kernels_agree_with_the_plain_version():
    assert_passes_interpreted("triton_phi_cases.py", "all triton cases of phi passed")


def test_off_the_gpu_it_is_the_formula():
    torch.manual_seed(0)
    d, index = 16, torch.tensor([2, 0, 0, 1, 2])
    x, table, gamma, beta = torch.randn(5, d), torch.randn(3, d), torch.randn(d), torch.randn(d)
    (w1, w2, w3), (b2, b3) = torch.randn(3, d, d) / 4, torch.randn(2, d)
    assert not fits(x, d, d)
    n = (x - x.mean(1, keepdim=True)) / (x.var(1, correction=0, keepdim=True) + 1e-5).sqrt() * gamma + beta
    want = x + ((n @ w1.T + table[index]).relu() @ w2.T + b2).relu() @ w3.T + b3
    got = small_phi(x, table, selection(index, 3), gamma, beta, w1, w2, b2, w3, b3)
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


def test_a_mask_for_other_rows_is_refused():
    d = 16
    x, weight, one = torch.zeros(2, d), torch.zeros(d, d), torch.zeros(d)
    mask = Mask(torch.tensor(1), 0.5, torch.arange(3), 9)
    with pytest.raises(ValueError, match="3 rows of a whole, but x has 2"):
        small_phi(x, one[None], None, one, one, weight, weight, one, weight, one, (None, mask))
