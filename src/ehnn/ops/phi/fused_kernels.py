"""Triton kernels of φ for any number of rows: one launch forward; backward two, or four for many rows.

All take rows ``[runs, rows, d]`` and parameters ``[runs, …]`` whose channels are next to each other in
memory. A program takes one block of rows, with one whole ``[d, d]`` weight at a time. In a loop over blocks
the compiler would keep the addresses of all steps in registers, and spill.

Sums over rows (the gradients of parameters) are made by each program for its block, then over the programs,
in a fixed order: two runs give the same bits. Of many rows the activations are written down once, and a
second kernel makes the gradients of weights of them. Arithmetic between products is float32.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.backends.nvidia.compiler import CUDAOptions

from ..dropout.triton_kernels import _kept, rows_of
from .fused import FEW_ORDERS

FEW_ROWS = 4096
"""Below so many rows, in all runs, a program takes 16 of them, so that there are enough programs."""
FORWARD = {16: (64, 4), 32: (64, 4), 64: (64, 4), 128: (32, 8)}
"""By width: rows of a block and warps of the forward pass."""
BACKWARD = {16: (64, 4), 32: (64, 4), 64: (64, 4), 128: (32, 8)}
"""The same of the backward pass."""
EXACT = "bf16x6" if "bf16x6" in getattr(CUDAOptions, "allowed_dot_input_precisions", ()) else "tf32x3"
"""How products are as accurate as float32; Triton's interpreter and older versions know the second only."""
STORE = True
GROUP = 128
"""Partial sums that a program adds up."""

Masks = tuple[tuple[Any, ...], tuple[Any, ...]]


@triton.jit
def _dot(a, b, PRECISION: tl.constexpr):
    if PRECISION == "bf16":
        return tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16))
    else:
        return tl.dot(a, b, input_precision=PRECISION)


@triton.jit
def _square(w, ROW: tl.constexpr, COL: tl.constexpr, D: tl.constexpr):
    """``[d, d]`` with steps of ROW and COL between its elements."""
    i = tl.arange(0, D)
    return tl.load(w + i[:, None] * ROW + i[None, :] * COL).to(tl.float32)


@triton.jit
def _rows(x, first, live, ROW: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr):
    """A block of rows in float32; zeros beyond the last."""
    at = tl.arange(0, BLOCK)[:, None] * ROW + tl.arange(0, D)[None, :]
    return tl.load(x + first * ROW + at, mask=live[:, None], other=0.0).to(tl.float32)


@triton.jit
def _from_table(table, index, first, live, BLOCK: tl.constexpr, D: tl.constexpr, MANY: tl.constexpr):
    """The row of a table for each row of a block; one row where it serves all."""
    cols = tl.arange(0, D)
    if MANY:
        number = tl.load(index + first + tl.arange(0, BLOCK), mask=live, other=0).to(tl.int32)
        return tl.load(table + number[:, None] * D + cols[None, :]).to(tl.float32)
    else:
        return tl.load(table + cols)[None, :].to(tl.float32)


@triton.jit
def _act(z, first, live, seed, numbers, whole, p, scale, BLOCK: tl.constexpr, D: tl.constexpr,
         DROP: tl.constexpr, NUMBERED: tl.constexpr):  # fmt: skip
    """``dropout(relu(z))`` of a block of rows; the hash has 32 bits."""
    h = tl.maximum(z, 0, propagate_nan=tl.PropagateNan.ALL)
    if DROP:
        row = first + tl.arange(0, BLOCK)
        name = tl.load(numbers + row, mask=live, other=0) if NUMBERED else row
        key = (tl.load(seed) + whole.to(tl.int64) * 0x9E3779B9).to(tl.uint32)
        position = name.to(tl.uint32)[:, None] * D + tl.arange(0, D).to(tl.uint32)[None, :]
        h = tl.where(_kept(key, position, p), h * scale, 0.0)
    return h


@triton.jit
def _normal(x, D: tl.constexpr):
    """x̂ and 1/σ."""
    x -= tl.sum(x, 1)[:, None] / D
    variance = tl.sum(x * x, 1) / D + 1e-5
    rstd = tl.rsqrt(variance)
    rstd *= 1.5 - 0.5 * variance * rstd * rstd  # a step of Newton: exact to the last bit or two
    return x * rstd[:, None], rstd


@triton.jit
def _affine(xhat, gamma, beta, D: tl.constexpr):
    cols = tl.arange(0, D)
    return xhat * tl.load(gamma + cols)[None, :].to(tl.float32) + tl.load(beta + cols)[None, :].to(tl.float32)


@triton.jit(do_not_specialize=["rows", "whole1", "whole2"])
def _forward_kernel(
    x, table, index, last, last_index, gamma, beta, w1, w2, b2, w3, seed1, seed2, numbers1, numbers2, whole1,
    whole2, p1, p2, scale1, scale2, rows, x_run, t_run, l_run, gamma_run, beta_run, w1_run, w2_run, b2_run,
    w3_run, y, y_run, Y_ROW: tl.constexpr, X_ROW: tl.constexpr, W1_ROW: tl.constexpr, W2_ROW: tl.constexpr,
    W3_ROW: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, DEEP: tl.constexpr, ORDERS: tl.constexpr,
    LASTS: tl.constexpr, DROP1: tl.constexpr, DROP2: tl.constexpr, NUMBERED1: tl.constexpr,
    NUMBERED2: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """ORDERS, LASTS: whether the tables have many rows. DEEP: whether there is a second hidden layer."""
    run, first = tl.program_id(1).to(tl.int64), tl.program_id(0).to(tl.int64) * BLOCK
    cols, live = tl.arange(0, D), tl.arange(0, BLOCK) < rows - first
    xhat, _ = _normal(_rows(x + run * x_run, first, live, X_ROW, BLOCK, D), D)
    h = _affine(xhat, gamma + run * gamma_run, beta + run * beta_run, D)
    h = _dot(h, _square(w1 + run * w1_run, 1, W1_ROW, D), PRECISION)
    h += _from_table(table + run * t_run, index, first, live, BLOCK, D, ORDERS)
    h = _act(h, first, live, seed1 + run, numbers1, whole1, p1, scale1, BLOCK, D, DROP1, NUMBERED1)
    if DEEP:
        h = _dot(h, _square(w2 + run * w2_run, 1, W2_ROW, D), PRECISION)
        h += tl.load(b2 + run * b2_run + cols)[None, :].to(tl.float32)
        h = _act(h, first, live, seed2 + run, numbers2, whole2, p2, scale2, BLOCK, D, DROP2, NUMBERED2)
    value = _dot(h, _square(w3 + run * w3_run, 1, W3_ROW, D), PRECISION)
    value += _from_table(last + run * l_run, last_index, first, live, BLOCK, D, LASTS)
    value += _rows(x + run * x_run, first, live, X_ROW, BLOCK, D)
    _store(y + run * y_run, value, first, live, Y_ROW, BLOCK, D)


@triton.jit
def _store(y, value, first, live, ROW: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr):
    at = tl.arange(0, BLOCK)[:, None] * ROW + tl.arange(0, D)[None, :]
    tl.store(y + first * ROW + at, value.to(y.dtype.element_ty), mask=live[:, None])


@triton.jit
def _store_by_number(place, value, index, first, live, count, BLOCK: tl.constexpr, D: tl.constexpr,
                     MANY: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """The sums of rows by their numbers. MANY: at least as many as there are numbers; 0 for one."""
    if MANY == 0:
        tl.store(place, tl.sum(value, 0))
    else:
        number = tl.load(index + first + tl.arange(0, BLOCK), mask=live, other=0).to(tl.int32)
        each = tl.arange(0, MANY)[:, None]
        ones = (each == number[None, :]).to(tl.float32)
        if PRECISION == "tf32x3":
            total = _dot(ones, value, PRECISION)
        else:  # a product with 1 is exact, and three times 8 bits of mantissa are all of them
            high = value.to(tl.bfloat16).to(tl.float32)
            total = _dot(ones, high, "bf16")
            if PRECISION != "bf16":
                middle = (value - high).to(tl.bfloat16).to(tl.float32)
                total += _dot(ones, middle, "bf16") + _dot(ones, value - high - middle, "bf16")
        tl.store(place[None, :] + each * D, total, mask=each < count)


@triton.jit(do_not_specialize=["rows", "whole1", "whole2", "orders", "lasts"])
def _backward_kernel(
    x, table, index, last, last_index, gamma, beta, w1, w2, b2, w3, seed1, seed2, numbers1, numbers2, whole1,
    whole2, p1, p2, scale1, scale2, rows, x_run, t_run, l_run, gamma_run, beta_run, w1_run, w2_run, b2_run,
    w3_run, grad, g_run, dx, dx_run, kept, kept_run, part, size, orders, lasts, FEW: tl.constexpr,
    FEW_LASTS: tl.constexpr, G_ROW: tl.constexpr, DX_ROW: tl.constexpr, X_ROW: tl.constexpr,
    W1_ROW: tl.constexpr, W2_ROW: tl.constexpr, W3_ROW: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr,
    DEEP: tl.constexpr, ORDERS: tl.constexpr, LASTS: tl.constexpr, DROP1: tl.constexpr, DROP2: tl.constexpr,
    NUMBERED1: tl.constexpr, NUMBERED2: tl.constexpr, PRECISION: tl.constexpr, STORE: tl.constexpr,
):  # fmt: skip
    """FEW, FEW_LASTS: numbers of a table whose gradient is made here, 0 for one row, −1 for elsewhere.

    Rows and their gradients are read again where that spares registers.
    """
    run, first = tl.program_id(1).to(tl.int64), tl.program_id(0).to(tl.int64) * BLOCK
    cols, live = tl.arange(0, D), tl.arange(0, BLOCK) < rows - first
    part += (run * tl.num_programs(0) + tl.program_id(0)) * size
    vector = part + cols
    square = part + ((3 if DEEP else 2) + orders * (FEW >= 0) + lasts * (FEW_LASTS >= 0)) * D
    square = square + cols[:, None] * D + cols[None, :]
    x += run * x_run
    grad += run * g_run
    kept += run * kept_run
    step = rows.to(tl.int64) * D
    xhat, _ = _normal(_rows(x, first, live, X_ROW, BLOCK, D), D)
    n = _affine(xhat, gamma + run * gamma_run, beta + run * beta_run, D)
    h1 = _dot(n, _square(w1 + run * w1_run, 1, W1_ROW, D), PRECISION)
    h1 += _from_table(table + run * t_run, index, first, live, BLOCK, D, ORDERS)
    h1 = _act(h1, first, live, seed1 + run, numbers1, whole1, p1, scale1, BLOCK, D, DROP1, NUMBERED1)
    h2 = h1
    if DEEP:
        h2 = _dot(h1, _square(w2 + run * w2_run, 1, W2_ROW, D), PRECISION)
        h2 += tl.load(b2 + run * b2_run + cols)[None, :].to(tl.float32)
        h2 = _act(h2, first, live, seed2 + run, numbers2, whole2, p2, scale2, BLOCK, D, DROP2, NUMBERED2)
    if STORE:
        _store(kept + step, h1, first, live, D, BLOCK, D)
        if DEEP:
            _store(kept + 3 * step, h2, first, live, D, BLOCK, D)
    g = _rows(grad, first, live, G_ROW, BLOCK, D)
    if not STORE:
        tl.store(square + (2 if DEEP else 1) * D * D, _dot(tl.trans(g), h2, PRECISION))
    if FEW_LASTS >= 0:
        place = vector + ((3 if DEEP else 2) + orders * (FEW >= 0)) * D
        _store_by_number(place, g, last_index, first, live, lasts, BLOCK, D, FEW_LASTS, PRECISION)
    dz = _dot(g, _square(w3 + run * w3_run, W3_ROW, 1, D), PRECISION)
    if DEEP:
        dz = tl.where(h2 > 0, dz * scale2, 0.0)
        if STORE:
            _store(kept + 2 * step, dz, first, live, D, BLOCK, D)
        else:
            tl.store(square + D * D, _dot(tl.trans(dz), h1, PRECISION))
        tl.store(vector + 2 * D, tl.sum(dz, 0))
        dz = _dot(dz, _square(w2 + run * w2_run, W2_ROW, 1, D), PRECISION)
    dz = tl.where(h1 > 0, dz * scale1, 0.0)
    if STORE or FEW < 0:
        _store(kept, dz, first, live, D, BLOCK, D)
    if FEW >= 0:
        place = vector + (3 if DEEP else 2) * D
        _store_by_number(place, dz, index, first, live, orders, BLOCK, D, FEW, PRECISION)
    if not STORE:
        xhat, _ = _normal(_rows(x, first, live, X_ROW, BLOCK, D), D)
        n = _affine(xhat, gamma + run * gamma_run, beta + run * beta_run, D)
        tl.store(square, _dot(tl.trans(dz), n, PRECISION))
    dn = _dot(dz, _square(w1 + run * w1_run, W1_ROW, 1, D), PRECISION)
    xhat, rstd = _normal(_rows(x, first, live, X_ROW, BLOCK, D), D)
    tl.store(vector, tl.sum(dn * xhat, 0))
    tl.store(vector + D, tl.sum(dn, 0))
    dn *= tl.load(gamma + run * gamma_run + cols)[None, :].to(tl.float32)
    along = tl.sum(dn * xhat, 1) / D
    dn = rstd[:, None] * (dn - (tl.sum(dn, 1) / D)[:, None] - xhat * along[:, None])
    dn += _rows(grad, first, live, G_ROW, BLOCK, D)
    _store(dx + run * dx_run, dn, first, live, DX_ROW, BLOCK, D)


@triton.jit(do_not_specialize=["rows"])
def _squares_kernel(
    x, gamma, beta, grad, kept, part, rows, x_run, gamma_run, beta_run, g_run, kept_run, X_ROW: tl.constexpr,
    G_ROW: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, DEEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Z̄ᵀ n, and of the other layers Z̄ᵀ h: a program for each, of every so many-th block of rows."""
    run, which, squares = tl.program_id(2).to(tl.int64), tl.program_id(1), 3 if DEEP else 2
    cols, step = tl.arange(0, D), rows.to(tl.int64) * D
    kept += run * kept_run
    total = tl.zeros([D, D], tl.float32)
    for block in range(tl.program_id(0), tl.cdiv(rows, BLOCK), tl.num_programs(0)):
        first = tl.cast(block, tl.int64) * BLOCK
        live = tl.arange(0, BLOCK) < rows - first
        if which == 0:
            xhat, _ = _normal(_rows(x + run * x_run, first, live, X_ROW, BLOCK, D), D)
            right = _affine(xhat, gamma + run * gamma_run, beta + run * beta_run, D)
            left = _rows(kept, first, live, D, BLOCK, D)
        elif which == squares - 1:
            right = _rows(kept + (2 * squares - 3) * step, first, live, D, BLOCK, D)
            left = _rows(grad + run * g_run, first, live, G_ROW, BLOCK, D)
        else:
            right = _rows(kept + step, first, live, D, BLOCK, D)
            left = _rows(kept + 2 * step, first, live, D, BLOCK, D)
        total = tl.fma(_dot(tl.trans(left), right, PRECISION), 1.0, total)  # added to nearest, not truncated
    part += ((run * tl.num_programs(0) + tl.program_id(0)) * squares + which) * D * D
    tl.store(part + cols[:, None] * D + cols[None, :], total)


@triton.jit
def _total_kernel(
    part, total, size, count, total_run, GROUP: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK: tl.constexpr
):
    """``[runs, count, size] → [runs, groups, size]``: the sums of GROUP each."""
    run, group = tl.program_id(1).to(tl.int64), tl.program_id(2)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK_P, BLOCK], tl.float32)
    end = tl.minimum((group + 1) * GROUP, count)
    for first in range(group * GROUP, end, BLOCK_P):
        p = first + tl.arange(0, BLOCK_P)
        both = (p < end)[:, None] & (place < size)[None, :]
        acc += tl.load(part + (run * count + p)[:, None] * size + place[None, :], mask=both, other=0.0)
    tl.store(total + run * total_run + group * size + place, tl.sum(acc, 0), mask=place < size)


def _total(part: Tensor, total: Tensor) -> None:
    """``[runs, count, size] → [runs, size]`` in a fixed order."""
    runs, count, size = part.shape
    groups = triton.cdiv(max(count, 1), GROUP)
    out = total if groups == 1 else torch.empty((runs, groups, size), dtype=part.dtype, device=part.device)
    grid = triton.cdiv(size, 64), runs, groups
    _total_kernel[grid](part, out, size, count, out.stride(0), GROUP=GROUP, BLOCK_P=16, BLOCK=64)
    if groups > 1:
        _total(out, total)


def forward(
    x: Tensor, table: Tensor, index: Tensor | None, last: Tensor, last_index: Tensor | None,
    params: list[Tensor], masks: Masks, precision: str, dtype: torch.dtype,
) -> Tensor:  # fmt: skip
    """``[runs, rows, d]``; ``params`` are γ, β, W₁, W₂, b₂, W₃, or without W₂ and b₂."""
    x = rows_of(x)
    y = torch.empty_like(x, dtype=dtype)
    given, shape = _arguments(x, table, index, last, last_index, params, masks, precision)
    block, warps = _config(FORWARD, x)
    if y.numel():
        _forward_kernel[triton.cdiv(x.shape[1], block), x.shape[0]](
            *given, y, y.stride(0), Y_ROW=y.stride(1), BLOCK=block, num_warps=warps, num_stages=1, **shape
        )
    return y


def backward(
    grad: Tensor, x: Tensor, table: Tensor, index: Tensor | None, last: Tensor, last_index: Tensor | None,
    params: list[Tensor], masks: Masks, precision: str,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients: of x; of γ, β, (b₂,) for few numbers the tables, W₁, (W₂,) W₃, end to end in ``[runs, …]``;
    and of what the first table is added to (``[runs, 0, d]`` for few orders)."""
    x, grad = rows_of(x), rows_of(grad)
    (runs, rows, d), counts = x.shape, (table.shape[1], last.shape[1])
    few = [0 if n == 1 else max(16, triton.next_power_of_2(n)) if n <= FEW_ORDERS else -1 for n in counts]
    given, shape = _arguments(x, table, index, last, last_index, params, masks, precision)
    block, warps = _config(BACKWARD, x)
    blocks, deep = triton.cdiv(rows, block), shape["DEEP"]
    squares = 3 if deep else 2
    vectors = squares + sum(n for n, f in zip(counts, few, strict=True) if f >= 0)
    store = STORE and runs * rows >= FEW_ROWS
    size = vectors * d + (0 if store else squares * d * d)
    empty = partial(torch.empty, dtype=torch.float32, device=x.device)
    dx, part = torch.empty_like(x), empty((runs, blocks, size))
    kept = empty((runs, 2 * squares - 2 if store else int(few[0] < 0), rows, d))
    if dx.numel():
        _backward_kernel[blocks, runs](
            *given, grad, grad.stride(0), dx, dx.stride(0), kept, kept.stride(0), part, size, *counts,
            FEW=few[0], FEW_LASTS=few[1], G_ROW=grad.stride(1), DX_ROW=dx.stride(1), BLOCK=block,
            STORE=store, num_warps=warps, num_stages=1, **shape,
        )  # fmt: skip
    flat = empty((runs, vectors * d + squares * d * d))
    _total(part, flat[:, :size])
    if store:
        programs = max(1, SQUARES[2] // (squares * runs))
        part = empty((runs, programs, squares * d * d))
        gamma, beta = given[5:7]
        _squares_kernel[programs, squares, runs](
            x, gamma, beta, grad, kept, part, rows, x.stride(0), gamma.stride(0), beta.stride(0),
            grad.stride(0), kept.stride(0), X_ROW=x.stride(1), G_ROW=grad.stride(1), BLOCK=SQUARES[0], D=d,
            DEEP=deep, PRECISION=shape["PRECISION"], num_warps=SQUARES[1], num_stages=SQUARES[3],
        )  # fmt: skip
        _total(part, flat[:, size:])
    return dx, flat, kept[:, 0] if few[0] < 0 else empty((runs, 0, d))


SQUARES = (32, 4, 792, 2)
"""Rows of a block, warps, programs and stages of the kernel of squares."""


def _products(precision: str) -> str:
    if precision != "exact":
        return precision
    return "tf32x3" if os.environ.get("TRITON_INTERPRET") == "1" else EXACT


def _config(table: dict[int, tuple[int, int]], x: Tensor) -> tuple[int, int]:
    """Rows of a block, and warps."""
    return (16, 4) if x.shape[0] * x.shape[1] < FEW_ROWS else table[x.shape[2]]


def _arguments(
    x: Tensor, table: Tensor, index: Tensor | None, last: Tensor, last_index: Tensor | None,
    params: list[Tensor], masks: Masks, precision: str,
) -> tuple[list[Any], dict[str, Any]]:  # fmt: skip
    """What both kernels take first, and their compile-time constants."""
    rows, d = x.shape[1:]
    deep = len(params) == 6
    table, last = table.contiguous(), last.contiguous()
    tensors = [t if t.stride(-1) == 1 else t.contiguous() for t in params]
    gamma, beta, w1, w2, b2, w3 = tensors if deep else (*tensors[:3], tensors[2], tensors[1], tensors[3])
    seeds, p, numbers, wholes = zip(*masks, strict=True)
    drop = [seed is not None and q > 0 for seed, q in zip(seeds, p, strict=True)]
    # A seed that runs share is repeated for each; what is not read is any pointer.
    places, last_places, *others = (
        x if t is None else t.contiguous() for t in (index, last_index, *seeds, *numbers)
    )
    strides = [t.stride(0) for t in (gamma, beta, w1, w2, b2, w3)]
    given = [
        x, table, places, last, last_places, gamma, beta, w1, w2, b2, w3, *others,
        *(whole or rows for whole in wholes), *p, *(1 / (1 - q) for q in p), rows, x.stride(0),
        table.stride(0), last.stride(0), *strides,
    ]  # fmt: skip
    return given, {
        "X_ROW": x.stride(1), "W1_ROW": w1.stride(1), "W2_ROW": w2.stride(1) if deep else 0,
        "W3_ROW": w3.stride(1), "D": d, "DEEP": deep, "ORDERS": index is not None,
        "LASTS": last_index is not None, "DROP1": drop[0], "DROP2": drop[1],
        "NUMBERED1": numbers[0] is not None, "NUMBERED2": numbers[1] is not None,
        "PRECISION": _products(precision),
    }  # fmt: skip
