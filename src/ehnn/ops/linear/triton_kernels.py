"""A Triton kernel for products of many float32 rows: three TF32 products for each."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..dropout.triton_kernels import rows_of

BLOCK_M, BLOCK_N, BLOCK_K = 64, 128, 32


@triton.jit
def _linear_kernel(
    x, w, b, y, rows, n, k, x_run, x_row, w_run, w_row, b_run, y_run, HAS_BIAS: tl.constexpr,
    EVEN: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Programs that share rows stand next to each other: the rows are then read from memory once."""
    blocks = tl.cdiv(n, BLOCK_N)
    run, place = tl.program_id(1).to(tl.int64), tl.program_id(0)
    row = (place // blocks).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    col, part = (place % blocks) * BLOCK_N + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    live, in_n = row < rows, col < n
    x_at = x + run * x_run + (row * x_row)[:, None] + part[None, :]
    w_at = w + run * w_run + (col * w_row)[None, :] + part[:, None]
    total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for first in range(0, k, BLOCK_K):
        some, of_w = live[:, None], in_n[None, :]
        if not EVEN:
            some, of_w = some & (first + part < k)[None, :], of_w & (first + part < k)[:, None]
        left = tl.load(x_at + first, mask=some, other=0)
        total = tl.dot(left, tl.load(w_at + first, mask=of_w, other=0), total, input_precision="tf32x3")
    if HAS_BIAS:
        total += tl.load(b + run * b_run + col, mask=in_n, other=0)[None, :]
    tl.store(y + run * y_run + (row * n)[:, None] + col[None, :], total, mask=live[:, None] & in_n[None, :])


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``[runs, rows, k]``, ``[runs, n, k]``, ``[runs, n]`` or None → ``[runs, rows, n]``."""
    x, weight = rows_of(x), rows_of(weight)
    runs, rows, k = x.shape
    n = weight.shape[1]
    y = torch.empty(runs, rows, n, dtype=x.dtype, device=x.device)
    shift = weight if bias is None else bias.contiguous()
    grid = triton.cdiv(rows, BLOCK_M) * triton.cdiv(n, BLOCK_N), runs
    _linear_kernel[grid](
        x, weight, shift, y, rows, n, k, *x.stride()[:2], *weight.stride()[:2], shift.stride(0), y.stride(0),
        HAS_BIAS=bias is not None, EVEN=k % BLOCK_K == 0, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K,
        num_warps=4, num_stages=4,
    )  # fmt: skip
    return y
