"""Products of many rows: three products of halves on a GPU, PyTorch's own elsewhere."""

import pytest
import torch
import torch.nn.functional as F

from ehnn.ops import linear

from .ops_helpers import assert_as_good_as_plain, assert_passes_interpreted


def test_the_kernel_agrees_with_pytorch():
    assert_passes_interpreted("triton_linear_cases.py", "all linear cases passed")


def test_on_a_cpu_it_is_pytorchs_product():
    x, w, b = torch.randn(9000, 128), torch.randn(128, 128), torch.randn(128)
    assert torch.equal(linear(x, w, b), F.linear(x, w, b))
    assert linear(x.double(), w.double()).dtype == torch.float64


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
@pytest.mark.parametrize("k", [128, 200, 256, 1024])
def test_on_a_gpu_it_is_as_accurate_as_float32(k, scale):
    torch.manual_seed(0)
    x = scale * torch.randn(20_000, k, device="cuda") * torch.randn(k, device="cuda").exp()
    w, b = torch.randn(256, k, device="cuda"), scale * torch.randn(256, device="cuda")
    assert not torch.equal(linear(x, w, b), F.linear(x, w, b)), "the kernel of its own did not run"
    assert_as_good_as_plain(linear, F.linear, [x, w, b])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_other_precisions_are_pytorchs():
    x, w = torch.randn(9000, 128, device="cuda"), torch.randn(128, 128, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        assert linear(x, w).dtype == torch.bfloat16
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        assert torch.equal(linear(x, w), F.linear(x, w))
    finally:
        torch.set_float32_matmul_precision(before)
