"""The Triton kernels under Triton's interpreter: the GPU code, checked on a CPU."""

from .ops_helpers import assert_passes_interpreted


def test_kernels_agree_with_the_plain_versions():
    assert_passes_interpreted("triton_cases.py", "all triton cases passed")
