"""Triton kernels of φ: one launch forward; two backward, of which the second adds up partial sums.

All take rows ``[runs, rows, d]`` and parameters ``[runs, …]`` whose channels are next to each other in
memory. A program takes blocks of rows in turn, with one whole ``[d, d]`` weight at a time. Sums over rows
(the gradients of parameters) are made by each program for its blocks, then over the programs, in a fixed
order: two runs give the same bits. Arithmetic between products is float32.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..dropout.triton_kernels import _kept, rows_of
from .triton import FEW_ORDERS

FEW_ROWS = 4096
"""Below so many rows, in all runs, a program takes 16 of them, so that there are enough programs."""
FORWARD = {
    16: (32, 4, 528), 32: (32, 4, 528), 64: (32, 4, 264), 128: (32, 8, 132),
}  # fmt: skip
"""By width: rows of a block, warps and most programs (over all runs) of the forward pass."""
BACKWARD = {
    16: (32, 4, 528), 32: (32, 4, 264), 64: (32, 8, 264), 128: (16, 8, 132),
}  # fmt: skip
"""The same of the backward pass."""

HOIST = True

Masks = tuple[tuple[Any, ...], tuple[Any, ...]]


@triton.jit
def _dot(a, b, PRECISION: tl.constexpr):
    if PRECISION == "bf16":
        return tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16))
    else:
        return tl.dot(a, b, input_precision=PRECISION)


@triton.jit
def _square(w, row, col, D: tl.constexpr):
    """``[d, d]`` with steps of ``row`` and ``col`` between its elements."""
    i = tl.arange(0, D)
    return tl.load(w + i[:, None] * row + i[None, :] * col).to(tl.float32)


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
    rstd = tl.div_rn(1.0, tl.sqrt_rn(tl.sum(x * x, 1) / D + 1e-5))
    return x * rstd[:, None], rstd


@triton.jit
def _affine(xhat, gamma, beta, D: tl.constexpr):
    cols = tl.arange(0, D)
    return xhat * tl.load(gamma + cols)[None, :].to(tl.float32) + tl.load(beta + cols)[None, :].to(tl.float32)


@triton.jit(do_not_specialize=["rows", "whole1", "whole2"])
def _forward_kernel(
    x, table, index, last, last_index, gamma, beta, w1, w2, b2, w3, seed1, seed2, numbers1, numbers2, whole1,
    whole2, p1, p2, scale1, scale2, rows, x_run, t_run, l_run, gamma_run, beta_run, w1_run, w1_row, w2_run,
    w2_row, b2_run, w3_run, w3_row, y, y_run, X_ROW: tl.constexpr, Y_ROW: tl.constexpr, BLOCK: tl.constexpr,
    D: tl.constexpr, DEEP: tl.constexpr, ORDERS: tl.constexpr, LASTS: tl.constexpr, DROP1: tl.constexpr,
    DROP2: tl.constexpr, NUMBERED1: tl.constexpr, NUMBERED2: tl.constexpr, PRECISION: tl.constexpr,
    HOIST: tl.constexpr,
):  # fmt: skip
    """ORDERS, LASTS: whether the tables have many rows. DEEP: whether there is a second hidden layer."""
    run = tl.program_id(1).to(tl.int64)
    cols = tl.arange(0, D)
    if HOIST:
        a1 = _square(w1 + run * w1_run, 1, w1_row, D)
        a3 = _square(w3 + run * w3_run, 1, w3_row, D)
        if DEEP:
            a2 = _square(w2 + run * w2_run, 1, w2_row, D)
    for block in range(tl.program_id(0), tl.cdiv(rows, BLOCK), tl.num_programs(0)):
        first = tl.cast(block, tl.int64) * BLOCK
        live = tl.arange(0, BLOCK) < rows - first
        xs = _rows(x + run * x_run, first, live, X_ROW, BLOCK, D)
        xhat, _ = _normal(xs, D)
        if not HOIST:
            a1 = _square(w1 + run * w1_run, 1, w1_row, D)
        h = _dot(_affine(xhat, gamma + run * gamma_run, beta + run * beta_run, D), a1, PRECISION)
        h += _from_table(table + run * t_run, index, first, live, BLOCK, D, ORDERS)
        h = _act(h, first, live, seed1 + run, numbers1, whole1, p1, scale1, BLOCK, D, DROP1, NUMBERED1)
        if DEEP:
            if not HOIST:
                a2 = _square(w2 + run * w2_run, 1, w2_row, D)
            h = _dot(h, a2, PRECISION) + tl.load(b2 + run * b2_run + cols)[None, :].to(tl.float32)
            h = _act(h, first, live, seed2 + run, numbers2, whole2, p2, scale2, BLOCK, D, DROP2, NUMBERED2)
        if not HOIST:
            a3 = _square(w3 + run * w3_run, 1, w3_row, D)
        value = _dot(h, a3, PRECISION) + _from_table(
            last + run * l_run, last_index, first, live, BLOCK, D, LASTS
        )
        value += _rows(x + run * x_run, first, live, X_ROW, BLOCK, D)
        at = tl.arange(0, BLOCK)[:, None] * Y_ROW + cols[None, :]
        tl.store(y + run * y_run + first * Y_ROW + at, value.to(y.dtype.element_ty), mask=live[:, None])


@triton.jit
def _add(place, value, more):
    """To a sum of this program, which begins with its first block of rows."""
    tl.store(place, value + tl.load(place, mask=more, other=0.0))


@triton.jit
def _add_by_number(place, value, more, index, first, live, count, BLOCK: tl.constexpr, D: tl.constexpr,
                   MANY: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """Add the rows of ``value`` to the sums of their numbers. MANY: at least as many as numbers; 0 for one."""
    if MANY == 0:
        _add(place, tl.sum(value, 0), more)
    else:
        # A product with zeros and ones, of which 16 bits of mantissa at a time are exact enough in any mode.
        number = tl.load(index + first + tl.arange(0, BLOCK), mask=live, other=0).to(tl.int32)
        each = tl.arange(0, MANY)
        ones = (each[:, None] == number[None, :]).to(tl.float32)
        total = tl.dot(ones, value, input_precision="ieee" if PRECISION == "ieee" else "tf32x3")
        at, some = place[None, :] + each[:, None] * D, each[:, None] < count
        tl.store(at, total + tl.load(at, mask=some & more[None, :], other=0.0), mask=some)


@triton.jit(do_not_specialize=["rows", "whole1", "whole2", "orders", "lasts"])
def _backward_kernel(
    x, table, index, last, last_index, gamma, beta, w1, w2, b2, w3, seed1, seed2, numbers1, numbers2, whole1,
    whole2, p1, p2, scale1, scale2, rows, x_run, t_run, l_run, gamma_run, beta_run, w1_run, w1_row, w2_run,
    w2_row, b2_run, w3_run, w3_row, grad, g_run, dx, dx_run, dz1, dz_run, part, size, orders, lasts,
    FEW: tl.constexpr, FEW_LASTS: tl.constexpr, G_ROW: tl.constexpr, DX_ROW: tl.constexpr,
    X_ROW: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, DEEP: tl.constexpr, ORDERS: tl.constexpr,
    LASTS: tl.constexpr, DROP1: tl.constexpr, DROP2: tl.constexpr, NUMBERED1: tl.constexpr,
    NUMBERED2: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """FEW, FEW_LASTS: numbers of a table whose gradient is made here, 0 for one row, −1 for elsewhere.

    Rows and their gradients are read again where that spares registers.
    """
    run, programs = tl.program_id(1).to(tl.int64), tl.num_programs(0)
    cols = tl.arange(0, D)
    mine = part + (run * programs + tl.program_id(0)) * size
    square = mine + cols[:, None] * D + cols[None, :]
    vector = mine + (3 if DEEP else 2) * D * D + cols
    of_table = vector + (3 if DEEP else 2) * D
    x += run * x_run
    grad += run * g_run
    for block in range(tl.program_id(0), tl.cdiv(rows, BLOCK), programs):
        more = tl.full([D], block, tl.int32) >= programs
        first = tl.cast(block, tl.int64) * BLOCK
        live = tl.arange(0, BLOCK) < rows - first
        xs = _rows(x, first, live, X_ROW, BLOCK, D)
        xhat, rstd = _normal(xs, D)
        n = _affine(xhat, gamma + run * gamma_run, beta + run * beta_run, D)
        h1 = _dot(n, _square(w1 + run * w1_run, 1, w1_row, D), PRECISION)
        h1 += _from_table(table + run * t_run, index, first, live, BLOCK, D, ORDERS)
        h1 = _act(h1, first, live, seed1 + run, numbers1, whole1, p1, scale1, BLOCK, D, DROP1, NUMBERED1)
        g = _rows(grad, first, live, G_ROW, BLOCK, D)
        if DEEP:
            h2 = _dot(h1, _square(w2 + run * w2_run, 1, w2_row, D), PRECISION)
            h2 += tl.load(b2 + run * b2_run + cols)[None, :].to(tl.float32)
            h2 = _act(h2, first, live, seed2 + run, numbers2, whole2, p2, scale2, BLOCK, D, DROP2, NUMBERED2)
            _add(square + 2 * D * D, _dot(tl.trans(g), h2, PRECISION), more)
        else:
            _add(square + D * D, _dot(tl.trans(g), h1, PRECISION), more)
        if FEW_LASTS >= 0:
            place = of_table if FEW < 0 else of_table + orders * D
            _add_by_number(place, g, more, last_index, first, live, lasts, BLOCK, D, FEW_LASTS, PRECISION)
        dz = _dot(g, _square(w3 + run * w3_run, w3_row, 1, D), PRECISION)
        if DEEP:
            dz = tl.where(h2 > 0, dz * scale2, 0.0)
            _add(vector + 2 * D, tl.sum(dz, 0), more)
            _add(square + D * D, _dot(tl.trans(dz), h1, PRECISION), more)
            dz = _dot(dz, _square(w2 + run * w2_run, w2_row, 1, D), PRECISION)
        dz = tl.where(h1 > 0, dz * scale1, 0.0)
        if FEW >= 0:
            _add_by_number(of_table, dz, more, index, first, live, orders, BLOCK, D, FEW, PRECISION)
        else:
            at = tl.arange(0, BLOCK)[:, None] * D + cols[None, :]
            tl.store(dz1 + run * dz_run + first * D + at, dz, mask=live[:, None])
        xhat, rstd = _normal(_rows(x, first, live, X_ROW, BLOCK, D), D)
        n = _affine(xhat, gamma + run * gamma_run, beta + run * beta_run, D)
        _add(square, _dot(tl.trans(dz), n, PRECISION), more)
        dn = _dot(dz, _square(w1 + run * w1_run, w1_row, 1, D), PRECISION)
        _add(vector, tl.sum(dn * xhat, 0), more)
        _add(vector + D, tl.sum(dn, 0), more)
        dn *= tl.load(gamma + run * gamma_run + cols)[None, :].to(tl.float32)
        along = tl.sum(dn * xhat, 1) / D
        dn = rstd[:, None] * (dn - (tl.sum(dn, 1) / D)[:, None] - xhat * along[:, None])
        dn += _rows(grad, first, live, G_ROW, BLOCK, D)
        at = tl.arange(0, BLOCK)[:, None] * DX_ROW + cols[None, :]
        tl.store(dx + run * dx_run + first * DX_ROW + at, dn.to(dx.dtype.element_ty), mask=live[:, None])
        tl.debug_barrier()  # another thread may read the sums next time


@triton.jit
def _total_kernel(part, total, size, programs, BLOCK_P: tl.constexpr, BLOCK: tl.constexpr):
    """``[runs, programs, size] → [runs, size]``."""
    run = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK_P, BLOCK], tl.float32)
    for first in range(0, programs, BLOCK_P):
        p = first + tl.arange(0, BLOCK_P)
        both = (p < programs)[:, None] & (place < size)[None, :]
        acc += tl.load(part + (run * programs + p)[:, None] * size + place[None, :], mask=both, other=0.0)
    tl.store(total + run * size + place, tl.sum(acc, 0), mask=place < size)


def forward(
    x: Tensor, table: Tensor, index: Tensor | None, last: Tensor, last_index: Tensor | None,
    params: list[Tensor], masks: Masks, precision: str, dtype: torch.dtype,
) -> Tensor:  # fmt: skip
    """``[runs, rows, d]``; ``params`` are γ, β, W₁, W₂, b₂, W₃, or without W₂ and b₂."""
    x = rows_of(x)
    y = torch.empty_like(x, dtype=dtype)
    given, shape = _arguments(x, table, index, last, last_index, params, masks, precision)
    block, warps, most = _config(FORWARD, x)
    programs = min(triton.cdiv(x.shape[1], block), max(1, most // x.shape[0]))
    if y.numel():
        _forward_kernel[programs, x.shape[0]](
            *given, y, y.stride(0), Y_ROW=y.stride(1), BLOCK=block, num_warps=warps, num_stages=1, HOIST=HOIST, **shape
        )
    return y


def backward(
    grad: Tensor, x: Tensor, table: Tensor, index: Tensor | None, last: Tensor, last_index: Tensor | None,
    params: list[Tensor], masks: Masks, precision: str,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients: of x; of W₁, (W₂,) W₃, γ, β, (b₂,) and, for few numbers, the tables, end to end in
    ``[runs, …]``; and of what the first table is added to (``[runs, 0, d]`` for few orders)."""
    x, grad = rows_of(x), rows_of(grad)
    (runs, rows, d), counts = x.shape, (table.shape[1], last.shape[1])
    few = [0 if n == 1 else max(16, triton.next_power_of_2(n)) if n <= FEW_ORDERS else -1 for n in counts]
    given, shape = _arguments(x, table, index, last, last_index, params, masks, precision)
    block, warps, most = _config(BACKWARD, x)
    programs = min(triton.cdiv(rows, block), max(1, most // runs))
    squares = 3 if shape["DEEP"] else 2
    size = squares * (d * d + d) + sum(n for n, f in zip(counts, few, strict=True) if f >= 0) * d
    dx = torch.empty_like(x)
    wide = {"dtype": torch.float32, "device": x.device}
    dz = torch.empty(runs, rows if few[0] < 0 else 0, d, **wide)
    part, total = torch.empty(runs, programs, size, **wide), torch.empty(runs, size, **wide)
    if dx.numel():
        _backward_kernel[programs, runs](
            *given, grad, grad.stride(0), dx, dx.stride(0), dz, dz.stride(0), part, size, *counts, FEW=few[0],
            FEW_LASTS=few[1], G_ROW=grad.stride(1), DX_ROW=dx.stride(1), BLOCK=block, num_warps=warps,
            num_stages=1, **shape,
        )  # fmt: skip
    _total_kernel[triton.cdiv(size, 64), runs](part, total, size, programs, BLOCK_P=16, BLOCK=64)
    return dx, total, dz


def _config(table: dict[int, tuple[int, int, int]], x: Tensor) -> tuple[int, int, int]:
    """Rows of a block, warps and most programs."""
    block, warps, most = table[x.shape[2]]
    return (16, 4, 1 << 30) if x.shape[0] * x.shape[1] < FEW_ROWS else (block, warps, most)


def _arguments(
    x: Tensor, table: Tensor, index: Tensor | None, last: Tensor, last_index: Tensor | None,
    params: list[Tensor], masks: Masks, precision: str,
) -> tuple[list[Any], dict[str, Any]]:  # fmt: skip
    """What both kernels take first, and their compile-time constants."""
    rows, d = x.shape[1:]
    deep = len(params) == 6
    table, last = table.contiguous(), last.contiguous()
    tensors = [t if t.stride(-1) == 1 else t.contiguous() for t in params]
    gamma, beta, w1, w2, b2, w3 = tensors if deep else (*tensors[:3], *tensors[1:3], tensors[3])
    seeds, p, numbers, wholes = zip(*masks, strict=True)
    drop = [seed is not None and q > 0 for seed, q in zip(seeds, p, strict=True)]
    # A seed that runs share is repeated for each; what is not read is any pointer.
    places, last_places, *others = (
        x if t is None else t.contiguous() for t in (index, last_index, *seeds, *numbers)
    )
    strides = (s for t in (gamma, beta, w1, w2, b2, w3) for s in t.stride()[:-1])
    if not deep:
        strides = (*gamma.stride()[:1], *beta.stride()[:1], *w1.stride()[:2], 0, 0, 0, *w3.stride()[:2])
    given = [
        x, table, places, last, last_places, gamma, beta, w1, w2, b2, w3, *others,
        *(whole or rows for whole in wholes), *p, *(1 / (1 - q) for q in p), rows, x.stride(0),
        table.stride(0), last.stride(0), *strides,
    ]  # fmt: skip
    return given, {
        "X_ROW": x.stride(1), "D": d, "DEEP": deep, "ORDERS": index is not None,
        "LASTS": last_index is not None, "DROP1": drop[0], "DROP2": drop[1],
        "NUMBERED1": numbers[0] is not None, "NUMBERED2": numbers[1] is not None, "PRECISION": precision,
    }  # fmt: skip
