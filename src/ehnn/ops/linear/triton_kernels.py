"""Triton kernels for products of many float32 rows, made of halves: see `triton_halves`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..dropout.triton_kernels import rows_of
from ..triton_halves import _halves, _halves_of_rows, _power, _product, _split, processors, total_of

BLOCK_M, BLOCK_N, BLOCK_K = 64, 128, 64
"""Of a product: rows, and at most so many columns and channels at a time."""
TILE, ROWS = 64, 64
"""Of a sum over rows: the sides of the square that a program makes, and rows at a time."""


@triton.jit
def _halves_kernel(w, halves, power, n, k, w_run, w_row, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """The halves of a weight ``[n, k]``, with a power of two for each block of rows."""
    run, block = tl.program_id(1).to(tl.int64), tl.program_id(0)
    row, col = block * BLOCK_N + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    w += run * w_run
    amax = tl.zeros([BLOCK_N, BLOCK_K], tl.float32)
    for first in range(0, k, BLOCK_K):
        both = (row < n)[:, None] & (first + col < k)[None, :]
        value = tl.load(w + row[:, None] * w_row + (first + col)[None, :], mask=both, other=0.0)
        amax = tl.maximum(amax, tl.abs(value))
    largest = tl.max(amax)
    up, down = _power(largest)
    up += largest - largest
    tl.store(power + run * tl.num_programs(0) + block, down)
    for first in range(0, k, BLOCK_K):
        both = (row < n)[:, None] & (first + col < k)[None, :]
        value = tl.load(w + row[:, None] * w_row + (first + col)[None, :], mask=both, other=0.0)
        high, low = _split(value * up)
        place = halves + run * 2 * n * k + row[:, None] * k + (first + col)[None, :]
        tl.store(place, high, mask=both)
        tl.store(place + n * k, low, mask=both)


@triton.jit
def _linear_kernel(
    x, halves, power, b, y, rows, n, k, x_run, x_row, b_run, y_run, HAS_BIAS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Programs that share rows stand next to each other: the rows are then read from memory once."""
    blocks = tl.cdiv(n, BLOCK_N)
    run, place = tl.program_id(1).to(tl.int64), tl.program_id(0)
    row = (place // blocks).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    col, part = (place % blocks) * BLOCK_N + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    live, in_n = row < rows, col < n
    x_at = x + run * x_run + (row * x_row)[:, None] + part[None, :]
    w_at = halves + run * 2 * n * k + (col * k)[None, :] + part[:, None]
    total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for first in range(0, k, BLOCK_K):
        some, of_w = live[:, None] & (first + part < k)[None, :], in_n[None, :] & (first + part < k)[:, None]
        high, low, down = _halves_of_rows(tl.load(x_at + first, mask=some, other=0.0))
        w_high = tl.load(w_at + first, mask=of_w, other=0.0)
        w_low = tl.load(w_at + first + n * k, mask=of_w, other=0.0)
        total += _product(high, low, w_high, w_low) * down
    total *= tl.load(power + run * blocks + place % blocks)
    if HAS_BIAS:
        total += tl.load(b + run * b_run + col, mask=in_n, other=0)[None, :]
    tl.store(y + run * y_run + (row * n)[:, None] + col[None, :], total, mask=live[:, None] & in_n[None, :])


@triton.jit(do_not_specialize=["rows"])
def _sum_kernel(a, b, part, rows, n, k, a_run, a_row, b_run, b_row, TILE: tl.constexpr, ROWS: tl.constexpr):
    """Σ a bᵀ over rows: a program makes a square of it, of every so many-th block of rows."""
    run, tile, program = tl.program_id(2).to(tl.int64), tl.program_id(1), tl.program_id(0)
    blocks, programs = tl.cdiv(k, TILE), tl.num_programs(0)
    i, j = tile // blocks * TILE + tl.arange(0, TILE), tile % blocks * TILE + tl.arange(0, TILE)
    total = tl.zeros([TILE, TILE], tl.float32)
    for first in tl.range(program * ROWS, rows, programs * ROWS, disable_licm=True):
        row = first + tl.arange(0, ROWS).to(tl.int64)
        live = (row < rows)[:, None]
        left = tl.load(
            a + run * a_run + row[:, None] * a_row + i[None, :], mask=live & (i < n)[None, :], other=0.0
        )
        right = tl.load(
            b + run * b_run + row[:, None] * b_row + j[None, :], mask=live & (j < k)[None, :], other=0.0
        )
        high, low, down = _halves(left)
        b_high, b_low, b_down = _halves(right)
        total += _product(tl.trans(high), tl.trans(low), b_high, b_low) * (down * b_down)
    part += (run * programs + program) * n * k
    both = (i < n)[:, None] & (j < k)[None, :]
    tl.store(part + i[:, None] * k + j[None, :], total, mask=both)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``[runs, rows, k]``, ``[runs, n, k]``, ``[runs, n]`` or None → ``[runs, rows, n]``."""
    if (
        bias is None
        and min(x.shape[1:]) > 1
        and x.stride(1) == weight.stride(1) == 1
        and x.shape[1] < x.shape[2]
    ):
        return sum_of_products(x.mT, weight.mT)
    x, weight = rows_of(x), rows_of(weight)
    runs, rows, k = x.shape
    n = weight.shape[1]
    block_n, block_k = (
        min(most, max(16, triton.next_power_of_2(m))) for most, m in ((BLOCK_N, n), (BLOCK_K, k))
    )
    blocks = triton.cdiv(n, block_n)
    halves = torch.empty(runs, 2, n, k, dtype=torch.float16, device=x.device)
    power = torch.empty(runs, blocks, dtype=torch.float32, device=x.device)
    _halves_kernel[blocks, runs](
        weight, halves, power, n, k, *weight.stride()[:2], BLOCK_N=block_n, BLOCK_K=block_k
    )
    y = torch.empty(runs, rows, n, dtype=x.dtype, device=x.device)
    shift = power if bias is None else bias.contiguous()
    _linear_kernel[triton.cdiv(rows, BLOCK_M) * blocks, runs](
        x, halves, power, shift, y, rows, n, k, *x.stride()[:2], shift.stride(0), y.stride(0),
        HAS_BIAS=bias is not None, BLOCK_M=BLOCK_M, BLOCK_N=block_n, BLOCK_K=block_k, num_warps=4,
        num_stages=2,
    )  # fmt: skip
    return y


def sum_of_products(a: Tensor, b: Tensor) -> Tensor:
    """``[runs, rows, n]``, ``[runs, rows, k]`` → ``[runs, n, k]``: aᵀ b, in a fixed order."""
    a, b = rows_of(a), rows_of(b)
    (runs, rows, n), k = a.shape, b.shape[2]
    tiles = triton.cdiv(n, TILE) * triton.cdiv(k, TILE)
    programs = max(1, min(triton.cdiv(rows, ROWS), 3 * processors(a.device) // (tiles * runs)))
    part = torch.empty(runs, programs, n * k, dtype=torch.float32, device=a.device)
    _sum_kernel[programs, tiles, runs](
        a,
        b,
        part,
        rows,
        n,
        k,
        *a.stride()[:2],
        *b.stride()[:2],
        TILE=TILE,
        ROWS=ROWS,
        num_warps=4,
        num_stages=2,
    )
    return total_of(part).reshape(runs, n, k)
