"""The Triton kernels of `segment_softmax_sum`: a program for each row (or chunk) and block of heads."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ehnn.hypergraph.pairs import owners

from ..segment_sum.triton_kernels import Split, accumulator, segment_sum


@triton.jit
def _softmax_kernel(
    x, s, shift, ptr, index, y, top_out, total_out, heads, channels, WHOLE: tl.constexpr,
    BLOCK_P: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_C: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """One shift per head (the largest logit of all) serves rows near it; a row far below finds its own.

    Of WHOLE rows ``total_out`` is the log-sum-exp and ``top_out`` is not written; of chunks both are sums.
    """
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    channel = tl.arange(0, BLOCK_C)
    in_h = head < heads
    inside = in_h[:, None] & (channel < channels)[None, :]
    cols = head[:, None] * channels + channel[None, :]
    d = heads * channels
    start, end = tl.load(ptr + row), tl.load(ptr + row + 1)
    top = tl.load(shift + head, mask=in_h, other=0).to(ACC)
    weights = tl.zeros([BLOCK_P, BLOCK_H], dtype=ACC)
    values = tl.zeros([BLOCK_P, BLOCK_H, BLOCK_C], dtype=ACC)
    for p in range(start, end, BLOCK_P):
        place = p + tl.arange(0, BLOCK_P)
        live = place < end
        c = tl.load(index + place, mask=live, other=0)
        some = live[:, None] & in_h[None, :]
        logit = tl.load(s + c[:, None] * heads + head[None, :], mask=some, other=float("-inf")).to(ACC)
        weight = tl.exp(logit - top[None, :])
        value = tl.load(
            x + (c * d)[:, None, None] + cols[None, :, :],
            mask=live[:, None, None] & inside[None, :, :],
            other=0,
        )
        weights += weight
        values += weight[:, :, None] * value.to(ACC)
    total, acc = tl.sum(weights, 0), tl.sum(values, 0)
    if (tl.min(tl.where(in_h, total, 1.0), 0) < 1e-28) & (end > start):
        top = tl.full([BLOCK_H], float("-inf"), dtype=ACC)
        for p in range(start, end):
            c = tl.load(index + p)
            top = tl.maximum(top, tl.load(s + c * heads + head, mask=in_h, other=0).to(ACC))
        total, acc = tl.zeros([BLOCK_H], dtype=ACC), tl.zeros([BLOCK_H, BLOCK_C], dtype=ACC)
        for p in range(start, end):
            c = tl.load(index + p)
            one = tl.exp(tl.load(s + c * heads + head, mask=in_h, other=0).to(ACC) - top)
            total += one
            acc += one[:, None] * tl.load(x + c * d + cols, mask=inside, other=0).to(ACC)
    if WHOLE:
        acc = tl.where(total[:, None] > 0, acc / total[:, None], acc)
        tl.store(total_out + row * heads + head, _lse(top, total), mask=in_h)
    else:
        tl.store(top_out + row * heads + head, top, mask=in_h)
        tl.store(total_out + row * heads + head, total, mask=in_h)
    tl.store(y + row * d + cols, acc.to(y.dtype.element_ty), mask=inside)


@triton.jit
def _lse(top, total):
    """In float64; −∞ for nothing."""
    wide = total.to(tl.float64)
    return tl.where(wide > 0, top.to(tl.float64) + tl.log(tl.where(wide > 0, wide, 1.0)), float("-inf"))


@triton.jit
def _merge_kernel(
    part, part_top, part_total, ptr, y, lse, heads, channels, BLOCK_P: tl.constexpr, BLOCK_H: tl.constexpr,
    BLOCK_C: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """Merge the chunks of a row: shift each to the common top, add, normalise."""
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    channel = tl.arange(0, BLOCK_C)
    in_h = head < heads
    inside = in_h[:, None] & (channel < channels)[None, :]
    cols = head[:, None] * channels + channel[None, :]
    d = heads * channels
    start, end = tl.load(ptr + row), tl.load(ptr + row + 1)
    tops = tl.full([BLOCK_P, BLOCK_H], float("-inf"), dtype=ACC)
    for p in range(start, end, BLOCK_P):
        place = p + tl.arange(0, BLOCK_P)
        some = (place < end)[:, None] & in_h[None, :]
        at = place[:, None] * heads + head[None, :]
        tops = tl.maximum(tops, tl.load(part_top + at, mask=some, other=float("-inf")))
    top = tl.max(tops, 0)
    totals = tl.zeros([BLOCK_P, BLOCK_H], dtype=ACC)
    values = tl.zeros([BLOCK_P, BLOCK_H, BLOCK_C], dtype=ACC)
    for p in range(start, end, BLOCK_P):
        place = p + tl.arange(0, BLOCK_P)
        live = place < end
        some = live[:, None] & in_h[None, :]
        at = place[:, None] * heads + head[None, :]
        behind = tl.load(part_top + at, mask=some, other=float("-inf")) - top[None, :]
        weight = tl.where(some, tl.exp(behind), 0.0)
        totals += weight * tl.load(part_total + at, mask=some, other=0)
        every = live[:, None, None] & inside[None, :, :]
        value = tl.load(part + (place * d)[:, None, None] + cols[None, :, :], mask=every, other=0)
        values += weight[:, :, None] * value
    total, acc = tl.sum(totals, 0), tl.sum(values, 0)
    acc = tl.where(total[:, None] > 0, acc / total[:, None], acc)
    tl.store(y + row * d + cols, acc.to(y.dtype.element_ty), mask=inside)
    tl.store(lse + row * heads + head, _lse(top, total), mask=in_h)


@triton.jit
def _inner_kernel(
    a, b, out, rows, heads, channels, BLOCK_P: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_C: tl.constexpr,
    ACC: tl.constexpr,
):  # fmt: skip
    """``[rows, heads, c]`` twice → ``[rows, heads]``: inner products."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_P + tl.arange(0, BLOCK_P)
    head = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    channel = tl.arange(0, BLOCK_C)
    some = (row < rows)[:, None] & (head < heads)[None, :]
    inside = some[:, :, None] & (channel < channels)[None, None, :]
    place = row[:, None] * heads + head[None, :]
    at = place[:, :, None] * channels + channel[None, None, :]
    product = tl.load(a + at, mask=inside, other=0).to(ACC) * tl.load(b + at, mask=inside, other=0).to(ACC)
    tl.store(out + place, tl.sum(product, 2), mask=some)


@triton.jit
def _softmax_backward_kernel(
    grad, x, s, lse, inner, t_ptr, t_index, owner, dx, ds, heads, channels, HAS_OWNER: tl.constexpr,
    BLOCK_P: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_C: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """For a column c: dx = Σ_r α_rc ḡ_r and ds = x · dx − Σ_r α_rc ḡ_r · y_r; α_rc = exp(s_c − lse_r)."""
    chunk = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    channel = tl.arange(0, BLOCK_C)
    in_h = head < heads
    inside = in_h[:, None] & (channel < channels)[None, :]
    cols = head[:, None] * channels + channel[None, :]
    d = heads * channels
    start, end = tl.load(t_ptr + chunk), tl.load(t_ptr + chunk + 1)
    column = tl.load(owner + chunk) if HAS_OWNER else chunk
    logit = tl.load(s + column * heads + head, mask=in_h, other=0).to(tl.float64)
    acc = tl.zeros([BLOCK_P, BLOCK_H, BLOCK_C], dtype=ACC)
    through = tl.zeros([BLOCK_P, BLOCK_H], dtype=ACC)
    for p in range(start, end, BLOCK_P):
        place = p + tl.arange(0, BLOCK_P)
        live = place < end
        r = tl.load(t_index + place, mask=live, other=0)
        some = live[:, None] & in_h[None, :]
        row_head = r[:, None] * heads + head[None, :]
        # Row r holds c, so the logit is at most lse: the difference of the two loses no digits.
        behind = logit[None, :] - tl.load(lse + row_head, mask=some, other=0)
        alpha = tl.where(some, tl.exp(behind.to(ACC)), 0.0)
        g = tl.load(
            grad + (r * d)[:, None, None] + cols[None, :, :], mask=live[:, None, None] & inside[None, :, :],
            other=0,
        )  # fmt: skip
        acc += alpha[:, :, None] * g.to(ACC)
        through += alpha * tl.load(inner + row_head, mask=some, other=0)
    total = tl.sum(acc, 0)
    own = tl.load(x + column * d + cols, mask=inside, other=0).to(ACC)
    tl.store(dx + chunk * d + cols, total.to(dx.dtype.element_ty), mask=inside)
    of_logit = tl.sum(own * total, 1) - tl.sum(through, 0)
    tl.store(ds + chunk * heads + head, of_logit.to(ds.dtype.element_ty), mask=in_h)


def _head_shape(heads: int, channels: int, pairs: int, rows: int) -> dict[str, Any]:
    """Block sizes for heads of some channels and rows of a given mean length."""
    block_c = triton.next_power_of_2(channels)
    block_h = min(triton.next_power_of_2(heads), max(1, 256 // block_c))
    mean = pairs / rows
    block_p = 2 if mean <= 3 else 4 if mean <= 12 else 8 if mean <= 64 else 64
    warps = max(1, min(8, block_p * block_h * block_c // 512))
    return {"BLOCK_P": block_p, "BLOCK_H": block_h, "BLOCK_C": block_c, "num_warps": warps}


def softmax_sum(
    x: Tensor, logits: Tensor, ptr: Tensor, index: Tensor, split: Split = None
) -> tuple[Tensor, Tensor]:
    """``[cols, heads, c], [cols, heads] → [rows, heads, c]`` and ``[rows, heads]`` log-sum-exp in float64."""
    heads, channels = x.shape[1:]
    rows = ptr.shape[0] - 1
    wide = torch.promote_types(x.dtype, torch.float32)
    first = ptr if split is None else split[0]
    n = first.shape[0] - 1
    shape = _head_shape(heads, channels, index.shape[0], max(n, 1))
    blocks = triton.cdiv(heads, shape["BLOCK_H"])

    def empty(*shape: int, dtype: torch.dtype) -> Tensor:
        return torch.empty(shape, dtype=dtype, device=x.device)

    y = empty(n, heads, channels, dtype=x.dtype if split is None else wide)
    total = empty(n, heads, dtype=torch.float64 if split is None else wide)
    top = total if split is None else torch.empty_like(total)
    if n:
        _softmax_kernel[n, blocks](
            x, logits, logits.amax(0), first, index, y, top, total, heads, channels,
            WHOLE=split is None, ACC=accumulator(x), **shape,
        )  # fmt: skip
    if split is None:
        return y, total
    merged = empty(rows, heads, channels, dtype=x.dtype)
    lse = empty(rows, heads, dtype=torch.float64)
    if rows:
        shape = _head_shape(heads, channels, n, rows)
        _merge_kernel[rows, blocks](
            y, top, total, split[1], merged, lse, heads, channels, ACC=accumulator(x), **shape
        )  # fmt: skip
    return merged, lse


def softmax_sum_backward(
    grad: Tensor, x: Tensor, logits: Tensor, y: Tensor, lse: Tensor, t_ptr: Tensor, t_index: Tensor,
    t_split: Split = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Gradients of x and of the logits."""
    heads, channels = x.shape[1:]
    wide = torch.promote_types(x.dtype, torch.float32)
    inner = _inner(grad, y, wide)
    ends = t_ptr if t_split is None else t_split[0]
    n = ends.shape[0] - 1
    dtypes = (x.dtype, logits.dtype) if t_split is None else (wide, wide)
    dx = torch.empty(n, heads, channels, dtype=dtypes[0], device=x.device)
    ds = torch.empty(n, heads, dtype=dtypes[1], device=x.device)
    owner = ends if t_split is None else owners(t_split[1], n)
    shape = _head_shape(heads, channels, t_index.shape[0], max(n, 1))
    if n:
        _softmax_backward_kernel[n, triton.cdiv(heads, shape["BLOCK_H"])](
            grad, x, logits, lse, inner, ends, t_index, owner, dx, ds, heads, channels,
            HAS_OWNER=t_split is not None, ACC=accumulator(x), **shape,
        )  # fmt: skip
    if t_split is not None:  # both are sums over the chunks of a column
        dx = segment_sum(dx.flatten(1), t_split[1], None).reshape(-1, heads, channels)
        ds = segment_sum(ds, t_split[1], None)
    return dx.to(x.dtype), ds.to(logits.dtype)


def _inner(a: Tensor, b: Tensor, dtype: torch.dtype) -> Tensor:
    """``[rows, heads, c]`` twice → ``[rows, heads]``."""
    rows, heads, channels = a.shape
    out = torch.empty(rows, heads, dtype=dtype, device=a.device)
    if out.numel():
        shape = _head_shape(heads, channels, 8 * rows, rows)
        grid = (triton.cdiv(rows, shape["BLOCK_P"]), triton.cdiv(heads, shape["BLOCK_H"]))
        _inner_kernel[grid](a, b, out, rows, heads, channels, ACC=accumulator(a), **shape)
    return out
