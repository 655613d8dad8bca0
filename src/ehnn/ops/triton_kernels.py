"""Triton kernels behind the operations: one program per row (or chunk of a long row) and block of channels.

Sums are made in float32 (float64 for float64 inputs) in a fixed order, so results are deterministic. A
row with more pairs than `LIMIT` is cut into chunks whose partial results are merged by a second launch:
``split = (chunk_ptr, row_ptr)`` of `ehnn.hypergraph.Pairs` says where.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ehnn.hypergraph.pairs import repeat

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
def _softmax_kernel(
    x, s, shift, ptr, index, y, top_out, total_out, d, heads, channels, NORMALISE: tl.constexpr,
    BLOCK_P: tl.constexpr, BLOCK_D: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """One shift per head (the largest logit of all) serves rows near it; a row far below finds its own."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    in_d = cols < d
    head = cols // channels
    start, end = tl.load(ptr + row), tl.load(ptr + row + 1)
    top = tl.load(shift + head, mask=in_d, other=0).to(ACC)
    weights = tl.zeros([BLOCK_P, BLOCK_D], dtype=ACC)
    values = tl.zeros([BLOCK_P, BLOCK_D], dtype=ACC)
    for p in range(start, end, BLOCK_P):
        place = p + tl.arange(0, BLOCK_P)
        live = place < end
        c = tl.load(index + place, mask=live, other=0)
        both = live[:, None] & in_d[None, :]
        logit = tl.load(s + c[:, None] * heads + head[None, :], mask=both, other=float("-inf")).to(ACC)
        weight = tl.exp(logit - top[None, :])
        weights += weight
        values += weight * tl.load(x + c[:, None] * d + cols[None, :], mask=both, other=0).to(ACC)
    total, acc = tl.sum(weights, 0), tl.sum(values, 0)
    if (tl.min(tl.where(in_d, total, 1.0), 0) < 1e-28) & (end > start):
        top = tl.full([BLOCK_D], float("-inf"), dtype=ACC)
        for p in range(start, end):
            c = tl.load(index + p)
            top = tl.maximum(top, tl.load(s + c * heads + head, mask=in_d, other=0).to(ACC))
        total, acc = tl.zeros([BLOCK_D], dtype=ACC), tl.zeros([BLOCK_D], dtype=ACC)
        for p in range(start, end):
            c = tl.load(index + p)
            one = tl.exp(tl.load(s + c * heads + head, mask=in_d, other=0).to(ACC) - top)
            total += one
            acc += one * tl.load(x + c * d + cols, mask=in_d, other=0).to(ACC)
    if NORMALISE:
        acc = tl.where(total > 0, acc / total, acc)
    tl.store(y + row * d + cols, acc.to(y.dtype.element_ty), mask=in_d)
    first = in_d & (cols % channels == 0)
    tl.store(top_out + row * heads + head, top, mask=first)
    tl.store(total_out + row * heads + head, total, mask=first)


@triton.jit
def _merge_kernel(
    part, part_top, part_total, ptr, y, top_out, total_out, d, heads, channels, BLOCK_D: tl.constexpr,
    ACC: tl.constexpr,
):  # fmt: skip
    """Merge the chunks of a row: shift each to the common top, add, normalise."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    in_d = cols < d
    head = cols // channels
    start, end = tl.load(ptr + row), tl.load(ptr + row + 1)
    top = tl.full([BLOCK_D], float("-inf"), dtype=ACC)
    total = tl.zeros([BLOCK_D], dtype=ACC)
    acc = tl.zeros([BLOCK_D], dtype=ACC)
    for p in range(start, end):
        t = tl.load(part_top + p * heads + head, mask=in_d, other=float("-inf"))
        new_top = tl.maximum(top, t)
        old = tl.where(new_top == float("-inf"), 1.0, tl.exp(top - new_top))
        new = tl.where(new_top == float("-inf"), 1.0, tl.exp(t - new_top))
        total = total * old + new * tl.load(part_total + p * heads + head, mask=in_d, other=0)
        acc = acc * old + new * tl.load(part + p * d + cols, mask=in_d, other=0)
        top = new_top
    acc = tl.where(total > 0, acc / total, acc)
    tl.store(y + row * d + cols, acc.to(y.dtype.element_ty), mask=in_d)
    first = in_d & (cols % channels == 0)
    tl.store(top_out + row * heads + head, top, mask=first)
    tl.store(total_out + row * heads + head, total, mask=first)


@triton.jit
def _softmax_backward_kernel(
    grad, s, owner, lse, rest, inner, t_ptr, t_index, dx, through, d, heads, channels,
    HAS_OWNER: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_D: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """For a column c: Σ_r α_rc ḡ_r and Σ_r α_rc (ḡ_r · y_r), with α_rc = exp(s_c − lse_r − rest_r)."""
    chunk = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    in_d = cols < d
    head = cols // channels
    start, end = tl.load(t_ptr + chunk), tl.load(t_ptr + chunk + 1)
    column = tl.load(owner + chunk) if HAS_OWNER else chunk
    logit = tl.load(s + column * heads + head, mask=in_d, other=0).to(ACC)
    acc = tl.zeros([BLOCK_P, BLOCK_D], dtype=ACC)
    acc_inner = tl.zeros([BLOCK_P, BLOCK_D], dtype=ACC)
    for p in range(start, end, BLOCK_P):
        place = p + tl.arange(0, BLOCK_P)
        live = place < end
        r = tl.load(t_index + place, mask=live, other=0)
        both = live[:, None] & in_d[None, :]
        row_head = r[:, None] * heads + head[None, :]
        # Row r holds c, so the logit is at most lse: the difference of the two loses no digits.
        behind = logit[None, :] - tl.load(lse + row_head, mask=both, other=0)
        alpha = tl.where(both, tl.exp(behind - tl.load(rest + row_head, mask=both, other=0)), 0.0)
        acc += alpha * tl.load(grad + r[:, None] * d + cols[None, :], mask=both, other=0).to(ACC)
        acc_inner += alpha * tl.load(inner + row_head, mask=both, other=0).to(ACC)
    tl.store(dx + chunk * d + cols, tl.sum(acc, 0), mask=in_d)
    tl.store(through + chunk * heads + head, tl.sum(acc_inner, 0), mask=in_d & (cols % channels == 0))


def _shape(d: int, pairs: int, rows: int) -> dict[str, Any]:
    """Block sizes for d channels and rows of a given mean length."""
    block_d = min(max(triton.next_power_of_2(d), 16), 128)
    block_p = 4 if pairs <= 6 * rows else 16
    return {"BLOCK_D": block_d, "BLOCK_P": block_p, "num_warps": max(1, block_d * block_p // 512)}


def _acc(x: Tensor) -> Any:
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
    if rows and d:
        shape = _shape(d, x.shape[0] if index is None else index.shape[0], rows)
        grid = (rows, triton.cdiv(d, shape["BLOCK_D"]))
        given = [
            ptr if t is None else t for t in (index, of_rows, of_cols)
        ]  # what is not read is any pointer
        _sum_kernel[grid](
            x, ptr, *given, y, d, HAS_INDEX=index is not None, HAS_ROWS=of_rows is not None,
            HAS_COLS=of_cols is not None, ACC=_acc(x), **shape,
        )  # fmt: skip
    return y


def softmax_sum(
    x: Tensor, logits: Tensor, ptr: Tensor, index: Tensor, split: Split = None
) -> tuple[Tensor, Tensor]:
    """``[cols, heads, c], [cols, heads] → [rows, heads, c]`` and ``[rows, heads]`` log-sum-exp in float64."""
    heads, channels = x.shape[1:]
    d, rows = heads * channels, ptr.shape[0] - 1
    wide = torch.promote_types(x.dtype, torch.float32)
    first = ptr if split is None else split[0]
    shape = _shape(d, index.shape[0], max(first.shape[0] - 1, 1))
    blocks = triton.cdiv(d, shape["BLOCK_D"])

    def outputs(n: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
        return (
            torch.empty(n, d, dtype=dtype, device=x.device),
            torch.empty(n, heads, dtype=wide, device=x.device),
            torch.empty(n, heads, dtype=wide, device=x.device),
        )

    n = first.shape[0] - 1
    y, top, total = outputs(n, x.dtype if split is None else wide)
    if n:
        _softmax_kernel[n, blocks](
            x, logits, logits.amax(0), first, index, y, top, total, d, heads, channels,
            NORMALISE=split is None, ACC=_acc(x), **shape,
        )  # fmt: skip
    if split is not None:
        part, part_top, part_total = y, top, total
        y, top, total = outputs(rows, x.dtype)
        if rows:
            _merge_kernel[rows, blocks](
                part, part_top, part_total, split[1], y, top, total, d, heads, channels,
                BLOCK_D=shape["BLOCK_D"], ACC=_acc(x),
            )  # fmt: skip
    return y.reshape(rows, heads, channels), top.double() + total.double().log()


def softmax_sum_backward(
    grad: Tensor, x: Tensor, logits: Tensor, y: Tensor, lse: Tensor, t_ptr: Tensor, t_index: Tensor,
    t_split: Split = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Gradients of x and of the logits."""
    heads, channels = x.shape[1:]
    d, cols = heads * channels, t_ptr.shape[0] - 1
    wide = torch.promote_types(x.dtype, torch.float32)
    inner = (grad * y).sum(-1)
    near = lse.to(wide)
    rest = (lse - near).to(wide)  # what the narrower type left of lse
    ends = t_ptr if t_split is None else t_split[0]
    n = ends.shape[0] - 1
    dx = torch.empty(n, d, dtype=wide, device=x.device)
    through = torch.empty(n, heads, dtype=wide, device=x.device)
    owner = ends if t_split is None else repeat(t_split[1].diff(), n)
    shape = _shape(d, t_index.shape[0], max(n, 1))
    if n:
        _softmax_backward_kernel[n, triton.cdiv(d, shape["BLOCK_D"])](
            grad, logits, owner, near, rest, inner, ends, t_index, dx, through, d, heads, channels,
            HAS_OWNER=t_split is not None, ACC=_acc(x), **shape,
        )  # fmt: skip
    if t_split is not None:
        dx = segment_sum(dx, t_split[1], None)
        through = segment_sum(through, t_split[1], None)
    dx = dx.reshape(cols, heads, channels)
    return dx.to(x.dtype), ((x * dx).sum(-1) - through).to(logits.dtype)
