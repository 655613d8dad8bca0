"""A bounded number of matrices at a time, which are recomputed in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..memory import checkpointed
from .naive import reference_matmul, reference_mix

MOST = 2**23
"""Entries of matrices in memory at a time (32 MiB in float32)."""


def supports(
    x: Tensor, make: Callable[[Tensor], Tensor], keys: Tensor, ptr: Tensor, ends: Sequence[int], d_out: int
) -> str | None:
    """None where there are too many matrices. Otherwise an empty reason, which `explain` does not show."""
    return None if keys.shape[0] > _at_once(x.shape[-1] * d_out) else ""


def supports_mix(x: Tensor, make: Callable[[Tensor], Tensor], keys: Tensor, d_out: int) -> str | None:
    """As `supports`."""
    return None if keys.shape[1] > _at_once(keys.shape[0] * x.shape[-1] * d_out) else ""


def run(
    x: Tensor, make: Callable[[Tensor], Tensor], keys: Tensor, ptr: Tensor, ends: Sequence[int], d_out: int
) -> Tensor:
    """`generated_matmul`."""

    def some(rows: Tensor, keys: Tensor, ptr: Tensor) -> Tensor:
        return reference_matmul(rows, make, keys, ptr, (), d_out)

    spans = _spans(keys.shape[0], _at_once(x.shape[-1] * d_out))
    parts = [(x[ends[a] : ends[b]], keys[a:b], ptr[a : b + 1] - ptr[a]) for a, b in spans]
    return torch.cat([checkpointed(some, *part) for part in parts])


def run_mix(x: Tensor, make: Callable[[Tensor], Tensor], keys: Tensor, d_out: int) -> Tensor:
    """`generated_mix`."""

    def some(x: Tensor, keys: Tensor) -> Tensor:
        return reference_mix(x, make, keys, d_out)

    spans = _spans(keys.shape[1], _at_once(keys.shape[0] * x.shape[-1] * d_out))
    return torch.cat([checkpointed(some, x, keys[:, a:b]) for a, b in spans], 1)


def _at_once(entries: int) -> int:
    """How many matrices, or columns of matrices, of so many entries are made at a time."""
    return max(MOST // max(entries, 1), 1)


def _spans(items: int, step: int) -> list[tuple[int, int]]:
    return [(a, min(a + step, items)) for a in range(0, items, step)]
