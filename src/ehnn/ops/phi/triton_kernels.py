"""Triton kernels of a narrow φ: one launch forward; two backward, of which the second adds up partial sums.

All take rows ``[runs, rows, d]`` and parameters ``[runs, …]`` whose channels are next to each other in
memory. A program holds a block of rows and one whole ``[d, d]`` weight at a time. Sums over rows (the
gradients of parameters) are made by each program for its blocks, then over the programs, in a fixed order.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..dispatch import tf32
from ..dropout.triton_kernels import _kept, rows_of
from .triton import FEW_ORDERS

PROGRAMS = 264
"""Programs of the backward pass, over all runs: two for each multiprocessor of a large GPU."""
FEW_ROWS = 4096
"""Below so many rows, in all runs, a program takes 16 of them, so that there are enough programs; else 32."""
EXACT = "ieee"
"""Products that are not to be TF32; ``"tf32x3"`` would make them of three on tensor cores."""

Masks = tuple[tuple[Any, ...], tuple[Any, ...]]


@triton.jit
def _square(w, stride, D: tl.constexpr):
    i = tl.arange(0, D)
    return tl.load(w + i[:, None] * stride + i[None, :])


@triton.jit
def _act(z, row, live, seed, numbers, whole, p, scale, D: tl.constexpr, DROP: tl.constexpr,
         NUMBERED: tl.constexpr):  # fmt: skip
    """``dropout(relu(z))`` of a block of rows."""
    h = tl.maximum(z, 0, propagate_nan=tl.PropagateNan.ALL)
    if DROP:
        name = tl.load(numbers + row, mask=live, other=0) if NUMBERED else row
        key = tl.load(seed) + whole.to(tl.int64) * 0x9E3779B9
        keep = _kept(key, name[:, None] * D + tl.arange(0, D)[None, :], p)
        h = tl.where(keep, h * scale, 0.0)
    return h


@triton.jit
def _hidden(
    x, row, live, table, index, gamma, beta, w1, w2, b2, seed1, seed2, numbers1, numbers2, whole1, whole2,
    p1, p2, scale1, scale2, t_row, w1_row, w2_row, D: tl.constexpr, HAS_INDEX: tl.constexpr,
    DROP1: tl.constexpr, DROP2: tl.constexpr, NUMBERED1: tl.constexpr, NUMBERED2: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """x̂, 1/σ and n = γ x̂ + β of LayerNorm, the hidden layers h₁ and h₂, and the order of each row."""
    cols = tl.arange(0, D)
    x -= tl.sum(x, 1)[:, None] / D
    rstd = tl.div_rn(1.0, tl.sqrt_rn(tl.sum(x * x, 1) / D + 1e-5))
    xhat = x * rstd[:, None]
    n = xhat * tl.load(gamma + cols)[None, :] + tl.load(beta + cols)[None, :]
    order = tl.load(index + row, mask=live, other=0) if HAS_INDEX else row * 0
    z = tl.dot(n, tl.trans(_square(w1, w1_row, D)), input_precision=PRECISION)
    z += tl.load(table + order[:, None] * t_row + cols[None, :])
    h1 = _act(z, row, live, seed1, numbers1, whole1, p1, scale1, D, DROP1, NUMBERED1)
    z = tl.dot(h1, tl.trans(_square(w2, w2_row, D)), input_precision=PRECISION)
    z += tl.load(b2 + cols)[None, :]
    h2 = _act(z, row, live, seed2, numbers2, whole2, p2, scale2, D, DROP2, NUMBERED2)
    return xhat, rstd, n, h1, h2, order


@triton.jit(do_not_specialize=["rows", "whole1", "whole2"])
def _forward_kernel(
    x, table, index, gamma, beta, w1, w2, b2, w3, b3, seed1, seed2, numbers1, numbers2, whole1, whole2,
    p1, p2, scale1, scale2, rows, x_run, x_row, t_run, t_row, gamma_run, beta_run, w1_run, w1_row, w2_run,
    w2_row, b2_run, w3_run, w3_row, b3_run, y, y_run, y_row, BLOCK: tl.constexpr, D: tl.constexpr,
    HAS_INDEX: tl.constexpr, DROP1: tl.constexpr, DROP2: tl.constexpr, NUMBERED1: tl.constexpr,
    NUMBERED2: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.arange(0, D)
    live = row < rows
    xs = tl.load(x + run * x_run + row[:, None] * x_row + cols[None, :], mask=live[:, None], other=0.0)
    _, _, _, _, h2, _ = _hidden(
        xs, row, live, table + run * t_run, index, gamma + run * gamma_run, beta + run * beta_run,
        w1 + run * w1_run, w2 + run * w2_run, b2 + run * b2_run, seed1 + run, seed2 + run, numbers1, numbers2,
        whole1, whole2, p1, p2, scale1, scale2, t_row, w1_row, w2_row, D, HAS_INDEX, DROP1, DROP2,
        NUMBERED1, NUMBERED2, PRECISION,
    )  # fmt: skip
    value = tl.dot(h2, tl.trans(_square(w3 + run * w3_run, w3_row, D)), input_precision=PRECISION)
    value += xs + tl.load(b3 + run * b3_run + cols)[None, :]
    tl.store(y + run * y_run + row[:, None] * y_row + cols[None, :], value, mask=live[:, None])


@triton.jit
def _add(place, value, more):
    """To a sum of this program, which begins with its first block of rows."""
    tl.store(place, value + tl.load(place, mask=more, other=0.0))


@triton.jit(do_not_specialize=["rows", "whole1", "whole2", "orders"])
def _backward_kernel(
    x, table, index, gamma, beta, w1, w2, b2, w3, b3, seed1, seed2, numbers1, numbers2, whole1, whole2,
    p1, p2, scale1, scale2, rows, x_run, x_row, t_run, t_row, gamma_run, beta_run, w1_run, w1_row, w2_run,
    w2_row, b2_run, w3_run, w3_row, b3_run, grad, g_run, g_row, dx, dx_run, dx_row, dz1, dz_run, dz_row,
    part, size, orders, ORDERS: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, HAS_INDEX: tl.constexpr,
    DROP1: tl.constexpr, DROP2: tl.constexpr, NUMBERED1: tl.constexpr, NUMBERED2: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """ORDERS: rows of the one-hot matrix; 0 where the table's gradient is made of dz1 elsewhere."""
    run, programs = tl.program_id(1).to(tl.int64), tl.num_programs(0)
    cols = tl.arange(0, D)
    square = part + (run * programs + tl.program_id(0)) * size + cols[:, None] * D + cols[None, :]
    vector = part + (run * programs + tl.program_id(0)) * size + 3 * D * D + cols
    for block in range(tl.program_id(0), tl.cdiv(rows, BLOCK), programs):
        more = tl.full([D], block, tl.int32) >= programs
        row = block * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
        live = row < rows
        xs = tl.load(x + run * x_run + row[:, None] * x_row + cols[None, :], mask=live[:, None], other=0.0)
        xhat, rstd, n, h1, h2, order = _hidden(
            xs, row, live, table + run * t_run, index, gamma + run * gamma_run, beta + run * beta_run,
            w1 + run * w1_run, w2 + run * w2_run, b2 + run * b2_run, seed1 + run, seed2 + run, numbers1,
            numbers2, whole1, whole2, p1, p2, scale1, scale2, t_row, w1_row, w2_row, D, HAS_INDEX, DROP1,
            DROP2, NUMBERED1, NUMBERED2, PRECISION,
        )  # fmt: skip
        g = tl.load(grad + run * g_run + row[:, None] * g_row + cols[None, :], mask=live[:, None], other=0.0)
        _add(vector + D, tl.sum(g, 0), more)
        _add(square + 2 * D * D, tl.dot(tl.trans(g), h2, input_precision=PRECISION), more)
        dz = tl.dot(g, _square(w3 + run * w3_run, w3_row, D), input_precision=PRECISION)
        dz = tl.where(h2 > 0, dz * scale2, 0.0)
        _add(vector, tl.sum(dz, 0), more)
        _add(square + D * D, tl.dot(tl.trans(dz), h1, input_precision=PRECISION), more)
        dz = tl.dot(dz, _square(w2 + run * w2_run, w2_row, D), input_precision=PRECISION)
        dz = tl.where(h1 > 0, dz * scale1, 0.0)
        if ORDERS == 0:
            tl.store(dz1 + run * dz_run + row[:, None] * dz_row + cols[None, :], dz, mask=live[:, None])
        elif HAS_INDEX:
            number = tl.arange(0, ORDERS)[:, None]
            place, some = vector[None, :] + (4 + number) * D, number < orders
            value = tl.dot((number == order[None, :]).to(tl.float32), dz, input_precision="ieee")
            tl.store(place, value + tl.load(place, mask=some & more[None, :], other=0.0), mask=some)
        else:
            _add(vector + 4 * D, tl.sum(dz, 0), more)
        _add(square, tl.dot(tl.trans(dz), n, input_precision=PRECISION), more)
        dn = tl.dot(dz, _square(w1 + run * w1_run, w1_row, D), input_precision=PRECISION)
        _add(vector + 2 * D, tl.sum(dn * xhat, 0), more)
        _add(vector + 3 * D, tl.sum(dn, 0), more)
        dn *= tl.load(gamma + run * gamma_run + cols)[None, :]
        along = tl.sum(dn * xhat, 1) / D
        dn = g + rstd[:, None] * (dn - (tl.sum(dn, 1) / D)[:, None] - xhat * along[:, None])
        tl.store(dx + run * dx_run + row[:, None] * dx_row + cols[None, :], dn, mask=live[:, None])
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


def forward(x: Tensor, table: Tensor, index: Tensor | None, params: list[Tensor], masks: Masks) -> Tensor:
    """``[runs, rows, d]``; ``params`` are γ, β, W₁, W₂, b₂, W₃, b₃."""
    x = rows_of(x)
    y = torch.empty_like(x)
    given, shape = _arguments(x, table, index, params, masks)
    grid = (triton.cdiv(x.shape[1], shape["BLOCK"]), x.shape[0])
    _forward_kernel[grid](*given, y, *y.stride()[:2], **shape)
    return y


def backward(
    grad: Tensor, x: Tensor, table: Tensor, index: Tensor | None, params: list[Tensor], masks: Masks
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients: of x; of W₁, W₂, W₃, b₂, b₃, γ, β and, for few orders, the table, end to end in
    ``[runs, …]``; and of what the table is added to (``[runs, 0, d]`` for few orders)."""
    x, grad = rows_of(x), rows_of(grad)
    (runs, rows, d), orders = x.shape, table.shape[1]
    few = orders <= FEW_ORDERS
    given, shape = _arguments(x, table, index, params, masks)
    programs = min(triton.cdiv(rows, shape["BLOCK"]), max(1, PROGRAMS // runs))
    size = 3 * d * d + (4 + (orders if few else 0)) * d
    dx, dz = torch.empty_like(x), x.new_empty(runs, 0 if few else rows, d)
    part, total = x.new_empty(runs, programs, size), x.new_empty(runs, size)
    _backward_kernel[programs, runs](
        *given, grad, *grad.stride()[:2], dx, *dx.stride()[:2], dz, *dz.stride()[:2], part, size, orders,
        ORDERS=FEW_ORDERS if few else 0, **shape,
    )  # fmt: skip
    _total_kernel[triton.cdiv(size, 64), runs](part, total, size, programs, BLOCK_P=16, BLOCK=64)
    return dx, total, dz


def _arguments(
    x: Tensor, table: Tensor, index: Tensor | None, params: list[Tensor], masks: Masks
) -> tuple[list[Any], dict[str, Any]]:
    """What both kernels take first, and their compile-time constants."""
    runs, rows, d = x.shape
    tensors = [t if t.stride(-1) == 1 else t.contiguous() for t in (table, *params)]
    seeds, p, numbers, wholes = zip(*masks, strict=True)
    drop = [seed is not None and q > 0 for seed, q in zip(seeds, p, strict=True)]
    # A seed that runs share is repeated for each; what is not read is any pointer.
    places, *others = (x if t is None else t.contiguous() for t in (index, *seeds, *numbers))
    strides = (s for t in (x, *tensors) for s in t.stride()[:-1])
    given = [
        x, tensors[0], places, *tensors[1:], *others, *(whole or rows for whole in wholes), *p,
        *(1 / (1 - q) for q in p), rows, *strides,
    ]  # fmt: skip
    # More rows at a time, or wider rows, and products without tensor cores run out of registers.
    return given, {
        "D": d, "BLOCK": 16 if runs * rows < FEW_ROWS or d == 128 else 32, "HAS_INDEX": index is not None,
        "DROP1": drop[0], "DROP2": drop[1], "NUMBERED1": numbers[0] is not None,
        "NUMBERED2": numbers[1] is not None, "PRECISION": "tf32" if tf32() else EXACT,
        "num_warps": 4 if d < 64 else 8, "num_stages": 1,
    }  # fmt: skip
