"""Triton kernels for the steps between two matrix products: shift, ReLU and dropout in one pass.

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
    """Whether an element is kept: the hash of `ehnn.ops.dropout.naive.uniform`, in 32 bits."""
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
    grad, y, dx, part, rows, d, g_run, g_row, y_run, y_row, o_run, o_row, scale, SUM: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """A program takes every so many-th block of rows of its run, and adds up what it wrote."""
    run, program, programs = tl.program_id(2).to(tl.int64), tl.program_id(0), tl.num_programs(0)
    cols = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    total = tl.zeros([BLOCK_R, BLOCK_D], dtype=ACC)
    for first in range(program * BLOCK_R, rows, programs * BLOCK_R):
        row = first + tl.arange(0, BLOCK_R).to(tl.int64)
        both = (row < rows)[:, None] & (cols < d)[None, :]
        g = tl.load(grad + run * g_run + (row * g_row)[:, None] + cols[None, :], mask=both, other=0)
        out = tl.load(y + run * y_run + (row * y_row)[:, None] + cols[None, :], mask=both, other=0)
        value = tl.where(out > 0, g * scale, 0)
        tl.store(dx + run * o_run + (row * o_row)[:, None] + cols[None, :], value, mask=both)
        if SUM:
            total += value.to(ACC)
    if SUM:
        tl.store(part + (run * programs + program) * d + cols, tl.sum(total, 0), mask=cols < d)


@triton.jit
def _join_kernel(
    z, x, table, index, y, runs_rows, rows, d, z_run, z_row, x_run, x_row, t_run, t_row, y_run, y_row,
    HAS_INDEX: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    place = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    live = place < runs_rows
    both = live[:, None] & (cols < d)[None, :]
    run, row = place // rows, place % rows
    value = tl.load(z + (run * z_run + row * z_row)[:, None] + cols[None, :], mask=both, other=0)
    value += tl.load(x + (run * x_run + row * x_row)[:, None] + cols[None, :], mask=both, other=0)
    number = tl.load(index + row, mask=live, other=0) if HAS_INDEX else row * 0
    value += tl.load(table + (run * t_run + number * t_row)[:, None] + cols[None, :], mask=both, other=0)
    tl.store(y + (run * y_run + row * y_row)[:, None] + cols[None, :], value, mask=both)


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
    seed = None if seed is None else seed.contiguous()  # runs may share one
    given = [x if t is None else t for t in (index, seed, numbers)]  # what is not read is any pointer
    _forward_kernel[grid](
        x, shift, *given, y, x.shape[0] * x.shape[1], x.shape[1], offset, x.shape[2],
        *x.stride()[:2], *y.stride()[:2], *shift.stride()[:2], p, 1 / (1 - p), SHIFT=table is not None,
        HAS_INDEX=index is not None, DROP=seed is not None and p > 0, NUMBERED=numbers is not None, **shape,
    )  # fmt: skip
    return y


def join(z: Tensor, x: Tensor, table: Tensor, index: Tensor | None) -> Tensor:
    """``z + x + table[index]``."""
    z, x, table = rows_of(z), rows_of(x), rows_of(table)
    y = torch.empty_like(z)
    if y.numel():
        grid, shape = _launch(y)
        _join_kernel[grid](
            z, x, table, z if index is None else index, y, y.shape[0] * y.shape[1], y.shape[1], y.shape[2],
            *z.stride()[:2], *x.stride()[:2], *table.stride()[:2], *y.stride()[:2],
            HAS_INDEX=index is not None, **shape,
        )  # fmt: skip
    return y


PROGRAMS = 528
"""Programs that share the rows where each keeps a sum: four for each processor of a large GPU."""


def gate(grad: Tensor, y: Tensor, scale: float, total: bool) -> tuple[Tensor, Tensor]:
    """``scale · grad`` where ``y > 0``, else 0; and its sum over rows, ``[runs, 1, d]``, or nothing."""
    grad, y = rows_of(grad), rows_of(y)
    out = torch.empty_like(y)
    (_, columns), shape = _launch(y)
    runs, rows, d = y.shape
    wide = torch.promote_types(y.dtype, torch.float32)
    programs = max(1, min(triton.cdiv(rows, shape["BLOCK_R"]), PROGRAMS))
    part = torch.empty(runs, programs if total else 0, d, dtype=wide, device=y.device)
    if out.numel():
        _gate_kernel[programs, columns, runs](
            grad, y, out, part, rows, d, *grad.stride()[:2], *y.stride()[:2], *out.stride()[:2], scale,
            SUM=total, ACC=tl.float64 if wide == torch.float64 else tl.float32, **shape,
        )  # fmt: skip
    return out, part.sum(1, keepdim=True)
