"""Triton kernels for a network with one hidden layer on few rows; products are exact float32."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..dropout.triton_kernels import rows_of


@triton.jit
def _tile(a, first, rows, cols, ROW: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """R rows of a matrix from ``first`` on, of ``cols`` channels; zeros beyond."""
    i, j = first + tl.arange(0, R), tl.arange(0, C)
    live = (i < rows)[:, None] & (j < cols)[None, :]
    return tl.load(a + i[:, None] * ROW + j[None, :], mask=live, other=0.0)


@triton.jit
def _hidden(codes, w1, b1, first, rows, c, d, C_ROW: tl.constexpr, W1_ROW: tl.constexpr, C: tl.constexpr,
            D: tl.constexpr):  # fmt: skip
    """16 rows of the codes, and of the hidden layer."""
    code = _tile(codes, first, rows, c, C_ROW, 16, C)
    j = tl.arange(0, D)
    shift = tl.load(b1 + j, mask=j < d, other=0.0)
    z = tl.dot(code, tl.trans(_tile(w1, 0, d, c, W1_ROW, D, C)), input_precision="ieee") + shift[None, :]
    return code, tl.maximum(z, 0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit(do_not_specialize=["rows"])
def _forward_kernel(
    codes, w1, b1, w2, b2, y, rows, c, d, codes_run, w1_run, b1_run, w2_run, b2_run, C_ROW: tl.constexpr,
    W1_ROW: tl.constexpr, W2_ROW: tl.constexpr, C: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    run, first = tl.program_id(1).to(tl.int64), tl.program_id(0) * 16
    _, h = _hidden(
        codes + run * codes_run, w1 + run * w1_run, b1 + run * b1_run, first, rows, c, d, C_ROW, W1_ROW, C, D
    )
    i, j = first + tl.arange(0, 16), tl.arange(0, D)
    value = tl.dot(h, tl.trans(_tile(w2 + run * w2_run, 0, d, d, W2_ROW, D, D)), input_precision="ieee")
    value += tl.load(b2 + run * b2_run + j, mask=j < d, other=0.0)[None, :]
    live = (i < rows)[:, None] & (j < d)[None, :]
    tl.store(y + run * rows * d + i[:, None] * d + j[None, :], value, mask=live)


@triton.jit(do_not_specialize=["rows"])
def _backward_kernel(
    grad, codes, w1, b1, w2, of_w1, of_b1, of_w2, of_b2, rows, c, d, grad_run, codes_run, w1_run, b1_run,
    w2_run, G_ROW: tl.constexpr, C_ROW: tl.constexpr, W1_ROW: tl.constexpr, W2_ROW: tl.constexpr,
    C: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """A program for the gradients of each layer, over all rows."""
    run, last = tl.program_id(1).to(tl.int64), tl.program_id(0) == 1
    codes += run * codes_run
    w1 += run * w1_run
    b1 += run * b1_run
    grad += run * grad_run
    i, j = tl.arange(0, D), tl.arange(0, C)
    vector = tl.zeros([D], tl.float32)
    if last:
        square = tl.zeros([D, D], tl.float32)
        for first in range(0, rows, 16):
            _, h = _hidden(codes, w1, b1, first, rows, c, d, C_ROW, W1_ROW, C, D)
            g = _tile(grad, first, rows, d, G_ROW, 16, D)
            square += tl.dot(tl.trans(g), h, input_precision="ieee")
            vector += tl.sum(g, 0)
        live = (i < d)[:, None] & (i < d)[None, :]
        tl.store(of_w2 + run * d * d + i[:, None] * d + i[None, :], square, mask=live)
        tl.store(of_b2 + run * d + i, vector, mask=i < d)
    else:
        product = tl.zeros([D, C], tl.float32)
        w = _tile(w2 + run * w2_run, 0, d, d, W2_ROW, D, D)
        for first in range(0, rows, 16):
            code, h = _hidden(codes, w1, b1, first, rows, c, d, C_ROW, W1_ROW, C, D)
            g = tl.dot(_tile(grad, first, rows, d, G_ROW, 16, D), w, input_precision="ieee")
            g = tl.where(h > 0, g, 0.0)
            product += tl.dot(tl.trans(g), code, input_precision="ieee")
            vector += tl.sum(g, 0)
        live = (i < d)[:, None] & (j < c)[None, :]
        tl.store(of_w1 + run * d * c + i[:, None] * c + j[None, :], product, mask=live)
        tl.store(of_b1 + run * d + i, vector, mask=i < d)


def forward(codes: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    """``[runs, rows, d]`` of codes ``[runs, rows, c]``."""
    codes, w1, w2, b1, b2 = *map(rows_of, (codes, w1, w2)), b1.contiguous(), b2.contiguous()
    (runs, rows, c), d = codes.shape, w2.shape[1]
    y = torch.empty(runs, rows, d, dtype=codes.dtype, device=codes.device)
    _forward_kernel[triton.cdiv(rows, 16), runs](
        codes, w1, b1, w2, b2, y, rows, c, d, *(t.stride(0) for t in (codes, w1, b1, w2, b2)),
        **_shape(codes, w1, w2),
    )  # fmt: skip
    return y


def backward(grad: Tensor, codes: Tensor, w1: Tensor, b1: Tensor, w2: Tensor) -> tuple[Tensor, ...]:
    """The gradients of w1, b1, w2 and b2."""
    grad, codes, w1, w2, b1 = *map(rows_of, (grad, codes, w1, w2)), b1.contiguous()
    (runs, rows, c), d = codes.shape, w2.shape[1]
    made = [
        torch.empty(runs, *shape, dtype=codes.dtype, device=codes.device)
        for shape in ((d, c), (d,), (d, d), (d,))
    ]
    _backward_kernel[2, runs](
        grad, codes, w1, b1, w2, *made, rows, c, d, *(t.stride(0) for t in (grad, codes, w1, b1, w2)),
        G_ROW=grad.stride(1), **_shape(codes, w1, w2),
    )  # fmt: skip
    return tuple(made)


def _shape(codes: Tensor, w1: Tensor, w2: Tensor) -> dict[str, Any]:
    sides = (max(16, triton.next_power_of_2(n)) for n in (codes.shape[2], w2.shape[1]))
    rows = zip(("C_ROW", "W1_ROW", "W2_ROW"), (codes, w1, w2), strict=True)
    return {**{name: t.stride(1) for name, t in rows}, **dict(zip("CD", sides, strict=True)), "num_warps": 8}
