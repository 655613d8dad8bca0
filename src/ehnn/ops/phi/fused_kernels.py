"""Triton kernels of φ for any number of rows: two launches forward, three backward.

All take rows ``[runs, rows, d]`` and parameters ``[runs, …]`` whose channels are next to each other in
memory. LayerNorm's γ and β are folded into the first layer: with x̂ = (x − μ) / σ and n = γ x̂ + β,

    W₁ n + t = (W₁ γ) x̂ + (t + W₁ β),

so that the kernels see x̂, W₁ γ and a shifted table alone. `_fold_kernel` makes these, and writes each
weight as halves: numbers of 11 bits, w = (high + low) / 2ᵏ with one power of two for a matrix. Products are
made of halves on tensor cores and added up in float32: high·low + low·high + high·high leaves out 2⁻²² of
a product, high·high alone is as accurate as TF32. Rows get a power of two each (a block of rows, backward),
so that no number is too small or too large for a half.

The backward pass works on transposed blocks ``[d, rows]``: there the result of one product is the operand
of the next without another order of its elements. Sums over rows (the gradients of parameters) are made by
each program for its blocks, then over the programs, in a fixed order: two runs give the same bits.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..dropout.triton_kernels import _kept, rows_of
from ..triton_halves import _halves, _halves_of_rows, _product, processors, total_of

BLOCK, SMALL_BLOCK = 64, 16
"""Rows of a block. With 32, the assembler of Triton 3.6 makes code that reads registers before it writes them
(``ehnn_paper.measure.machine_code``)."""
FEW_ROWS = 16384
"""Below so many rows, in all runs, blocks are small, so that there are enough programs."""
FORWARD, BACKWARD = (6, 168), (4, 255)
"""Programs for each processor, and registers of a thread."""

Masks = tuple[tuple[Any, ...], tuple[Any, ...]]


# ---------------------------------------------------------------------- weights


@triton.jit
def _square(w, ROW: tl.constexpr, D: tl.constexpr):
    i = tl.arange(0, D)
    return tl.load(w + i[:, None] * ROW + i[None, :])


@triton.jit
def _both(halves, which: tl.constexpr, D: tl.constexpr, PARTS: tl.constexpr):
    """High and low halves of a weight."""
    halves += 2 * which * D * D
    high = _square(halves, D, D)
    low = high
    if PARTS == 2:
        low = _square(halves + D * D, D, D)
    return high, low


@triton.jit
def _small_table(table, first, count, ROW: tl.constexpr, WIDTH: tl.constexpr, wide):
    """16 rows of a table from ``first`` on, of ``wide`` channels, in float32; zeros beyond."""
    row, col = first + tl.arange(0, 16), tl.arange(0, WIDTH)
    live = (row < count)[:, None] & (col < wide)[None, :]
    return tl.load(table + row[:, None] * ROW + col[None, :], mask=live, other=0.0).to(tl.float32)


@triton.jit(do_not_specialize=["orders", "lasts", "width"])
def _fold_kernel(
    gamma, beta, w1, b1, w2, w3, b3, codes, residual, halves, scales, table, last, orders, lasts, width,
    gamma_run, beta_run, w1_run, b1_run, w2_run, w3_run, b3_run, c_run, r_run, W1_ROW: tl.constexpr,
    W2_ROW: tl.constexpr, W3_ROW: tl.constexpr, R_ROW: tl.constexpr, C_ROW: tl.constexpr, D: tl.constexpr,
    C: tl.constexpr, DEEP: tl.constexpr,
):  # fmt: skip
    """A program for each weight, which writes its halves, and for 16 rows of each of the two tables."""
    run, which = tl.program_id(1).to(tl.int64), tl.program_id(0)
    squares: tl.constexpr = 3 if DEEP else 2
    i = tl.arange(0, D)
    w1 += run * w1_run
    if which < squares:
        if which == 0:
            w = _square(w1, W1_ROW, D).to(tl.float32)
            w *= tl.load(gamma + run * gamma_run + i)[None, :].to(tl.float32)
        elif which == squares - 1:
            w = _square(w3 + run * w3_run, W3_ROW, D).to(tl.float32)
        else:
            w = _square(w2 + run * w2_run, W2_ROW, D).to(tl.float32)
        high, low, down = _halves(w)
        place = halves + (run * squares + which) * 2 * D * D + i[:, None] * D + i[None, :]
        tl.store(place, high)
        tl.store(place + D * D, low)
        tl.store(scales + run * squares + which, down)
    elif which < squares + tl.cdiv(orders, 16):
        first = (which - squares) * 16
        w = _square(w1, W1_ROW, D).to(tl.float32)
        shift = tl.sum(w * tl.load(beta + run * beta_run + i)[None, :].to(tl.float32), 1)
        shift += tl.load(b1 + run * b1_run + i).to(tl.float32)
        value = tl.zeros([16, D], tl.float32) + shift[None, :]
        if C > 0:
            c = tl.arange(0, C)
            at = c[:, None] + i[None, :] * W1_ROW
            of_codes = tl.load(w1 + D + at, mask=(c < width)[:, None], other=0.0).to(tl.float32)
            code = _small_table(codes + run * c_run, first, orders, C_ROW, C, width)
            value += tl.dot(code, of_codes, input_precision="ieee")
        _store_few(table + run * orders * D, value, first, orders, D)
    else:
        first = (which - squares - tl.cdiv(orders, 16)) * 16
        value = _small_table(residual + run * r_run, first, lasts, R_ROW, D, D)
        value += tl.load(b3 + run * b3_run + i)[None, :].to(tl.float32)
        _store_few(last + run * lasts * D, value, first, lasts, D)


@triton.jit
def _store_few(table, value, first, count, D: tl.constexpr):
    row = first + tl.arange(0, 16)
    tl.store(table + row[:, None] * D + tl.arange(0, D)[None, :], value, mask=(row < count)[:, None])


# ---------------------------------------------------------------------- rows


@triton.jit
def _rows(x, first, live, ROW: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, LAST: tl.constexpr):
    """A block of rows in float32; zeros beyond the last. LAST: whether they are not read again.

    The two read alike, but the compiler takes them for different, and keeps no rows in registers.
    """
    at = tl.arange(0, BLOCK)[:, None] * ROW + tl.arange(0, D)[None, :]
    policy: tl.constexpr = "evict_first" if LAST else ""
    return tl.load(x + first * ROW + at, mask=live[:, None], other=0.0, eviction_policy=policy).to(tl.float32)


@triton.jit
def _store(y, value, first, live, ROW: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr):
    at = tl.arange(0, BLOCK)[:, None] * ROW + tl.arange(0, D)[None, :]
    tl.store(y + first * ROW + at, value.to(y.dtype.element_ty), mask=live[:, None])


@triton.jit
def _numbers(index, first, live, BLOCK: tl.constexpr):
    return tl.load(index + first + tl.arange(0, BLOCK), mask=live, other=0).to(tl.int32)


@triton.jit
def _from_table(table, index, first, live, BLOCK: tl.constexpr, D: tl.constexpr, MANY: tl.constexpr):
    """The row of a table for each row of a block; one row where it serves all."""
    cols = tl.arange(0, D)
    if MANY:
        number = _numbers(index, first, live, BLOCK)
        return tl.load(table + number[:, None] * D + cols[None, :]).to(tl.float32)
    else:
        return tl.load(table + cols)[None, :].to(tl.float32)


@triton.jit
def _act(z, first, live, seed, numbers, whole, p, scale, BLOCK: tl.constexpr, D: tl.constexpr,
         DROP: tl.constexpr, NUMBERED: tl.constexpr, ACROSS: tl.constexpr):  # fmt: skip
    """``dropout(relu(z))`` of a block of rows, ACROSS: of a transposed one; the hash has 32 bits."""
    h = tl.maximum(z, 0, propagate_nan=tl.PropagateNan.ALL)
    if DROP:
        row = first + tl.arange(0, BLOCK)
        name = tl.load(numbers + row, mask=live, other=0) if NUMBERED else row
        key = (tl.load(seed) + whole.to(tl.int64) * 0x9E3779B9).to(tl.uint32)
        name, cols = name.to(tl.uint32) * D, tl.arange(0, D).to(tl.uint32)
        position = name[None, :] + cols[:, None] if ACROSS else name[:, None] + cols[None, :]
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


@triton.jit(do_not_specialize=["rows", "whole1", "whole2"])
def _forward_kernel(
    x, table, index, last, last_index, halves, scales, b2, seed1, seed2, numbers1, numbers2, whole1, whole2,
    p1, p2, scale1, scale2, rows, x_run, t_run, l_run, b2_run, y, y_run, Y_ROW: tl.constexpr,
    X_ROW: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, DEEP: tl.constexpr, ORDERS: tl.constexpr,
    LASTS: tl.constexpr, DROP1: tl.constexpr, DROP2: tl.constexpr, NUMBERED1: tl.constexpr,
    NUMBERED2: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """ORDERS, LASTS: whether the tables have many rows. DEEP: whether there is a second hidden layer."""
    run, squares = tl.program_id(1).to(tl.int64), 3 if DEEP else 2
    halves += run * squares * 2 * D * D
    scales += run * squares
    w1, w1_low = _both(halves, 0, D, PARTS)
    w3, w3_low = _both(halves, 2 if DEEP else 1, D, PARTS)
    down1, down3 = tl.load(scales), tl.load(scales + squares - 1)
    if DEEP:
        w2, w2_low = _both(halves, 1, D, PARTS)
        down2 = tl.load(scales + 1)
        bias = tl.load(b2 + run * b2_run + tl.arange(0, D))[None, :].to(tl.float32)
    start, end, step = tl.program_id(0), tl.cdiv(rows, BLOCK), tl.num_programs(0)
    for block in tl.range(start, end, step, disable_licm=True):
        first = tl.cast(block, tl.int64) * BLOCK
        live = tl.arange(0, BLOCK) < rows - first
        xhat, _ = _normal(_rows(x + run * x_run, first, live, X_ROW, BLOCK, D, False), D)
        high, low, down = _halves_of_rows(xhat, PARTS)
        h = _product(high, low, tl.trans(w1), tl.trans(w1_low), PARTS) * (down * down1)
        h += _from_table(table + run * t_run, index, first, live, BLOCK, D, ORDERS)
        h = _act(h, first, live, seed1 + run, numbers1, whole1, p1, scale1, BLOCK, D, DROP1, NUMBERED1, False)
        high, low, down = _halves_of_rows(h, PARTS)
        if DEEP:
            h = _product(high, low, tl.trans(w2), tl.trans(w2_low), PARTS) * (down * down2) + bias
            h = _act(
                h, first, live, seed2 + run, numbers2, whole2, p2, scale2, BLOCK, D, DROP2, NUMBERED2, False
            )
            high, low, down = _halves_of_rows(h, PARTS)
        value = _product(high, low, tl.trans(w3), tl.trans(w3_low), PARTS) * (down * down3)
        value += _from_table(last + run * l_run, last_index, first, live, BLOCK, D, LASTS)
        value += _rows(x + run * x_run, first, live, X_ROW, BLOCK, D, True)
        _store(y + run * y_run, value, first, live, Y_ROW, BLOCK, D)


@triton.jit
def _add(sums, value, more, D: tl.constexpr):
    """To a sum ``[d]`` of this program, which begins with its first block of rows."""
    place = sums + tl.arange(0, D)
    if more:
        value += tl.load(place)
    tl.store(place, value)


@triton.jit
def _add_square(sums, value, more, ROW: tl.constexpr, COL: tl.constexpr, D: tl.constexpr):
    """To a sum ``[d, d]``, with steps of ROW and COL between its elements."""
    i = tl.arange(0, D)
    place = sums + i[:, None] * ROW + i[None, :] * COL
    if more:
        value += tl.load(place)
    tl.store(place, value)


@triton.jit(do_not_specialize=["rows", "whole1", "whole2"])
def _backward_kernel(
    x, table, index, halves, scales, b2, seed1, seed2, numbers1, numbers2, whole1, whole2, p1, p2, scale1,
    scale2, rows, x_run, t_run, b2_run, grad, g_run, dx, dx_run, dz, sums, size,
    G_ROW: tl.constexpr, DX_ROW: tl.constexpr, X_ROW: tl.constexpr,
    BLOCK: tl.constexpr, D: tl.constexpr, DEEP: tl.constexpr, ORDERS: tl.constexpr, DROP1: tl.constexpr,
    DROP2: tl.constexpr, NUMBERED1: tl.constexpr, NUMBERED2: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """Sums of a program: of z̄₁ x̂ᵀ, (z̄₂ h₁ᵀ,) ȳ h₂ᵀ; of z̄₁, ȳ, (z̄₂). For many ORDERS z̄₁ is written too.

    Rows and their gradients are read again, which spares registers.
    """
    run, squares = tl.program_id(1).to(tl.int64), 3 if DEEP else 2
    cols = tl.arange(0, D)
    start, end, step = tl.program_id(0), tl.cdiv(rows, BLOCK), tl.num_programs(0)
    sums += (run * step + start) * size
    vectors = sums + squares * D * D
    halves += run * squares * 2 * D * D
    scales += run * squares
    w1, w1_low = _both(halves, 0, D, PARTS)
    w3, w3_low = _both(halves, 2 if DEEP else 1, D, PARTS)
    down1, down3 = tl.load(scales), tl.load(scales + squares - 1)
    if DEEP:
        w2, w2_low = _both(halves, 1, D, PARTS)
        down2 = tl.load(scales + 1)
        bias = tl.load(b2 + run * b2_run + cols)[:, None].to(tl.float32)
    table += run * t_run
    x += run * x_run
    grad += run * g_run
    for block in tl.range(start, end, step, disable_licm=True):
        first, more = tl.cast(block, tl.int64) * BLOCK, block >= step
        live = tl.arange(0, BLOCK) < rows - first
        xhat, _ = _normal(_rows(x, first, live, X_ROW, BLOCK, D, False), D)
        n, n_low, n_down = _halves(xhat, PARTS)
        h = _product(w1, w1_low, tl.trans(n), tl.trans(n_low), PARTS) * (n_down * down1)
        if ORDERS:
            number = _numbers(index, first, live, BLOCK)
            h += tl.load(table + number[None, :] * D + cols[:, None])
        else:
            h += tl.load(table + cols)[:, None]
        h = _act(h, first, live, seed1 + run, numbers1, whole1, p1, scale1, BLOCK, D, DROP1, NUMBERED1, True)
        h1, h1_low, h1_down = _halves(h, PARTS)
        h2, h2_low, h2_down = h1, h1_low, h1_down
        if DEEP:
            h = _product(w2, w2_low, h1, h1_low, PARTS) * (h1_down * down2) + bias
            h = _act(
                h, first, live, seed2 + run, numbers2, whole2, p2, scale2, BLOCK, D, DROP2, NUMBERED2, True
            )
            h2, h2_low, h2_down = _halves(h, PARTS)
        g = _rows(grad, first, live, G_ROW, BLOCK, D, False)
        _add(vectors + D, tl.sum(g, 0), more, D)
        high, low, down = _halves(g, PARTS)
        value = _product(h2, h2_low, high, low, PARTS) * (h2_down * down)
        _add_square(sums + (squares - 1) * D * D, value, more, 1, D, D)
        z = _product(tl.trans(w3), tl.trans(w3_low), tl.trans(high), tl.trans(low), PARTS) * (down * down3)
        if DEEP:
            z = tl.where(h2 > 0, z * scale2, 0.0)
            _add(vectors + 2 * D, tl.sum(z, 1), more, D)
            high, low, down = _halves(z, PARTS)
            value = _product(high, low, tl.trans(h1), tl.trans(h1_low), PARTS) * (h1_down * down)
            _add_square(sums + D * D, value, more, D, 1, D)
            z = _product(tl.trans(w2), tl.trans(w2_low), high, low, PARTS) * (down * down2)
        z = tl.where(h1 > 0, z * scale1, 0.0)
        _add(vectors, tl.sum(z, 1), more, D)
        high, low, down = _halves(z, PARTS)
        _add_square(sums, _product(high, low, n, n_low, PARTS) * (n_down * down), more, D, 1, D)
        if ORDERS:
            _store(dz + run * rows * D, tl.trans(z), first, live, D, BLOCK, D)
        dn = tl.trans(_product(tl.trans(w1), tl.trans(w1_low), high, low, PARTS) * (down * down1))
        xhat, rstd = _normal(_rows(x, first, live, X_ROW, BLOCK, D, True), D)
        along = tl.sum(dn * xhat, 1) / D
        dn = rstd[:, None] * (dn - (tl.sum(dn, 1) / D)[:, None] - xhat * along[:, None])
        dn += _rows(grad, first, live, G_ROW, BLOCK, D, True)
        _store(dx + run * dx_run, dn, first, live, DX_ROW, BLOCK, D)
        tl.debug_barrier()  # another thread may read the sums next time


# ---------------------------------------------------------------------- gradients of the first layer


@triton.jit(do_not_specialize=["orders", "width"])
def _unfold_kernel(
    sums, table, gamma, beta, w1, codes, made, size, made_run, orders, width, table_run, gamma_run, beta_run,
    w1_run, c_run, T_ROW: tl.constexpr, W1_ROW: tl.constexpr, C_ROW: tl.constexpr, D: tl.constexpr,
    C: tl.constexpr, DEEP: tl.constexpr,
):  # fmt: skip
    """Of X = Σ z̄₁ x̂ᵀ, s = Σ z̄₁ and such sums by order, in ``table``, the gradients of W₁, γ and β."""
    run, i = tl.program_id(1).to(tl.int64), tl.arange(0, D)
    made += run * made_run
    if tl.program_id(0) == 0:
        sums += run * size
        x, s = _square(sums, D, D), tl.load(sums + (3 if DEEP else 2) * D * D + i)
        w = _square(w1 + run * w1_run, W1_ROW, D).to(tl.float32)
        scale = tl.load(gamma + run * gamma_run + i)[None, :].to(tl.float32)
        shift = tl.load(beta + run * beta_run + i)[None, :].to(tl.float32)
        tl.store(made + i[:, None] * (D + width) + i[None, :], x * scale + s[:, None] * shift)
        tl.store(made + D * (D + width) + i, tl.sum(w * x, 0))
        tl.store(made + D * (D + width + 1) + i, tl.sum(w * s[:, None], 0))
    elif C > 0:
        total = tl.zeros([D, C], tl.float32)
        for first in range(0, orders, 16):
            of_order = _small_table(table + run * table_run, first, orders, T_ROW, D, D)
            code = _small_table(codes + run * c_run, first, orders, C_ROW, C, width)
            total += tl.dot(tl.trans(of_order), code, input_precision="ieee")
        c = tl.arange(0, C)
        at = made + i[:, None] * (D + width) + D + c[None, :]
        tl.store(at, total, mask=(c < width)[None, :])


# ---------------------------------------------------------------------- launches


def forward(
    x: Tensor, index: Tensor | None, last_index: Tensor | None, codes: Tensor | None, residual: Tensor | None,
    params: list[Tensor], masks: Masks, parts: int, dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """y ``[runs, rows, d]``, and for the backward pass the halves of the weights, their powers of two and the
    table ``[runs, orders, d]``; ``params`` are γ, β, W₁, b₁, (W₂, b₂,) W₃, b₃."""
    x = rows_of(x)
    (runs, _, d), deep = x.shape, len(params) == 8
    gamma, beta, w1, b1, w2, b2, w3, b3 = _eight(params)
    squares, orders = 3 if deep else 2, 1 if codes is None else codes.shape[1]
    width, codes = _codes(codes, x)
    empty = partial(torch.empty, dtype=torch.float32, device=x.device)
    halves = torch.empty(runs, squares, 2, d, d, dtype=torch.float16, device=x.device)
    scales, table = empty(runs, squares), empty(runs, orders, d)
    lasts = 0 if residual is None else residual.shape[1]
    residual = b3 if residual is None else rows_of(residual)
    last = empty(runs, lasts, d) if lasts else b3
    _fold_kernel[squares + triton.cdiv(orders, 16) + triton.cdiv(lasts, 16), runs](
        gamma, beta, w1, b1, w2, w3, b3, codes, residual, halves, scales, table, last, orders, lasts, width,
        *(t.stride(0) for t in (gamma, beta, w1, b1, w2, w3, b3, codes, residual)), W1_ROW=w1.stride(1),
        W2_ROW=w2.stride(1), W3_ROW=w3.stride(1), R_ROW=residual.stride(1) if lasts else 0,
        C_ROW=codes.stride(1), D=d, C=_block(width), DEEP=deep, num_warps=4,
    )  # fmt: skip
    y = torch.empty_like(x, dtype=dtype)
    places = [x if t is None else t.contiguous() for t in (index, last_index)]
    masked, drop = _masks(x, masks)
    grid, shape = _launch(FORWARD, x, parts)
    _forward_kernel[grid](
        x, table, places[0], last, places[1], halves, scales, b2, *masked, x.stride(0), table.stride(0),
        last.stride(0), b2.stride(0), y, y.stride(0), Y_ROW=y.stride(1), X_ROW=x.stride(1), DEEP=deep,
        ORDERS=index is not None, LASTS=last_index is not None, **drop, **shape,
    )  # fmt: skip
    return y, halves, scales, table


def backward(
    grad: Tensor, x: Tensor, halves: Tensor, scales: Tensor, table: Tensor, index: Tensor | None,
    b2: Tensor | None, masks: Masks, parts: int,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradient of x; sums over rows, see `_backward_kernel`; and the gradient of what the table is added
    to (``[runs, 0, d]`` for a table of one row)."""
    x, grad = rows_of(x), rows_of(grad)
    (runs, rows, d), squares = x.shape, halves.shape[1]
    b2 = scales if b2 is None else b2.contiguous()
    empty = partial(torch.empty, dtype=torch.float32, device=x.device)
    grid, shape = _launch(BACKWARD, x, parts)
    size = squares * (d + 1) * d
    dx, part = torch.empty_like(x), empty((runs, grid[0], size))
    dz = empty((runs, 0 if index is None else rows, d))
    masked, drop = _masks(x, masks)
    _backward_kernel[grid](
        x, table, x if index is None else index.contiguous(), halves, scales, b2, *masked, x.stride(0),
        table.stride(0), b2.stride(0), grad, grad.stride(0), dx, dx.stride(0), dz, part, size,
        G_ROW=grad.stride(1), DX_ROW=dx.stride(1), X_ROW=x.stride(1), DEEP=squares == 3,
        ORDERS=index is not None, **drop, **shape,
    )  # fmt: skip
    return dx, total_of(part), dz


def unfold(
    sums: Tensor, table: Tensor, codes: Tensor | None, gamma: Tensor, beta: Tensor, w1: Tensor, deep: bool
) -> Tensor:
    """``[runs, d (d + c) + 2 d]``: the gradients of W₁, γ and β, of sums and the gradient of the table."""
    gamma, beta, w1 = (t if t.stride(-1) == 1 else t.contiguous() for t in (gamma, beta, w1))
    table = rows_of(table)
    (runs, orders, d), (width, codes) = table.shape, _codes(codes, table)
    made = torch.empty(runs, d * (d + width + 2), dtype=torch.float32, device=sums.device)
    _unfold_kernel[2 if width else 1, runs](
        sums, table, gamma, beta, w1, codes, made, sums.stride(0), made.stride(0), orders, width,
        *(t.stride(0) for t in (table, gamma, beta, w1, codes)), T_ROW=table.stride(1), W1_ROW=w1.stride(1),
        C_ROW=codes.stride(1), D=d, C=_block(width), DEEP=deep, num_warps=4,
    )  # fmt: skip
    return made


def _codes(codes: Tensor | None, x: Tensor) -> tuple[int, Tensor]:
    """Their width, and the codes ``[runs, orders, c]``; of none, 0 and any tensor."""
    if codes is None or not codes.shape[2]:
        return 0, x
    return codes.shape[2], rows_of(codes)


def _block(width: int) -> int:
    return max(16, triton.next_power_of_2(width)) if width else 0


def _eight(params: list[Tensor]) -> list[Tensor]:
    """γ, β, W₁, b₁, W₂, b₂, W₃, b₃, with any tensors in the places of W₂ and b₂ where there are none."""
    dense = [t if t.stride(-1) == 1 else t.contiguous() for t in params]
    return dense if len(dense) == 8 else [*dense[:4], *dense[2:]]


def _launch(config: tuple[int, int], x: Tensor, parts: int) -> tuple[tuple[int, int], dict[str, Any]]:
    """The grid, and what both kernels take at compile time."""
    (runs, rows, d), (each, registers) = x.shape, config
    block = SMALL_BLOCK if runs * rows < FEW_ROWS else BLOCK
    programs = min(triton.cdiv(rows, block), max(1, processors(x.device) * each // runs))
    shape = {"BLOCK": block, "D": d, "PARTS": parts, "num_warps": 4, "num_stages": 1, "maxnreg": registers}
    return (programs, runs), shape


def _masks(x: Tensor, masks: Masks) -> tuple[list[Any], dict[str, bool]]:
    """Seeds, numbers of rows, p and so on of both masks, and the number of rows; what is compiled."""
    seeds, p, numbers, wholes = zip(*masks, strict=True)
    drop = [seed is not None and q > 0 for seed, q in zip(seeds, p, strict=True)]
    # A seed that runs share is repeated for each; what is not read is any pointer.
    pointers = (x if t is None else t.contiguous() for t in (*seeds, *numbers))
    rows = x.shape[1]
    given = [*pointers, *(whole or rows for whole in wholes), *p, *(1 / (1 - q) for q in p), rows]
    numbered = [n is not None for n in numbers]
    return given, {"DROP1": drop[0], "DROP2": drop[1], "NUMBERED1": numbered[0], "NUMBERED2": numbered[1]}
