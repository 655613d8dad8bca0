"""Calls of the kernel in ``phi.c``."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_double, c_int64, c_void_p
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ehnn._utils.malloc import on_large_pages

from .._native.compiled import library
from .._native.threads import in_threads
from ..dropout.naive import Mask

ROWS_PER_THREAD = 4096

Floats = tuple[Any, ...]
"""x, γ, β (None without a norm), first, b₁, W₂, b₂, W₃ and the table of last shifts."""
Seeds = tuple[Tensor | None, ...]


@dataclass(eq=False, slots=True)
class Shared:
    """The constants that all runs share: codes, indices into tables, masks without their seeds.

    Attributes:
        codes: ``[orders, c]``, or None.
        index: ``[rows]`` indices into ``codes``; None if there is at most one code.
        last_index: ``[rows]`` indices into the table of last shifts; None if it has one row.
        keep: whether h₁ and h₂ are kept for the gradient; else they are recomputed.
    """

    codes: Tensor | None
    index: Tensor | None
    last_index: Tensor | None
    masks: tuple[Mask | None, ...]
    keep: bool


class Buffers(NamedTuple):
    """The tensors of one pass besides the inputs; None for those that the pass does not use.

    Attributes:
        kept: what the forward pass keeps for the gradient.
        y: the result.
        grad, dx: the gradients of y and of x.
        sums: the gradients of the other floats, a flat tensor for each thread.
    """

    kept: Tensor | None
    y: Tensor | None = None
    grad: Tensor | None = None
    dx: Tensor | None = None
    sums: Sequence[Tensor] = ()


class CMask(ctypes.Structure):
    _fields_ = [("rows", c_void_p), ("on", c_int64), ("seed", c_int64), ("whole", c_int64), ("p", c_double)]


class _Phi(ctypes.Structure):
    _fields_ = [
        *((name, c_int64) for name in ("rows", "start", "d", "code", "orders", "lasts")),
        *((name, c_void_p) for name in ("x", "gamma", "beta", "first", "b1", "w2", "b2", "w3", "last")),
        *((name, c_void_p) for name in ("codes", "index", "last_index")),
        ("mask1", CMask),
        ("mask2", CMask),
        *((name, c_void_p) for name in ("mean", "rstd", "h1", "h2", "y", "grad", "dx", "sums")),
    ]


def forward(floats: Floats, seeds: Seeds, shared: Shared, gradient: bool) -> tuple[Tensor, ...]:
    """y, and for a ``gradient`` one tensor with the means, 1/σ, and if they are kept h₁ and h₂."""
    floats = _dense(floats)
    x = floats[0]
    y = on_large_pages(torch.empty_like(x))
    if not gradient:
        _run("forward", floats, seeds, shared, Buffers(None, y))
        return (y,)
    rows, d = x.shape
    kept = on_large_pages(x.new_empty(rows * (2 + 2 * d if shared.keep else 2)))
    _run("forward", floats, seeds, shared, Buffers(kept, y))
    return y, kept


def backward(grad: Tensor, kept: Tensor, floats: Floats, seeds: Seeds, shared: Shared) -> tuple[Any, ...]:
    """The gradients of the floats."""
    floats, grad = _dense(floats), grad.contiguous()
    x, others = floats[0], floats[1:]
    dx, d = on_large_pages(torch.empty_like(x)), x.shape[1]
    sizes = [d if t is None else t.numel() for t in others]  # the kernel has places for γ and β in any case
    sums = [x.new_empty(sum(sizes)) for _ in range(_threads(x))]
    _run("backward", floats, seeds, shared, Buffers(kept, grad=grad, dx=dx, sums=sums))
    for part in sums[1:]:
        sums[0] += part
    parts = zip(sums[0].split_with_sizes(sizes), others, strict=True)
    return dx, *(None if t is None else g if t.dim() == 1 else g.view(t.shape) for g, t in parts)


def _dense(floats: Floats) -> Floats:
    return tuple(t if t is None or t.is_contiguous() else t.contiguous() for t in floats)


def _threads(x: Tensor) -> int:
    return max(1, min(torch.get_num_threads(), x.shape[0] // ROWS_PER_THREAD))


def _run(name: str, floats: Floats, seeds: Seeds, shared: Shared, buffers: Buffers) -> None:
    """Call the kernel, on as many parts of the rows as there are threads."""
    x = floats[0]
    function, threads = getattr(library("phi", x.dtype), name), _threads(x)
    ends = [x.shape[0] * i // threads for i in range(threads + 1)]
    calls = [_arguments(floats, seeds, shared, buffers, ends, i) for i in range(threads)]
    if any(in_threads(threads, function, map(ctypes.byref, calls))):
        raise MemoryError(f"no memory for the blocks of a φ of width {x.shape[1]}")


def _arguments(
    floats: Floats, seeds: Seeds, shared: Shared, buffers: Buffers, ends: Sequence[int], part: int
) -> _Phi:
    """The arguments for rows ``ends[part]`` to ``ends[part + 1]``."""
    (x, *others), codes, kept = floats, shared.codes, buffers.kept
    (rows, d), size, start = x.shape, x.element_size(), ends[part]
    mean = rstd = h1 = h2 = None
    if kept is not None:
        base = kept.data_ptr()
        mean, rstd = base + start * size, base + (rows + start) * size
        if shared.keep:
            h1, h2 = (base + (2 * rows + (k * rows + start) * d) * size for k in range(2))
    orders, code = (1, 0) if codes is None else codes.shape
    step = start * d * size
    return _Phi(
        ends[part + 1] - start, start, d, code, orders, others[-1].shape[0], x.data_ptr() + step,
        *(_at(t, 0) for t in others), _at(codes, 0), _at(shared.index, 8 * start),
        _at(shared.last_index, 8 * start),
        *(_mask(m, s, rows, start) for m, s in zip(shared.masks, seeds, strict=True)), mean, rstd, h1, h2,
        _at(buffers.y, step), _at(buffers.grad, step), _at(buffers.dx, step),
        buffers.sums[part].data_ptr() if buffers.sums else None,
    )  # fmt: skip


def _at(t: Tensor | None, step: int) -> int | None:
    return None if t is None else t.data_ptr() + step


def _mask(mask: Mask | None, seed: Tensor | None, rows: int, start: int) -> CMask:
    if mask is None or seed is None:
        return CMask()
    whole = rows if mask.whole is None else mask.whole
    return CMask(_at(mask.rows, 8 * start), 1, int(seed), whole, mask.p)
