"""Dropout whose mask is a hash of a seed and a position: the same on every device, recomputed not stored."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from . import cpu_dropout
from .backend import apply, backend_of, opaque


class Mask(NamedTuple):
    """Which elements are dropped: a function of the seed, the number of rows and the element's place.

    Attributes:
        seed: int64, no dimensions.
        p: probability of zero.
        rows: ``[rows]``, where only some rows of a whole are here: their numbers in the whole.
        whole: how many rows the whole has.
    """

    seed: Tensor
    p: float
    rows: Tensor | None = None
    whole: int | None = None


def seeded_dropout(x: Tensor, mask: Mask) -> Tensor:
    """``x [rows, …]`` with the elements of the mask zeroed and the rest divided by 1 − p."""
    check_rows(x, mask)
    if x.numel() and _has_kernel(x):
        flat = x.reshape(1, x.shape[0], -1)
        return apply(_Dropout, flat, *fused_mask(mask)).reshape(x.shape)
    keep = _uniform(mask, x.shape) >= mask.p
    return torch.where(keep, x * (1 / (1 - mask.p)), 0)


def _has_kernel(x: Tensor) -> bool:
    backend = backend_of(x)
    if backend == "cpu":  # compiled code fuses by itself
        return not torch.compiler.is_compiling() and cpu_dropout.has_kernel(x.dtype)
    return backend == "triton"


def check_rows(x: Tensor, mask: Mask | None) -> None:
    """Raise a ValueError if the mask is for another number of rows."""
    if mask is not None and mask.rows is not None and mask.rows.shape[0] != x.shape[0]:
        raise ValueError(f"the mask is for {mask.rows.shape[0]} rows of a whole, but x has {x.shape[0]}")


def fused_mask(mask: Mask | None) -> tuple[Any, ...]:
    """``(seed [1], p, rows, whole)`` as the kernels take them."""
    if mask is None:
        return None, 0.0, None, None
    return mask.seed.reshape(1), mask.p, mask.rows, mask.whole


def _uniform(mask: Mask, shape: torch.Size) -> Tensor:
    """Numbers in [0, 1) from a 32-bit integer hash (two multiply-xorshift rounds) of seed + position."""
    rows = torch.arange(shape[0], device=mask.seed.device) if mask.rows is None else mask.rows
    width = shape[1:].numel()
    place = (rows.unsqueeze(1) * width + torch.arange(width, device=rows.device)).reshape(shape)
    whole = shape[0] if mask.whole is None else mask.whole
    value = place * 0x85EBCA6B + (mask.seed + 0x9E3779B9 * whole)
    for factor in (0x7FEB352D, 0x846CA68B):
        value = value & 0xFFFFFFFF
        value = ((value ^ (value >> 16)) * factor) & 0xFFFFFFFF
    value = value ^ (value >> 15)
    return value.to(torch.float32) * 2.0**-32


class _Dropout(torch.autograd.Function):
    """``[runs, rows, d]`` and a seed per run; linear in x, so the gradient is the same operation."""

    @staticmethod
    def forward(x: Tensor, seed: Tensor, p: float, rows: Any, whole: Any) -> Tensor:
        return _fused(x, seed, p, rows, whole)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1], inputs[3])
        ctx.p, ctx.whole = inputs[2], inputs[4]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        seed, rows = ctx.saved_tensors
        return apply(_Dropout, grad, seed, ctx.p, rows, ctx.whole), None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Tensor, int]:
        x, seed, *rest = args
        x, seed = (along_runs(t, d, info.batch_size) for t, d in zip((x, seed), in_dims, strict=False))
        return apply(_Dropout, x, seed, *rest).unsqueeze(1), 0


def along_runs(t: Tensor, dim: int | None, runs: int) -> Tensor:
    """``[1, …]`` tensors of each run, side by side under vmap, as one ``[runs, …]``."""
    return t.expand(runs, *t.shape[1:]) if dim is None else t.movedim(dim, 0).squeeze(1)


@opaque("ehnn::seeded_dropout")
def _fused(x: Tensor, seed: Tensor, p: float, rows: Tensor | None, whole: int | None) -> Tensor:
    if backend_of(x) != "triton":
        return cpu_dropout.compiled_dropout(x, seed, p, rows, whole)
    from .triton_elementwise import forward

    return forward(x, None, None, seed, p, rows, whole)


@_fused.register_fake
def _(x: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(x)
