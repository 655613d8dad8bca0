"""Sinkhorn as one Triton kernel each way: the matrix of an image pair stays in the registers of a program.

With rows and columns in turn, a step of the logarithms is L' = L − s, s = logsumexp(L) along one dimension.
Forward keeps s, a vector per step. Backward walks the steps from the last: with P = exp(L'),

.. math:: \\bar L = \\bar L' - P \\sum \\bar L', \\qquad L = L' + s

and nothing else has to be kept. In PyTorch's own kernels the same is forty launches.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return"
# (Pointers and compile-time constants of a kernel have no Python types.)

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ehnn.ops.autograd import differentiable, opaque


@triton.jit
def _matrix(x, pair, width, other, BLOCK: tl.constexpr):
    """The matrix of a pair, padded with ``other`` outside the diagonal and 0 on it."""
    row, column = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    inside = (row < width) & (column < width)
    found = tl.load(x + pair * width * width + row * width + column, mask=inside, other=other)
    return tl.where(inside | (row != column), found, 0.0)


@triton.jit
def _store(y, value, pair, width, BLOCK: tl.constexpr):
    row, column = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    inside = (row < width) & (column < width)
    tl.store(y + pair * width * width + row * width + column, value, mask=inside)


@triton.jit
def _log_sum(log_p, AXIS: tl.constexpr):
    top = tl.max(log_p, AXIS)
    return top + tl.log(tl.sum(tl.exp(log_p - tl.expand_dims(top, AXIS)), AXIS))


@triton.jit(do_not_specialize=["width"])
def _forward_kernel(x, y, sums, width, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    pair = tl.program_id(0).to(tl.int64)
    log_p = _matrix(x, pair, width, float("-inf"), BLOCK)
    place = sums + pair * STEPS * BLOCK + tl.arange(0, BLOCK)
    for turn in range(STEPS // 2):
        rows = _log_sum(log_p, 1)
        log_p -= rows[:, None]
        columns = _log_sum(log_p, 0)
        log_p -= columns[None, :]
        tl.store(place + 2 * turn * BLOCK, rows)
        tl.store(place + (2 * turn + 1) * BLOCK, columns)
    if STEPS % 2:
        rows = _log_sum(log_p, 1)
        log_p -= rows[:, None]
        tl.store(place + (STEPS - 1) * BLOCK, rows)
    _store(y, log_p, pair, width, BLOCK)


@triton.jit(do_not_specialize=["width"])
def _backward_kernel(grad, y, sums, dx, width, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    pair = tl.program_id(0).to(tl.int64)
    log_p = _matrix(y, pair, width, float("-inf"), BLOCK)
    total = _matrix(grad, pair, width, 0.0, BLOCK)
    place = sums + pair * STEPS * BLOCK + tl.arange(0, BLOCK)
    if STEPS % 2:
        total -= tl.exp(log_p) * tl.sum(total, 1)[:, None]
        log_p += tl.load(place + (STEPS - 1) * BLOCK)[:, None]
    for back in range(STEPS // 2):
        turn = STEPS // 2 - 1 - back
        total -= tl.exp(log_p) * tl.sum(total, 0)[None, :]
        log_p += tl.load(place + (2 * turn + 1) * BLOCK)[None, :]
        total -= tl.exp(log_p) * tl.sum(total, 1)[:, None]
        log_p += tl.load(place + 2 * turn * BLOCK)[:, None]
    _store(dx, total, pair, width, BLOCK)


def _block(width: int) -> int:
    return max(triton.next_power_of_2(width), 16)


def _fake_forward(x: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x), x.new_empty(x.shape[0], steps, _block(x.shape[1]))


@opaque("ehnn::sinkhorn", _fake_forward)
def _forward(x: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    pairs, width = x.shape[:2]
    y, sums = torch.empty_like(x), x.new_empty(pairs, steps, _block(width))
    if x.numel():
        _forward_kernel[(pairs,)](x, y, sums, width, STEPS=steps, BLOCK=sums.shape[2])
    return y, sums


def _fake_backward(grad: Tensor, y: Tensor, sums: Tensor) -> Tensor:
    return torch.empty_like(y)


@opaque("ehnn::sinkhorn_backward", _fake_backward)
def _backward(grad: Tensor, y: Tensor, sums: Tensor) -> Tensor:
    dx = torch.empty_like(y)
    if y.numel():
        steps, block = sums.shape[1:]
        _backward_kernel[(y.shape[0],)](grad, y, sums, dx, y.shape[1], STEPS=steps, BLOCK=block)
    return dx


def _all_pairs(steps: int, x: Tensor) -> tuple[Tensor, ...]:
    """Runs side by side are more pairs."""
    return tuple(t.unflatten(0, x.shape[:2]) for t in _forward(x.flatten(0, 1).contiguous(), steps))


def _all_gradients(steps: int, kept: Any, grads: Any) -> tuple[Tensor, ...]:
    flat = [t.flatten(0, 1).contiguous() for t in (*grads, *kept)]
    return (_backward(*flat).unflatten(0, kept[0].shape[:2]),)


_function = differentiable(
    "sinkhorn", _all_pairs, _all_gradients, keep=lambda steps, tensors, outputs: outputs
)


def triton_sinkhorn(x: Tensor, steps: int) -> Tensor:
    """``[pairs, width, width]`` → the same shape."""
    return _function(steps, x)[0]
