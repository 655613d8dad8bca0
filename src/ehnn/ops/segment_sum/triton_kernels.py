"""The Triton kernel of `segment_sum`: a program for each row (or chunk of one) and block of channels.

Sums are made in float32 (float64 for float64 inputs) in a fixed order, so results are deterministic. A
row with more pairs than `LONG` is cut into chunks whose partial results are added by a second launch:
``split = (chunk_ptr, row_ptr)`` of `ehnn.hypergraph.SparsePattern` says where.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

Split = tuple[Tensor, Tensor] | None


@triton.jit
def _sum_kernel(
    x, ptr, index, of_rows, of_cols, y, d, HAS_INDEX: tl.constexpr, HAS_ROWS: tl.constexpr,
    HAS_COLS: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_D: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    in_d = cols < d
    start, end = tl.load(ptr + row), tl.load(ptr + row + 1)
    acc = tl.zeros([BLOCK_P, BLOCK_D], dtype=ACC)
    for p in range(start, end, BLOCK_P):
        place = p + tl.arange(0, BLOCK_P)
        live = place < end
        c = tl.load(index + place, mask=live, other=0) if HAS_INDEX else place
        both = live[:, None] & in_d[None, :]
        value = tl.load(x + c[:, None] * d + cols[None, :], mask=both, other=0).to(ACC)
        if HAS_COLS:
            value *= tl.load(of_cols + c, mask=live, other=0).to(ACC)[:, None]
        acc += value
    total = tl.sum(acc, 0)
    if HAS_ROWS:
        total *= tl.load(of_rows + row).to(ACC)
    tl.store(y + row * d + cols, total.to(y.dtype.element_ty), mask=in_d)


@triton.jit
def _short_kernel(
    x, ptr, index, of_rows, of_cols, y, rows, d, HAS_INDEX: tl.constexpr, HAS_ROWS: tl.constexpr,
    HAS_COLS: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_D: tl.constexpr,
    ACC: tl.constexpr,
):  # fmt: skip
    """Several rows side by side, BLOCK_P pairs of each at a time, added up one by one."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    in_d, some = (cols < d)[None, :], row < rows
    start = tl.load(ptr + row, mask=some, other=0)
    end = tl.load(ptr + row + 1, mask=some, other=0)
    acc = tl.zeros([BLOCK_R, BLOCK_D], dtype=ACC)
    for p in range(0, tl.max(end - start), BLOCK_P):
        for more in tl.static_range(BLOCK_P):
            place = start + p + more
            live = place < end
            c = tl.load(index + place, mask=live, other=0) if HAS_INDEX else place
            value = tl.load(x + c[:, None] * d + cols[None, :], mask=live[:, None] & in_d, other=0).to(ACC)
            if HAS_COLS:
                value *= tl.load(of_cols + c, mask=live, other=0).to(ACC)[:, None]
            acc += value
    if HAS_ROWS:
        acc *= tl.load(of_rows + row, mask=some, other=0).to(ACC)[:, None]
    tl.store(y + row[:, None] * d + cols[None, :], acc.to(y.dtype.element_ty), mask=some[:, None] & in_d)


SHORT = 16
"""Up to so many pairs in a row, on average, a program takes several rows."""
MANY_ROWS = 8192
"""From so many rows on there are enough programs if each takes several."""
SHORT_SHAPE = (4, 4, 1)
"""Rows of such a program for 64 channels, pairs at a time and warps."""


def _shape(d: int, pairs: int, rows: int) -> dict[str, Any]:
    """Block sizes for d channels and rows of a given mean length."""
    block_d = min(max(triton.next_power_of_2(d), 16), 128)
    block_p = 4 if pairs <= 6 * rows else 16 if pairs <= 64 * rows else 64
    return {"BLOCK_D": block_d, "BLOCK_P": block_p, "num_warps": max(1, block_d * block_p // 512)}


def accumulator(x: Tensor) -> Any:
    return tl.float64 if x.dtype == torch.float64 else tl.float32


def segment_sum(
    x: Tensor, ptr: Tensor, index: Tensor | None, split: Split = None, of_rows: Tensor | None = None,
    of_cols: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """``[cols, d] → [rows, d]``; ``index`` None reads the columns in order."""
    if split is not None:
        wide = torch.promote_types(x.dtype, torch.float32)
        part = _launch_sum(x, split[0], index, wide, None, of_cols)
        return _launch_sum(part, split[1], None, x.dtype, of_rows, None)
    return _launch_sum(x, ptr, index, x.dtype, of_rows, of_cols)


def _launch_sum(
    x: Tensor, ptr: Tensor, index: Tensor | None, dtype: torch.dtype, of_rows: Tensor | None,
    of_cols: Tensor | None,
) -> Tensor:  # fmt: skip
    rows, d = ptr.shape[0] - 1, x.shape[1]
    y = torch.empty(rows, d, dtype=dtype, device=x.device)
    pairs = x.shape[0] if index is None else index.shape[0]
    if rows and d and pairs <= SHORT * rows and rows >= MANY_ROWS:
        block_d, (block_r, block_p, warps) = min(max(triton.next_power_of_2(d), 16), 128), SHORT_SHAPE
        block_r = max(1, block_r * 64 // block_d)
        given = [ptr if t is None else t for t in (index, of_rows, of_cols)]
        _short_kernel[triton.cdiv(rows, block_r), triton.cdiv(d, block_d)](
            x, ptr, *given, y, rows, d, HAS_INDEX=index is not None, HAS_ROWS=of_rows is not None,
            HAS_COLS=of_cols is not None, ACC=accumulator(x), BLOCK_R=block_r, BLOCK_P=block_p,
            BLOCK_D=block_d, num_warps=warps,
        )  # fmt: skip
    elif rows and d:
        shape = _shape(d, pairs, rows)
        grid = (rows, triton.cdiv(d, shape["BLOCK_D"]))
        given = [
            ptr if t is None else t for t in (index, of_rows, of_cols)
        ]  # what is not read is any pointer
        _sum_kernel[grid](
            x, ptr, *given, y, d, HAS_INDEX=index is not None, HAS_ROWS=of_rows is not None,
            HAS_COLS=of_cols is not None, ACC=accumulator(x), **shape,
        )  # fmt: skip
    return y
