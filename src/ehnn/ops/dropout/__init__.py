"""Dropout whose mask is a hash of a seed and a position: the same on every device, recomputed not stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .._native.compiled import missing
from ..autograd import differentiable
from ..dispatch import Implementation, Operation, definition, in_forward_mode, not_on, too_exact
from . import cpu, triton
from .naive import Mask as Mask
from .naive import of_part as of_part
from .naive import reference_dropout


def seeded_dropout(x: Tensor, mask: Mask | None) -> Tensor:
    """``x [rows, …]`` with the elements of the mask zeroed, the rest divided by 1 − p; None: just x.

    >>> mask = Mask(torch.tensor(7), 0.5)
    >>> torch.equal(seeded_dropout(torch.ones(4, 3), mask), seeded_dropout(torch.ones(4, 3), mask))
    True
    """
    if mask is None:
        return x
    check_rows(x, mask)
    return DROPOUT(x, mask)


def check_rows(x: Tensor, mask: Mask | None) -> None:
    """Raise a ValueError if the mask is for another number of rows, or does not number them in int64."""
    if mask is None or mask.rows is None:
        return
    if mask.rows.shape[0] != x.shape[0]:
        raise ValueError(f"the mask is for {mask.rows.shape[0]} rows of a whole, but x has {x.shape[0]}")
    if mask.rows.dtype != torch.int64 or mask.rows.dim() != 1:
        raise ValueError(f"rows of a mask must be int64 [{x.shape[0]}], got {mask.rows.dtype}")


@dataclass(eq=False)
class Dropped:
    """``kernel(x [runs, rows, d], seed [runs], p, rows, whole)`` and the mask without its seed."""

    kernel: Callable[..., Tensor]
    p: float
    rows: Tensor | None
    whole: int | None


def _forward(of: Dropped, x: Tensor, seed: Tensor) -> tuple[Tensor, ...]:
    flat = x.reshape(*x.shape[:2], -1)
    return (of.kernel(flat, seed, of.p, of.rows, of.whole).reshape(x.shape),)


def _backward(of: Dropped, kept: Any, grads: Any, depth: int, needs: Any) -> tuple[Any, ...]:
    """Linear in x, so the gradient is the same operation."""
    return *_function(of, grads[0], *kept, depth=depth), None


_function = differentiable(
    "seeded_dropout", _forward, _backward, keep=lambda of, tensors, outputs: tensors[1:], twice=True
)


def _by(kernel: Callable[..., Tensor]) -> Callable[[Tensor, Mask], Tensor]:
    def run(x: Tensor, mask: Mask) -> Tensor:
        return _function(Dropped(kernel, mask.p, mask.rows, mask.whole), x, mask.seed)[0]

    return run


def _declines(backend: str) -> Callable[[Tensor, Mask], str | None]:
    def supports(x: Tensor, mask: Mask) -> str | None:
        if not x.numel():
            return "there is nothing to drop"
        if in_forward_mode():
            return "it has no forward-mode derivative"
        return not_on(x, backend) or (missing("dropout", x.dtype) if backend == "cpu" else too_exact(x))

    return supports


DROPOUT = Operation(
    "dropout",
    Implementation("triton", _declines("triton"), _by(triton.dropout)),
    Implementation("cpu", _declines("cpu"), _by(cpu.compiled_dropout)),
    definition(reference_dropout),
)
