r"""A matrix per group of rows: :math:`y_i = x_i W_{g(i)}` for rows sorted by group."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from .backend import apply, opaque, with_tangent


def grouped_matmul(x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
    """``[rows, d], [groups, d, e], [groups + 1] → [rows, e]``: rows ``ptr[g]:ptr[g+1]`` times ``weight[g]``.

    Groups of one length are multiplied together, so the number of products is that of distinct
    lengths. Every derivative exists.
    """
    if weight.shape[0] != ptr.shape[0] - 1 or x.shape[1] != weight.shape[1]:
        raise ValueError(
            f"x {list(x.shape)}, weight {list(weight.shape)} and {ptr.shape[0] - 1} groups "
            "do not fit together"
        )
    if torch.is_autocast_enabled(x.device.type) and x.dtype != torch.float64:
        dtype = torch.get_autocast_dtype(x.device.type)
        x, weight = x.to(dtype), weight.to(dtype)
    return apply(_GroupedMatmul, x.unsqueeze(0), weight.unsqueeze(0), ptr).squeeze(0)


class _GroupedMatmul(torch.autograd.Function):
    """``[runs, rows, d], [runs, groups, d, e] → [runs, rows, e]``."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
        return _matmul(x, weight, ptr)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, ptr = ctx.saved_tensors
        dx = apply(_GroupedMatmul, grad, weight.mT, ptr) if ctx.needs_input_grad[0] else None
        dw = apply(_GroupedOuter, x, grad, ptr) if ctx.needs_input_grad[1] else None
        return dx, dw, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Tensor) -> tuple[Tensor, int]:
        return _vmap(_GroupedMatmul, info, in_dims, args)


class _GroupedOuter(torch.autograd.Function):
    """``[runs, rows, d], [runs, rows, e] → [runs, groups, d, e]``: xᵀ y of each group."""

    @staticmethod
    def forward(x: Tensor, y: Tensor, ptr: Tensor) -> Tensor:
        return _outer(x, y, ptr)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, y, ptr = ctx.saved_tensors
        return apply(_GroupedMatmul, y, grad.mT, ptr), apply(_GroupedMatmul, x, grad, ptr), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Tensor) -> tuple[Tensor, int]:
        return _vmap(_GroupedOuter, info, in_dims, args)


def _give_tangent(function: Any) -> None:
    """A version of a bilinear ``function`` for forward mode."""

    @with_tangent(function)
    class Forward(function):
        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
            function.setup_context(ctx, inputs, output)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx: Any, da: Tensor | None, db: Tensor | None, _: Any) -> Tensor:
            return _bilinear(function, da, db, *ctx.saved_tensors)


_give_tangent(_GroupedMatmul)
_give_tangent(_GroupedOuter)


def _bilinear(fn: Any, da: Tensor | None, db: Tensor | None, a: Tensor, b: Tensor, ptr: Tensor) -> Tensor:
    """The tangent of ``fn(a, b, ptr)``."""
    parts = [] if da is None else [apply(fn, da, b, ptr)]
    parts += [] if db is None else [apply(fn, a, db, ptr)]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _vmap(fn: Any, info: Any, in_dims: tuple[Any, ...], args: tuple[Tensor, ...]) -> tuple[Tensor, int]:
    """Runs side by side are more of the leading dimension."""
    *values, ptr = args
    runs = info.batch_size
    moved = [
        t.unsqueeze(0).expand(runs, *t.shape) if d is None else t.movedim(d, 0)
        for t, d in zip(values, in_dims, strict=False)
    ]
    out = apply(fn, *(t.flatten(0, 1) for t in moved), ptr)
    return out.reshape(runs, moved[0].shape[1], *out.shape[1:]), 0


@opaque("ehnn::grouped_matmul")
def _matmul(x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
    out = x.new_zeros(*x.shape[:2], weight.shape[-1])
    with torch.autocast(x.device.type, enabled=False):  # types were settled by the caller
        for groups, rows in _by_length(ptr):
            out[:, rows] = x[:, rows] @ weight[:, groups].to(x.dtype)
    return out


@_matmul.register_fake
def _(x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
    return x.new_empty(*x.shape[:2], weight.shape[-1])


@opaque("ehnn::grouped_outer")
def _outer(x: Tensor, y: Tensor, ptr: Tensor) -> Tensor:
    out = x.new_zeros(x.shape[0], ptr.shape[0] - 1, x.shape[2], y.shape[2])
    with torch.autocast(x.device.type, enabled=False):
        for groups, rows in _by_length(ptr):
            out[:, groups] = x[:, rows].mT @ y[:, rows]
    return out


@_outer.register_fake
def _(x: Tensor, y: Tensor, ptr: Tensor) -> Tensor:
    return x.new_empty(x.shape[0], ptr.shape[0] - 1, x.shape[2], y.shape[2])


_PLANS = WeakTensorKeyDictionary()
"""`_by_length` of pointers that are still in use: making it needs the host, so it is made once."""


def _by_length(ptr: Tensor) -> list[tuple[Tensor, Tensor]]:
    """(groups ``[g]``, their rows ``[g, length]``) for each distinct length above 0."""
    if ptr not in _PLANS:
        _PLANS[ptr] = _make_plan(ptr)
    return _PLANS[ptr]


def _make_plan(ptr: Tensor) -> list[tuple[Tensor, Tensor]]:
    lengths = ptr.diff()
    order = torch.argsort(lengths, stable=True)
    distinct, counts = torch.unique_consecutive(lengths[order], return_counts=True)
    parts = torch.split(order, counts.tolist())
    return [
        (groups, ptr[groups].unsqueeze(1) + torch.arange(length, device=ptr.device))
        for length, groups in zip(distinct.tolist(), parts, strict=True)
        if length
    ]
