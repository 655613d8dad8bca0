"""Calls of the kernel in ``phi.c``."""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_int64, c_void_p
from typing import Any

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


class Shared:
    """The constants that all runs share: codes, indices into tables, masks without their seeds.

    Attributes:
        codes: ``[orders, c]``, or None.
        index: ``[rows]`` indices into ``codes``; None if there is at most one code.
        last_index: ``[rows]`` indices into the table of last shifts; None if it has one row.
        keep: whether h₁ and h₂ are kept for the gradient; else they are recomputed.
    """

    __slots__ = ("codes", "index", "keep", "last_index", "masks")

    def __init__(
        self, codes: Tensor | None, index: Tensor | None, last_index: Tensor | None,
        masks: tuple[Mask | None, ...], keep: bool,
    ) -> None:  # fmt: skip
        self.codes, self.index, self.last_index, self.masks = codes, index, last_index, masks
        self.keep = keep


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
        _run("forward", floats, seeds, shared, None, y)
        return (y,)
    rows, d = x.shape
    kept = on_large_pages(x.new_empty(rows * (2 + 2 * d if shared.keep else 2)))
    _run("forward", floats, seeds, shared, kept, y)
    return y, kept


def backward(grad: Tensor, kept: Tensor, floats: Floats, seeds: Seeds, shared: Shared) -> tuple[Any, ...]:
    """The gradients of the floats."""
    floats, grad = _dense(floats), grad.contiguous()
    x, others = floats[0], floats[1:]
    dx, d = on_large_pages(torch.empty_like(x)), x.shape[1]
    sizes = [d if t is None else t.numel() for t in others]  # the kernel has places for γ and β in any case
    sums = [x.new_empty(sum(sizes)) for _ in range(_threads(x))]
    _run("backward", floats, seeds, shared, kept, None, grad, dx, sums)
    for part in sums[1:]:
        sums[0] += part
    parts = zip(sums[0].split_with_sizes(sizes), others, strict=True)
    return dx, *(None if t is None else g if t.dim() == 1 else g.view(t.shape) for g, t in parts)


def _dense(floats: Floats) -> Floats:
    return tuple(t if t is None or t.is_contiguous() else t.contiguous() for t in floats)


def _threads(x: Tensor) -> int:
    return max(1, min(torch.get_num_threads(), x.shape[0] // ROWS_PER_THREAD))


def _run(name: str, floats: Floats, seeds: Seeds, shared: Shared, *made: Any) -> None:
    """Call the kernel, on as many parts of the rows as there are threads."""
    x = floats[0]
    function, threads = getattr(library("phi", x.dtype), name), _threads(x)
    ends = [x.shape[0] * i // threads for i in range(threads + 1)]
    calls = [_arguments(floats, seeds, shared, ends[i], ends[i + 1], i, *made) for i in range(threads)]
    if any(in_threads(threads, function, map(ctypes.byref, calls))):
        raise MemoryError(f"no memory for the blocks of a φ of width {x.shape[1]}")


def _arguments(
    floats: Floats, seeds: Seeds, shared: Shared, start: int, stop: int, part: int, kept: Tensor | None,
    y: Tensor | None, grad: Tensor | None = None, dx: Tensor | None = None, sums: list[Tensor] | None = None,
) -> _Phi:  # fmt: skip
    """The arguments for rows ``start`` to ``stop``, with the sums of that ``part``."""
    x, codes = floats[0], shared.codes
    (rows, d), size = x.shape, x.element_size()
    mean = rstd = h1 = h2 = None
    if kept is not None:
        base = kept.data_ptr()
        mean, rstd = base + start * size, base + (rows + start) * size
        if shared.keep:
            h1, h2 = (base + (2 * rows + (k * rows + start) * d) * size for k in range(2))
    orders, code = (1, 0) if codes is None else codes.shape
    step = start * d * size
    return _Phi(
        stop - start, start, d, code, orders, floats[8].shape[0], x.data_ptr() + step,
        *(_at(t, 0) for t in floats[1:]), None if codes is None else codes.data_ptr(),
        _at(shared.index, 8 * start), _at(shared.last_index, 8 * start),
        *(_mask(m, s, rows, start) for m, s in zip(shared.masks, seeds, strict=True)), mean, rstd, h1, h2,
        _at(y, step), _at(grad, step), _at(dx, step), None if sums is None else sums[part].data_ptr(),
    )  # fmt: skip


def _at(t: Tensor | None, step: int) -> int | None:
    return None if t is None else t.data_ptr() + step


def _mask(mask: Mask | None, seed: Tensor | None, rows: int, start: int) -> CMask:
    if mask is None or seed is None:
        return CMask()
    whole = rows if mask.whole is None else mask.whole
    return CMask(_at(mask.rows, 8 * start), 1, int(seed), whole, mask.p)
