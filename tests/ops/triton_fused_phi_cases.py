"""Cases for the kernels of a whole φ, run by test_ops_fused_phi.py in a process of their own.

Triton decides at import whether its kernels are interpreted, so the variable must be set before.
"""

from __future__ import annotations

import functools
import os

os.environ["TRITON_INTERPRET"] = "1"

import pytest
import torch
from ops_helpers import assert_as_good_as_plain, values_and_gradients
from torch import Tensor, library
from whole_phi_cases import (
    CODE,
    SEED,
    compare_compiled,
    compare_runs,
    compare_with_plain,
    inputs,
    kernel_of,
    masks_of,
    of_whole,
    orders_of,
    reason_of,
)

from ehnn.ops import Mask, PhiWeights, triton_halves, use_backend
from ehnn.ops.phi import fused as phi_fused
from ehnn.ops.phi import fused_kernels
from ehnn.ops.phi.fused import _backward, _forward, _unfold
from ehnn.ops.phi.naive import reference_phi

fused_phi = kernel_of(phi_fused)
reason = functools.partial(reason_of, phi_fused)


def check_compiled() -> None:
    tensors, pairs = compare_compiled(fused_phi)
    x, gamma, beta, w1, *rest = (t.unsqueeze(0) for t in tensors)
    masks, codes, b2 = [None, 0.0, None, None] * 2, torch.randn(1, 4, CODE), rest[2]
    forward = (x, pairs.index, None, codes, None, [gamma, beta, w1, *rest], *masks, 2, torch.float32)
    backward = (x, x, *_forward(*forward)[1:], pairs.index, b2, *masks, 2, False)
    unfold = (_backward(*backward)[1], torch.randn(1, 4, 16), codes, gamma, beta, w1, True)
    for op, args in ((_forward, forward), (_backward, backward), (_unfold, unfold)):
        library.opcheck(op.op, args, test_utils=("test_schema", "test_faketensor"))


def compare_one_hidden_layer() -> None:
    """The feed-forward part of a layer, with a residual table of many and of one row."""
    rows, d = 50, 16
    x, gamma, beta, _, b1, w1, b2, w2, _ = inputs(rows, d, 1)
    for numbers in (1, 3, 70):
        table, pairs = torch.randn(numbers, d), orders_of(rows, numbers)

        def run(fn, x, gamma, beta, w1, b1, w2, b2, table, pairs=pairs):
            weights = PhiWeights(gamma, beta, ((w1, b1),), (w2, b2), None)
            return fn(x, None, None, weights, (Mask(SEED, 0.5),), (table, pairs))

        def plain(*tensors: Tensor, run=run) -> Tensor:
            with use_backend("reference"):
                return run(reference_phi, *tensors)

        fused = functools.partial(run, fused_phi)
        assert_as_good_as_plain(fused, plain, [x, gamma, beta, w1, b1, w2, b2, table])


def check_equal_bits() -> None:
    """Sums over rows are made in a fixed order."""
    phi = of_whole(fused_phi, orders_of(100, 3), masks_of(100)[1])
    first, second = (values_and_gradients(phi, inputs(100, 16, 3)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def check_edges() -> None:
    """What does not fit, and the second derivative."""
    x = torch.zeros(2, 64)
    for d in phi_fused.WIDTHS:
        assert reason(d, torch.zeros(2, d)) is None
    phi_fused.FEWEST_ROWS = 3
    assert reason(64, x) == "it takes at least 3 rows, got 2"
    phi_fused.FEWEST_ROWS = 1
    assert reason(64, torch.zeros(10**6, 1).expand(-1, 64)) is None  # any number of rows
    assert reason(64, x.bfloat16()) is None
    for d in (48, 512, 8):
        assert "it takes equal widths" in reason(d, torch.zeros(2, d))
    assert "got 64 and 32" in reason(64, x, 32)
    assert "got 0" in reason(64, x[:0])
    assert all("float32" in reason(64, x.to(kind)) for kind in (torch.float64, torch.float16))
    with torch.autocast("cpu", torch.float16):
        assert "autocast to torch.float16" in reason(64, x)
    with torch.autocast("cpu", torch.bfloat16):
        assert reason(64, x) is None
    tensors = [t.requires_grad_() for t in inputs(3, 16, 1)]
    y = of_whole(fused_phi, None, (None, None))(*tensors)
    (dx,) = torch.autograd.grad(y.square().sum(), tensors[0], create_graph=True)
    with pytest.raises(RuntimeError, match="second derivative"):
        dx.sum().backward()


if __name__ == "__main__":
    phi_fused.WIDTHS, phi_fused.FEWEST_ROWS = (16, 32, 64), 1  # smaller cases take less time
    fused_kernels.SMALL_BLOCK = fused_kernels.BLOCK
    with use_backend("triton"):
        for orders, masks in zip((1, 3, 70), masks_of(33), strict=True):
            compare_with_plain(fused_phi, 33, 16, orders, masks)
        compare_with_plain(fused_phi, 1, 16, 3, masks_of(1)[1])
        for d in (32, 64):
            compare_with_plain(fused_phi, 33, d, 9, masks_of(33)[1])
        compare_runs(fused_phi, 20, 16, 1)
        check_compiled()
        check_edges()
        compare_one_hidden_layer()
        # Several blocks of rows for each program, and one program for each of several runs.
        fused_kernels.SMALL_BLOCK = 16
        fused_kernels.FORWARD = fused_kernels.BACKWARD = 2, 255
        triton_halves.GROUP = 2
        check_equal_bits()
        compare_with_plain(fused_phi, 100, 16, 3, masks_of(100)[1])
        compare_runs(fused_phi, 20, 16, 18)
    print("all cases of the fused phi passed")
