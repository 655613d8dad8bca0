"""Triton kernels for what stands between two matrix products: shift, ReLU and dropout in one pass.

All take ``[runs, rows, d]`` tensors whose channels are next to each other in memory; runs and rows may lie
in any order.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _kept(seed, position, p):
    """Whether an element is kept: the hash of `ehnn.ops.dropout.uniform`, in 32 bits."""
    value = (position * 0x85EBCA6B + seed).to(tl.uint32)
    value = (value ^ (value >> 16)) * 0x7FEB352D
    value = (value ^ (value >> 16)) * 0x846CA68B
    value = value ^ (value >> 15)
    return value.to(tl.float32) * 2.3283064365386963e-10 >= p


@triton.jit
def _forward_kernel(
    x, table, index, seed, numbers, y, runs_rows, rows, offset, d, x_run, x_row, y_run, y_row, t_run,
    t_row, p, scale, SHIFT: tl.constexpr, HAS_INDEX: tl.constexpr, DROP: tl.constexpr, NUMBERED: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    place = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    live, in_d = place < runs_rows, cols < d
    both = live[:, None] & in_d[None, :]
    run, row = place // rows, place % rows
    value = tl.load(x + (run * x_run + row * x_row)[:, None] + cols[None, :], mask=both, other=0)
    if SHIFT:
        number = tl.load(index + row, mask=live, other=0) if HAS_INDEX else row * 0
        value += tl.load(table + (run * t_run + number * t_row)[:, None] + cols[None, :], mask=both, other=0)
        value = tl.maximum(value, 0, propagate_nan=tl.PropagateNan.ALL)
    if DROP:
        key = tl.load(seed + run, mask=live, other=0) + offset
        name = tl.load(numbers + row, mask=live, other=0) if NUMBERED else row
        keep = _kept(key[:, None], name[:, None] * d + cols[None, :], p)
        value = tl.where(keep, value * scale, 0)
    tl.store(y + (run * y_run + row * y_row)[:, None] + cols[None, :], value, mask=both)


@triton.jit
def _gate_kernel(
    grad, y, dx, runs_rows, rows, d, g_run, g_row, y_run, y_row, o_run, o_row, scale,
    BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    place = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    both = (place < runs_rows)[:, None] & (cols < d)[None, :]
    run, row = place // rows, place % rows
    g = tl.load(grad + (run * g_run + row * g_row)[:, None] + cols[None, :], mask=both, other=0)
    out = tl.load(y + (run * y_run + row * y_row)[:, None] + cols[None, :], mask=both, other=0)
    value = tl.where(out > 0, g * scale, 0)
    tl.store(dx + (run * o_run + row * o_row)[:, None] + cols[None, :], value, mask=both)


def _launch(x: Tensor) -> tuple[tuple[int, int], dict[str, Any]]:
    d = x.shape[2]
    block_d = min(triton.next_power_of_2(d), 256)
    block_r = max(1, 2048 // block_d)
    grid = (triton.cdiv(x.shape[0] * x.shape[1], block_r), triton.cdiv(d, block_d))
    return grid, {"BLOCK_R": block_r, "BLOCK_D": block_d, "num_warps": 4}


def rows_of(x: Tensor) -> Tensor:
    """``x [runs, rows, d]`` with channels next to each other."""
    return x if x.stride(2) == 1 else x.contiguous()


def forward(
    x: Tensor, table: Tensor | None, index: Tensor | None, seed: Tensor | None, p: float,
    numbers: Tensor | None, whole: int | None,
) -> Tensor:  # fmt: skip
    """``dropout(relu(x + table[index]))``, or ``dropout(x)`` without a table."""
    x = rows_of(x)
    y = torch.empty_like(x)
    if not x.numel():
        return y
    grid, shape = _launch(x)
    shift = x if table is None else rows_of(table)
    offset = 0x9E3779B9 * (whole or x.shape[1]) & 0xFFFFFFFF  # the hash has 32 bits
    given = [x if t is None else t for t in (index, seed, numbers)]  # what is not read is any pointer
    _forward_kernel[grid](
        x, shift, *given, y, x.shape[0] * x.shape[1], x.shape[1], offset, x.shape[2],
        *x.stride()[:2], *y.stride()[:2], *shift.stride()[:2], p, 1 / (1 - p), SHIFT=table is not None,
        HAS_INDEX=index is not None, DROP=seed is not None and p > 0, NUMBERED=numbers is not None, **shape,
    )  # fmt: skip
    return y


def gate(grad: Tensor, y: Tensor, scale: float) -> Tensor:
    """``scale · grad`` where ``y > 0``, else 0."""
    grad, y = rows_of(grad), rows_of(y)
    out = torch.empty_like(y)
    if out.numel():
        grid, shape = _launch(y)
        _gate_kernel[grid](
            grad, y, out, y.shape[0] * y.shape[1], y.shape[1], y.shape[2], *grad.stride()[:2],
            *y.stride()[:2], *out.stride()[:2], scale, **shape,
        )  # fmt: skip
    return out
