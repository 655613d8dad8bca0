"""Groups of one length are multiplied together: there are as many products as distinct lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from ..autograd import differentiable, opaque


def run(x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
    """`grouped_matmul`."""
    return _matmul(GroupPointer(ptr), x, weight)[0]


@dataclass(eq=False)
class GroupPointer:
    """The pointer ``ptr [groups + 1]`` of the groups, as the constant of a kernel."""

    ptr: Tensor


def _jvp(function: Any) -> Any:
    """The tangent of a bilinear function."""

    def tangent(of: GroupPointer, tensors: Any, tangents: Any, depth: int) -> tuple[Tensor, ...]:
        (a, b), (da, db) = tensors, tangents
        parts = [] if da is None else [function()(of, da, b, depth=depth)[0]]
        parts += [] if db is None else [function()(of, a, db, depth=depth)[0]]
        return (parts[0] if len(parts) == 1 else parts[0] + parts[1],)

    return tangent


def _matmul_backward(of: GroupPointer, kept: Any, grads: Any, depth: int, needs: Any) -> tuple[Any, ...]:
    (x, weight), (grad,) = kept, grads
    dx = _matmul(of, grad, weight.mT, depth=depth)[0] if needs[0] else None
    return dx, _outer(of, x, grad, depth=depth)[0] if needs[1] else None


def _outer_backward(of: GroupPointer, kept: Any, grads: Any, depth: int, needs: Any) -> tuple[Tensor, ...]:
    x, y = kept
    return _matmul(of, y, grads[0].mT, depth=depth)[0], _matmul(of, x, grads[0], depth=depth)[0]


def _fake_matmul(x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
    return x.new_empty(*x.shape[:2], weight.shape[-1])


def _fake_outer(x: Tensor, y: Tensor, ptr: Tensor) -> Tensor:
    return x.new_empty(x.shape[0], ptr.shape[0] - 1, x.shape[2], y.shape[2])


@opaque("ehnn::grouped_matmul", _fake_matmul)
def _matmul_kernel(x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
    """``[runs, rows, d], [runs, groups, d, e] → [runs, rows, e]``."""
    out = x.new_zeros(*x.shape[:2], weight.shape[-1])
    with torch.autocast(x.device.type, enabled=False):  # types were settled by the caller
        for groups, rows in _by_length(ptr):
            out[:, rows] = x[:, rows] @ weight[:, groups]
    return out


@opaque("ehnn::grouped_outer", _fake_outer)
def _outer_kernel(x: Tensor, y: Tensor, ptr: Tensor) -> Tensor:
    """``[runs, rows, d], [runs, rows, e] → [runs, groups, d, e]``: xᵀ y of each group."""
    out = x.new_zeros(x.shape[0], ptr.shape[0] - 1, x.shape[2], y.shape[2])
    with torch.autocast(x.device.type, enabled=False):
        for groups, rows in _by_length(ptr):
            out[:, groups] = x[:, rows].mT @ y[:, rows]
    return out


def _keep(of: GroupPointer, tensors: Any, outputs: Any) -> Any:
    return tensors


_matmul: Any = differentiable(
    "grouped_matmul", lambda of, x, w: (_matmul_kernel(x, w, of.ptr),), _matmul_backward, keep=_keep,
    twice=True, jvp=_jvp(lambda: _matmul),
)  # fmt: skip
_outer: Any = differentiable(
    "grouped_outer", lambda of, x, y: (_outer_kernel(x, y, of.ptr),), _outer_backward, keep=_keep,
    twice=True, jvp=_jvp(lambda: _outer),
)  # fmt: skip

_SPLITS = WeakTensorKeyDictionary()
"""`_by_length` of pointers that are still in use: making it needs the host, so it is made once."""


def _by_length(ptr: Tensor) -> list[tuple[Tensor, Tensor]]:
    """(groups ``[g]``, their rows ``[g, length]``) for each distinct length above 0."""
    if ptr not in _SPLITS:
        _SPLITS[ptr] = _split_by_length(ptr)
    return _SPLITS[ptr]


def _split_by_length(ptr: Tensor) -> list[tuple[Tensor, Tensor]]:
    lengths = ptr.diff()
    order = torch.argsort(lengths, stable=True)
    distinct, counts = torch.unique_consecutive(lengths[order], return_counts=True)
    parts = torch.split(order, counts.tolist())
    return [
        (groups, ptr[groups].unsqueeze(1) + torch.arange(length, device=ptr.device))
        for length, groups in zip(distinct.tolist(), parts, strict=True)
        if length
    ]
