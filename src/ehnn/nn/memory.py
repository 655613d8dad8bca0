"""Memory that does not grow with the depth of φ: rows in chunks, their activations made again when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

_rows: int | None = None


@contextmanager
def bounded_memory(rows: int = 2**20) -> Iterator[None]:
    """Inside, every φ takes at most ``rows`` rows at a time and keeps only its input for the backward pass.

    The activations between the layers of a φ (about seven of its inputs) are made again, chunk by chunk,
    when gradients need them: a third more arithmetic for a fraction of the memory, and the same numbers.
    For hypergraphs whose activations do not fit.

    >>> with bounded_memory(rows=100_000):  # doctest: +SKIP
    ...     loss = model(h).square().mean()
    """
    global _rows
    if rows < 1:
        raise ValueError(f"rows must be positive, got {rows}")
    previous, _rows = _rows, rows
    try:
        yield
    finally:
        _rows = previous


def is_bounded(x: Tensor) -> bool:
    """Whether the activations of these rows are to be made again."""
    return _rows is not None and x.shape[0] > _rows


def by_chunks(fn: Callable[[Tensor, Tensor], Tensor], x: Tensor, index: Tensor) -> Tensor | None:
    """``fn(x, index)`` in chunks of rows under `bounded_memory`; None outside it or for few rows."""
    if not is_bounded(x) or _rows is None:
        return None
    parts = zip(x.split(_rows), index.split(_rows), strict=True)
    if torch.is_grad_enabled():
        return torch.cat([checkpoint(fn, a, b, use_reentrant=False) for a, b in parts])
    return torch.cat([fn(a, b) for a, b in parts])
