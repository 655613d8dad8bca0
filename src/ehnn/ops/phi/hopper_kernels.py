"""The backward pass of φ at width 64 for Hopper GPUs and products of one half: two launches and a sum.

The formulas are those of `fused_kernels`, in Gluon, Triton's language for one kind of GPU. Here operands of
products stay in shared memory, where one product leaves them and the next one finds them, and the sums over
rows stay in the accumulators of the tensor cores until a program has met all its rows.

**Scales.** A half is a number times a power of two. The powers of two of activations come from bounds, so
that no block has to look for its largest number: with D channels

    |x̂| ≤ √D,  |h₁| ≤ √D max‖row of W₁γ‖ + max|t|,  |h₂| ≤ √D max|h₁| max‖row of W₂‖ + max|b₂|,
    |z̄₂| ≤ √D max|ȳ| max‖column of W₃‖,  |z̄₁| ≤ √D max|z̄₂| max‖column of W₂‖.

A bound may be a few powers of two above the largest number; halves have 24 to spare. The gradient ȳ has no
bound: a program takes the largest number that it has met so far, and scales its sums when a larger one comes.

**Orders.** Up to 16 distinct orders, the table t is a factor of the first product, whose other factor says
the order of each row, and its gradient is the product of z̄₁ with that factor.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from ..dropout.triton_kernels import _kept, rows_of
from ..triton_halves import processors, total_of
from .fused_kernels import Masks, _both, _masks, _small_table

WIDTH = 64
"""Also the rows of a block."""
ORDERS = 16
"""Rows of a table that is a factor of a product; distinct orders at most."""
CONSTANTS = 8
"""Numbers of `_prepare_kernel` for each run."""
_ROOT = gl.constexpr(8.0)
_ROWS_UP = gl.constexpr(2048.0)
"""The power of two of x̂, at most √D."""
_CHOICE = gl.constexpr(16384.0)
"""The entry that marks the order of a row."""
_EACH, _REGISTERS = 2, 255
"""Programs for each processor, and registers of a thread."""

_LINES = gl.constexpr(
    gl.DistributedLinearLayout(
        reg_bases=[[0, 1], [0, 2], [0, 16], [0, 32], [32, 0]],
        lane_bases=[[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]],
        warp_bases=[[8, 0], [16, 0]],
        block_bases=[],
        shape=[64, 64],
    )
)
"""Four threads for a row, so that its mean costs two exchanges."""
_SUM = gl.constexpr(gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16]))
_NARROW = gl.constexpr(
    gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 16, 16])
)
_CHOICES = gl.constexpr(gl.BlockedLayout([1, 8], [16, 2], [4, 1], [1, 0]))
_WIDE = gl.constexpr(gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]))
_SHARED = gl.constexpr(gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2))
_SHARED_NARROW = gl.constexpr(gl.NVMMASharedLayout(swizzle_byte_width=32, element_bitwidth=16, rank=2))

_is_kept = gluon.jit(_kept.fn)


# ---------------------------------------------------------------------- weights


@triton.jit
def _power_of(amax):
    """The power of two that brings ``amax`` to 2¹⁴ or just above; 2⁴⁰ at most."""
    bits = tl.maximum(amax.to(tl.int32, bitcast=True) & 0x7F800000, 101 << 23)
    return ((254 << 23) - bits + (14 << 23)).to(tl.float32, bitcast=True)


_up = gluon.jit(_power_of.fn)


@triton.jit
def _write_half(place, value):
    rows: tl.constexpr = value.shape[0]
    cols: tl.constexpr = value.shape[1]
    at = tl.arange(0, rows)[:, None] * cols + tl.arange(0, cols)[None, :]
    tl.store(place + at, value.to(tl.float16))


@triton.jit(do_not_specialize=["orders"])
def _prepare_kernel(
    halves, scales, table, b2, factors, constants, orders, b2_run, D: tl.constexpr, DEEP: tl.constexpr
):
    """A program for each weight: its half, power of two and bounds; of the table two halves.

    Constants: of W₁ and the table their power and the bound of h₁; of W₂ its power, the largest norms of a
    row and of a column, and max|b₂|; of W₃ its power and the largest norm of a column.
    """
    run, which = tl.program_id(1).to(tl.int64), tl.program_id(0)
    squares: tl.constexpr = 3 if DEEP else 2
    high, low = _both(halves + run * squares * 2 * D * D, which, D, 2)
    w = (high.to(tl.float32) + low.to(tl.float32)) * tl.load(scales + run * squares + which)
    constants += run * 8
    factors += run * (squares * D * D + 32 * D)
    largest = tl.max(tl.abs(w))
    row, column = tl.sqrt(tl.max(tl.sum(w * w, 1))), tl.sqrt(tl.max(tl.sum(w * w, 0)))
    if which == 0:
        t = tl.trans(_small_table(table + run * orders * D, 0, orders, D, D, D))
        of_table = tl.max(tl.abs(t))
        up = _power_of(tl.maximum(largest, of_table / 8))
        t *= up / 8
        _write_half(factors + squares * D * D, t)
        _write_half(factors + squares * D * D + 16 * D, t - t.to(tl.float16).to(tl.float32))
        tl.store(constants, up)
        tl.store(constants + 1, 8 * row + of_table)
    elif which < squares - 1:
        up = _power_of(largest)
        tl.store(constants + 2, up)
        tl.store(constants + 3, row)
        tl.store(constants + 4, column)
        tl.store(constants + 5, tl.max(tl.abs(tl.load(b2 + run * b2_run + tl.arange(0, D)).to(tl.float32))))
    else:
        up = _power_of(largest)
        tl.store(constants + 6, up)
        tl.store(constants + 7, column)
    _write_half(factors + which * D * D, w * up)


# ---------------------------------------------------------------------- blocks


@gluon.jit
def _block():
    return gl.allocate_shared_memory(gl.float16, [64, 64], _SHARED)


@gluon.jit
def _narrow():
    return gl.allocate_shared_memory(gl.float16, [64, 16], _SHARED_NARROW)


@gluon.jit
def _copy(place, factor, WIDTH: gl.constexpr, layout: gl.constexpr):
    """A weight or table, to shared memory."""
    row, col = gl.arange(0, 64, gl.SliceLayout(1, layout)), gl.arange(0, WIDTH, gl.SliceLayout(0, layout))
    place.store(gl.load(factor + row[:, None] * WIDTH + col[None, :]))


@gluon.jit
def _ready():
    """What threads wrote to shared memory is there for products."""
    fence_async_shared()
    gl.thread_barrier()


@gluon.jit
def _lines(x, first, rows, ROW: gl.constexpr, layout: gl.constexpr):
    """A block of rows in float32; zeros beyond the last."""
    row, col = gl.arange(0, 64, gl.SliceLayout(1, layout)), gl.arange(0, 64, gl.SliceLayout(0, layout))
    at = row[:, None] * ROW + col[None, :]
    live = (row < rows - first)[:, None]
    return gl.load(x + first * ROW + at, mask=live, other=0.0).to(gl.float32)


@gluon.jit
def _store_lines(y, value, first, rows, ROW: gl.constexpr):
    row, col = gl.arange(0, 64, gl.SliceLayout(1, _SUM)), gl.arange(0, 64, gl.SliceLayout(0, _SUM))
    at = row[:, None] * ROW + col[None, :]
    gl.store(y + first * ROW + at, value.to(y.dtype.element_ty), mask=(row < rows - first)[:, None])


@gluon.jit
def _normal(x):
    """x̂ and 1/σ."""
    x -= (gl.sum(x, 1) * 0.015625)[:, None]
    variance = gl.sum(x * x, 1) * 0.015625 + 1e-5
    rstd = gl.rsqrt(variance)
    rstd *= 1.5 - 0.5 * variance * rstd * rstd  # a step of Newton: exact to the last bit or two
    return x * rstd[:, None], rstd


@gluon.jit
def _choose(choice, index, first, rows, MANY: gl.constexpr):
    """Write which order each row of a block has; the first one, where there is one."""
    row, col = gl.arange(0, 64, gl.SliceLayout(1, _CHOICES)), gl.arange(0, 16, gl.SliceLayout(0, _CHOICES))
    number = gl.zeros([64], gl.int32, gl.SliceLayout(1, _CHOICES))
    if MANY:
        number = gl.load(index + first + row, mask=row < rows - first, other=0).to(gl.int32)
    chosen = number[:, None] == col[None, :]
    choice.store(gl.where(chosen, _CHOICE, 0.0).to(gl.float16))


@gluon.jit
def _act(z, factor, first, rows, seed, numbers, whole, p, DROP: gl.constexpr, NUMBERED: gl.constexpr):
    """``dropout(relu(z)) · factor`` of a transposed block; the hash has 32 bits."""
    h = gl.maximum(z, 0.0, propagate_nan=tl.PropagateNan.ALL) * factor
    if DROP:
        row, col = gl.arange(0, 64, gl.SliceLayout(0, _SUM)), gl.arange(0, 64, gl.SliceLayout(1, _SUM))
        name = first + row
        if NUMBERED:
            name = gl.load(numbers + name, mask=row < rows - first, other=0)
        key = (gl.load(seed) + whole.to(gl.int64) * 0x9E3779B9).to(gl.uint32)
        position = (name.to(gl.uint32) * 64)[None, :] + col.to(gl.uint32)[:, None]
        h = gl.where(_is_kept(key, position, p), h, 0.0)
    return h


@gluon.jit
def _column(vector, factor):
    """``[64, 64]`` of a vector in each column."""
    value = gl.load(vector + gl.arange(0, 64, gl.SliceLayout(1, _SUM))).to(gl.float32) * factor
    return gl.zeros([64, 64], gl.float32, _SUM) + value[:, None]


@gluon.jit
def _powers(constants, scale1, scale2, DEEP: gl.constexpr):
    """Powers of two of W₁, h₁, W₂, h₂ and W₃."""
    bound = gl.load(constants + 1) * scale1
    up1, up_h1, up3 = gl.load(constants), _up(bound), gl.load(constants + 6)
    up2, up_h2 = up1, up_h1
    if DEEP:
        up2 = gl.load(constants + 2)
        up_h2 = _up(scale2 * (gl.load(constants + 3) * _ROOT * bound + gl.load(constants + 5)))
    return up1, up_h1, up2, up_h2, up3


@gluon.jit
def _across(z):
    """Sums over the columns of a transposed block that a thread has: ``[64, 8]``."""
    return gl.sum(gl.reshape(z, [64, 8, 8]), 1)


@gluon.jit
def _down(g):
    """Sums over the rows that a thread has: ``[32, 64]``."""
    return gl.sum(gl.reshape(g, [2, 32, 64]), 0)


@gluon.jit
def _store_square(sums, value):
    row, col = gl.arange(0, 64, gl.SliceLayout(1, _SUM)), gl.arange(0, 64, gl.SliceLayout(0, _SUM))
    gl.store(sums + row[:, None] * 64 + col[None, :], value)


@gluon.jit
def _store_vector(sums, value):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    gl.store(sums + gl.arange(0, 64, layout), gl.convert_layout(value, layout))


# ---------------------------------------------------------------------- the kernel


@gluon.jit(do_not_specialize=["rows", "whole1", "whole2"])
def _backward_kernel(
    x, index, factors, constants, b2, seed1, seed2, numbers1, numbers2, whole1, whole2, p1, p2, scale1,
    scale2, rows, x_run, b2_run, f_run, grad, g_run, dx, dx_run, sums, size, G_ROW: gl.constexpr,
    DX_ROW: gl.constexpr, X_ROW: gl.constexpr, DEEP: gl.constexpr, MANY: gl.constexpr, DROP1: gl.constexpr,
    DROP2: gl.constexpr, NUMBERED1: gl.constexpr, NUMBERED2: gl.constexpr,
):  # fmt: skip
    """Sums of a program: of z̄₁ x̂ᵀ, (z̄₂ h₁ᵀ,) ȳ h₂ᵀ; of z̄₁, ȳ, (z̄₂); of z̄₁ by order, where there are MANY."""
    run, squares = gl.program_id(1).to(gl.int64), 3 if DEEP else 2
    factors += run * f_run
    constants += run * 8
    x += run * x_run
    grad += run * g_run
    dx += run * dx_run
    sums += (run * gl.num_programs(0) + gl.program_id(0)) * size
    w1, w3, n, g, h1 = _block(), _block(), _block(), _block(), _block()
    w2, h2 = w1, h1
    _copy(w1, factors, 64, _WIDE)
    _copy(w3, factors + (squares - 1) * 4096, 64, _WIDE)
    if DEEP:
        w2, h2 = _block(), _block()
        _copy(w2, factors + 4096, 64, _WIDE)
    choice, t, t_low = _narrow(), _narrow(), _narrow()
    _copy(t, factors + squares * 4096, 16, _CHOICES)
    _copy(t_low, factors + squares * 4096 + 1024, 16, _CHOICES)
    up1, up_h1, up2, up_h2, up3 = _powers(constants, scale1, scale2, DEEP)
    # z̄₂ and z̄₁ in shared memory are times the power of ȳ and these.
    up_z2 = _up((scale2 if DEEP else scale1) * gl.load(constants + 7) * _ROOT) / 32768.0
    up_z1 = up_z2
    if DEEP:
        up_z1 = up_z2 * (_up(scale1 * gl.load(constants + 4) * _ROOT) / 32768.0)
    zeros = gl.zeros([64, 64], gl.float32, _SUM)
    of_w1, of_w2, of_w3 = zeros, zeros, zeros
    of_t = gl.zeros([64, 16], gl.float32, _NARROW)
    of_b1, of_b2 = _across(zeros), _across(zeros)
    of_b3 = _down(gl.zeros([64, 64], gl.float32, _LINES))
    up_g = gl.to_tensor(1.152921504606847e18)  # 2⁶⁰
    for block in tl.range(gl.program_id(0), gl.cdiv(rows, 64), gl.num_programs(0), disable_licm=True):
        first = gl.cast(block, gl.int64) * 64
        lines, slopes = _lines(x, first, rows, X_ROW, _LINES), _lines(grad, first, rows, G_ROW, _LINES)
        xhat, rstd = _normal(lines)
        rstd = gl.convert_layout(rstd, gl.SliceLayout(1, _SUM))
        of_b3 += _down(slopes)
        largest = gl.max(gl.max(gl.abs(slopes), 1), 0)
        now = gl.minimum(up_g, _up(largest))
        if now < up_g:
            smaller = now / up_g
            of_w1 *= smaller
            of_w2 *= smaller
            of_w3 *= smaller
            of_t *= smaller
            of_b1 *= smaller
            of_b2 *= smaller
        up_g = now
        gl.thread_barrier()  # products of the block before have read
        n.store((xhat * _ROWS_UP).to(gl.float16))
        g.store((slopes * (up_g + (largest - largest))).to(gl.float16))  # NaN where one is not finite
        _choose(choice, index, first, rows, MANY)
        _ready()
        chosen = choice.permute((1, 0))
        acc = warpgroup_mma(t_low, chosen, zeros, use_acc=False, is_async=True)
        acc = warpgroup_mma(t, chosen, acc, is_async=True)
        acc = warpgroup_mma(w1, n.permute((1, 0)), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=(acc,))
        z = _act(
            acc, scale1 * up_h1 / (up1 * _ROWS_UP), first, rows, seed1 + run, numbers1, whole1, p1, DROP1,
            NUMBERED1,
        )  # fmt: skip
        h1.store(z.to(gl.float16))
        _ready()
        if DEEP:
            acc = _column(b2 + run * b2_run, up2 * up_h1)
            acc = warpgroup_mma(w2, h1, acc, is_async=True)
            acc = warpgroup_mma_wait(0, deps=(acc,))
            z = _act(
                acc, scale2 * up_h2 / (up2 * up_h1), first, rows, seed2 + run, numbers2, whole2, p2, DROP2,
                NUMBERED2,
            )  # fmt: skip
            h2.store(z.to(gl.float16))
            _ready()
        across = g.permute((1, 0))
        of_w3 = warpgroup_mma(across, h2.permute((1, 0)), of_w3, is_async=True)
        acc = warpgroup_mma(w3.permute((1, 0)), across, zeros, use_acc=False, is_async=True)
        of_w3, acc = warpgroup_mma_wait(0, deps=(of_w3, acc))
        if DEEP:
            z = gl.where(h2.load(_SUM) > 0, acc * (scale2 * up_z2 / up3), 0.0)
            of_b2 += _across(z)
            gl.thread_barrier()  # all of h₂ has been read
            h2.store(z.to(gl.float16))
            _ready()
            of_w2 = warpgroup_mma(h2, h1.permute((1, 0)), of_w2, is_async=True)
            acc = warpgroup_mma(w2.permute((1, 0)), h2, zeros, use_acc=False, is_async=True)
            of_w2, acc = warpgroup_mma_wait(0, deps=(of_w2, acc))
            z = gl.where(h1.load(_SUM) > 0, acc * (scale1 * up_z1 / (up2 * up_z2)), 0.0)
        else:
            z = gl.where(h1.load(_SUM) > 0, acc * (scale1 * up_z1 / up3), 0.0)
        of_b1 += _across(z)
        gl.thread_barrier()  # all of h₁ has been read
        h1.store(z.to(gl.float16))
        _ready()
        acc = warpgroup_mma(h1.permute((1, 0)), w1, zeros, use_acc=False, is_async=True)
        of_w1 = warpgroup_mma(h1, n, of_w1, is_async=True)
        if MANY:
            of_t = warpgroup_mma(h1, choice, of_t, is_async=True)
        slopes = _lines(grad, first, rows, G_ROW, _SUM)
        if MANY:
            acc, of_w1, of_t = warpgroup_mma_wait(0, deps=(acc, of_w1, of_t))
        else:
            acc, of_w1 = warpgroup_mma_wait(0, deps=(acc, of_w1))
        dn = acc * (1 / up_g / up_z1 / up1)
        xhat = n.load(_SUM).to(gl.float32) * (1 / _ROWS_UP)
        along = gl.sum(dn * xhat, 1) * 0.015625
        dn = rstd[:, None] * (dn - (gl.sum(dn, 1) * 0.015625)[:, None] - xhat * along[:, None])
        _store_lines(dx, dn + slopes, first, rows, DX_ROW)
    vectors = sums + squares * 4096
    _store_square(sums, of_w1 * (1 / up_g / up_z1 / _ROWS_UP))
    if DEEP:
        _store_square(sums + 4096, of_w2 * (1 / up_g / up_z2 / up_h1))
        _store_vector(vectors + 128, gl.sum(of_b2, 1) * (1 / up_g / up_z2))
    _store_square(sums + (squares - 1) * 4096, of_w3 * (1 / up_g / up_h2))
    _store_vector(vectors, gl.sum(of_b1, 1) * (1 / up_g / up_z1))
    _store_vector(vectors + 64, gl.sum(of_b3, 0))
    if MANY:
        row, col = gl.arange(0, 64, gl.SliceLayout(1, _NARROW)), gl.arange(0, 16, gl.SliceLayout(0, _NARROW))
        place = vectors + squares * 64 + col[None, :] * 64 + row[:, None]
        gl.store(place, of_t * (1 / up_g / up_z1 / _CHOICE))


def backward(
    grad: Tensor, x: Tensor, halves: Tensor, scales: Tensor, table: Tensor, index: Tensor | None,
    b2: Tensor | None, masks: Masks,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The gradient of x, and sums over rows: see `_backward_kernel`."""
    x, grad = rows_of(x), rows_of(grad)
    (runs, rows, d), squares, many = x.shape, halves.shape[1], index is not None
    b2 = scales if b2 is None else b2.contiguous()
    factors = torch.empty((runs, squares * d * d + 2 * ORDERS * d), dtype=torch.float16, device=x.device)
    constants = torch.empty((runs, CONSTANTS), dtype=torch.float32, device=x.device)
    _prepare_kernel[squares, runs](
        halves, scales, table, b2, factors, constants, table.shape[1], b2.stride(0), D=d, DEEP=squares == 3
    )
    programs = min(triton.cdiv(rows, WIDTH), max(1, processors(x.device) * _EACH // runs))
    size = (squares * (d + 1) + (ORDERS if many else 0)) * d
    dx = torch.empty_like(x)
    part = torch.empty((runs, programs, size), dtype=torch.float32, device=x.device)
    masked, drop = _masks(x, masks)
    _backward_kernel[programs, runs](
        x, index.contiguous() if index is not None else x, factors, constants, b2, *masked, x.stride(0),
        b2.stride(0), factors.stride(0), grad, grad.stride(0), dx, dx.stride(0), part, size,
        G_ROW=grad.stride(1), DX_ROW=dx.stride(1), X_ROW=x.stride(1), DEEP=squares == 3, MANY=many, **drop,
        num_warps=4, maxnreg=_REGISTERS,
    )  # fmt: skip
    return dx, total_of(part)
