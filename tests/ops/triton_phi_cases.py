"""Cases for the kernels of a narrow φ, run by test_ops_small_phi.py in a process of their own.

Triton decides at import whether its kernels are interpreted, so the variable must be set before.
"""

from __future__ import annotations

import functools
import os

os.environ["TRITON_INTERPRET"] = "1"

import pytest
import torch
from torch import library
from whole_phi_cases import (
    compare_compiled,
    compare_runs,
    compare_with_plain,
    inputs,
    kernel_of,
    masks_of,
    of_whole,
    reason_of,
)

from ehnn.ops import use_backend
from ehnn.ops.phi import triton as phi_triton
from ehnn.ops.phi import triton_kernels
from ehnn.ops.phi.triton import _backward, _forward

small_phi = kernel_of(phi_triton)
reason = functools.partial(reason_of, phi_triton)


def check_compiled() -> None:
    tensors, pairs = compare_compiled(small_phi)
    x, gamma, beta, w1, _, *rest = (t.unsqueeze(0) for t in tensors)
    params = [gamma, beta, w1[..., :16], *rest]
    given = (x, torch.randn(1, 4, 16), pairs.index, params, *[None, 0.0, None, None] * 2)
    for op, args in ((_forward, given), (_backward, (x, *given))):
        library.opcheck(op.op, args, test_utils=("test_schema", "test_faketensor"))


def check_edges() -> None:
    """What does not fit, and the second derivative."""
    x = torch.zeros(2, 64)
    assert reason(64, x) is None
    for d in (48, 256, 8):
        assert "it takes equal widths" in reason(d, torch.zeros(2, d))
    assert "got 64 and 32" in reason(64, x, 32)
    assert "it takes 1 to 4096 rows" in reason(64, x[:0])
    assert "it takes 1 to 4096 rows" in reason(64, torch.zeros(4097, 64))
    assert all("float32" in reason(64, x.to(kind)) for kind in (torch.float64, torch.float16))
    assert reason(128, torch.zeros(2, 128)) is not None
    torch.set_float32_matmul_precision("high")
    assert reason(128, torch.zeros(2, 128)) is None
    torch.set_float32_matmul_precision("highest")
    with torch.autocast("cpu", torch.bfloat16):
        assert "autocast" in reason(64, x)
    tensors = [t.requires_grad_() for t in inputs(3, 16, 1)]
    y = of_whole(small_phi, None, (None, None))(*tensors)
    (dx,) = torch.autograd.grad(y.square().sum(), tensors[0], create_graph=True)
    with pytest.raises(RuntimeError, match="second derivative"):
        dx.sum().backward()


if __name__ == "__main__":
    with use_backend("triton"):
        for rows in (1, 5, 16, 33, 100):
            for orders, masks in zip((1, 3, 20), masks_of(rows), strict=True):
                compare_with_plain(small_phi, rows, 16, orders, masks)
        compare_with_plain(small_phi, 33, 16, 1, masks_of(33)[1])
        compare_with_plain(small_phi, 33, 16, 20, masks_of(33)[1])
        for d in (32, 64):
            compare_with_plain(small_phi, 33, d, 9, masks_of(33)[1])
        compare_runs(small_phi, 20, 16, 1)
        compare_runs(small_phi, 20, 16, 20)
        check_compiled()
        check_edges()
        # Several larger blocks of rows for each program, and one program for each of several runs.
        triton_kernels.PROGRAMS, triton_kernels.FEW_ROWS = 2, 0
        compare_with_plain(small_phi, 100, 16, 3, masks_of(100)[1])
        compare_runs(small_phi, 40, 16, 5)
    print("all triton cases of phi passed")
