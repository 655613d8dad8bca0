"""Triton kernels of layer normalisation, for ``[runs, rows, d]`` tensors with channels next to each other."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..dropout.triton_kernels import PROGRAMS, rows_of


@triton.jit
def _forward_kernel(
    x, weight, bias, y, mean_out, rstd_out, rows, d, eps, x_run, x_row, y_run, y_row,
    BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = tl.arange(0, BLOCK_D)
    live, in_d = row < rows, cols < d
    both = live[:, None] & in_d[None, :]
    value = tl.load(x + run * x_run + (row * x_row)[:, None] + cols[None, :], mask=both, other=0).to(ACC)
    mean = tl.sum(value, 1) / d
    centred = tl.where(both, value - mean[:, None], 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, 1) / d + eps)
    w = tl.load(weight + run * d + cols, mask=in_d, other=0).to(ACC)
    b = tl.load(bias + run * d + cols, mask=in_d, other=0).to(ACC)
    out = centred * rstd[:, None] * w[None, :] + b[None, :]
    tl.store(y + run * y_run + (row * y_row)[:, None] + cols[None, :], out.to(y.dtype.element_ty), mask=both)
    tl.store(mean_out + run * rows + row, mean, mask=live)
    tl.store(rstd_out + run * rows + row, rstd, mask=live)


@triton.jit
def _backward_kernel(
    grad, skip, x, weight, mean, rstd, dx, part, rows, d, g_run, g_row, s_run, s_row, x_run, x_row, o_run,
    o_row, HAS_SKIP: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """With x̂ = (x − mean) rstd and g = w ḡ: dx = rstd (g − mean(g) − x̂ mean(g x̂)); sums of ḡ x̂ and ḡ."""
    run, program, programs = tl.program_id(1).to(tl.int64), tl.program_id(0), tl.num_programs(0)
    cols = tl.arange(0, BLOCK_D)
    in_d = cols < d
    w = tl.load(weight + run * d + cols, mask=in_d, other=0).to(ACC)
    d_weight = tl.zeros([BLOCK_R, BLOCK_D], dtype=ACC)
    d_bias = tl.zeros([BLOCK_R, BLOCK_D], dtype=ACC)
    for first in range(program * BLOCK_R, rows, programs * BLOCK_R):
        row = first + tl.arange(0, BLOCK_R).to(tl.int64)
        live = row < rows
        both = live[:, None] & in_d[None, :]
        g = tl.load(grad + run * g_run + (row * g_row)[:, None] + cols[None, :], mask=both, other=0).to(ACC)
        value = tl.load(x + run * x_run + (row * x_row)[:, None] + cols[None, :], mask=both, other=0).to(ACC)
        scale = tl.load(rstd + run * rows + row, mask=live, other=0)
        centred = value - tl.load(mean + run * rows + row, mask=live, other=0)[:, None]
        normal = tl.where(both, centred * scale[:, None], 0.0)
        d_weight += g * normal
        d_bias += g
        g *= w[None, :]
        out = g - (tl.sum(g, 1) / d)[:, None] - normal * (tl.sum(g * normal, 1) / d)[:, None]
        out *= scale[:, None]
        if HAS_SKIP:
            place = skip + run * s_run + (row * s_row)[:, None] + cols[None, :]
            out += tl.load(place, mask=both, other=0).to(ACC)
        place = dx + run * o_run + (row * o_row)[:, None] + cols[None, :]
        tl.store(place, out.to(dx.dtype.element_ty), mask=both)
    place = part + (run * programs + program) * 2 * d + cols
    tl.store(place, tl.sum(d_weight, 0), mask=in_d)
    tl.store(place + d, tl.sum(d_bias, 0), mask=in_d)


def _shape(d: int) -> dict[str, Any]:
    block_d = max(triton.next_power_of_2(d), 16)
    return {"BLOCK_R": max(1, 2048 // block_d), "BLOCK_D": block_d, "num_warps": 4}


def _acc(x: Tensor) -> Any:
    return tl.float64 if x.dtype == torch.float64 else tl.float32


def forward(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """``[runs, rows, d]`` with ``[runs, d]`` weights; also the mean and 1 / deviation of each row."""
    x, weight, bias = rows_of(x), weight.contiguous(), bias.contiguous()
    runs, rows, d = x.shape
    y = torch.empty_like(x)
    wide = torch.promote_types(x.dtype, torch.float32)
    mean, rstd = (torch.empty(runs, rows, dtype=wide, device=x.device) for _ in range(2))
    if y.numel():
        shape = _shape(d)
        _forward_kernel[triton.cdiv(rows, shape["BLOCK_R"]), runs](
            x,
            weight,
            bias,
            y,
            mean,
            rstd,
            rows,
            d,
            eps,
            *x.stride()[:2],
            *y.stride()[:2],
            ACC=_acc(x),
            **shape,
        )
    return y, mean, rstd


def backward(
    grad: Tensor, skip: Tensor | None, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of x (plus ``skip``), and of weight and bias as ``[runs, 2, d]``."""
    grad, x, weight = rows_of(grad), rows_of(x), weight.contiguous()
    beside = grad if skip is None else rows_of(skip)
    runs, rows, d = x.shape
    dx, shape = torch.empty_like(x), _shape(d)
    programs = max(1, min(triton.cdiv(rows, shape["BLOCK_R"]), PROGRAMS))
    part = torch.zeros(runs, programs, 2, d, dtype=mean.dtype, device=x.device)
    if dx.numel():
        _backward_kernel[programs, runs](
            grad, beside, x, weight, mean, rstd, dx, part, rows, d, *grad.stride()[:2], *beside.stride()[:2],
            *x.stride()[:2], *dx.stride()[:2], HAS_SKIP=skip is not None, ACC=_acc(x), **shape,
        )  # fmt: skip
    return dx, part.sum(1, dtype=weight.dtype)
