"""Memory for large results on a CPU, used again.

The system hands out fresh memory page by page, and clears each: for a large result of a cheap operation that
takes longer than the operation. Here memory whose tensor is gone is kept and serves the next result of about
that size, as PyTorch does on a GPU. At most `KEPT` bytes wait unused; `release` gives them back.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

LARGE = 2**22
"""Bytes from which on memory is used again; below, the C library does that itself."""
KEPT = 2**30
"""Bytes that may wait unused."""
ALIGNED = 64
"""Bytes of a vector register and of a line of the cache, at which PyTorch's tensors begin too."""
SLACK = 1.25
"""How much larger than a result its memory may be."""

_waiting: dict[int, np.ndarray] = {}
"""By a number that grows. Memory may come back at any moment, from any thread: copies are searched, and a
piece is taken by `pop`."""
_numbers = itertools.count()


class _Loan(np.ndarray):
    """A view of a piece of memory, which waits for the next tensor when this one is gone."""

    memory: np.ndarray | None = None

    def __del__(self) -> None:
        if self.memory is not None and _waiting is not None:
            _waiting[next(_numbers)] = self.memory
            _shrink()


def empty(shape: Sequence[int], like: Tensor) -> Tensor:
    """``torch.empty(shape)`` with the dtype and device of ``like``, from memory in use before if large."""
    size = like.element_size() * math.prod(shape)
    if size < LARGE or like.device.type != "cpu" or torch.autograd._profiler_enabled():
        return like.new_empty(shape)  # a profiler sees the memory of PyTorch alone
    memory = _take(size + ALIGNED)
    start = -memory.ctypes.data % ALIGNED
    loan = memory[start : start + size].view(_Loan)
    loan.memory = memory
    return torch.from_numpy(loan).view(like.dtype).view(*shape)


def release() -> None:
    """Give the memory that waits back to the system."""
    _waiting.clear()


def _take(size: int) -> np.ndarray:
    waiting = _waiting.copy()
    for key in sorted(waiting, key=lambda key: waiting[key].nbytes):
        if size <= waiting[key].nbytes <= SLACK * size:
            memory = _waiting.pop(key, None)
            if memory is not None:
                return memory
    return np.empty(size, np.uint8)


def _shrink() -> None:
    """The memory that has waited longest goes back first."""
    waiting = _waiting.copy()
    total = sum(m.nbytes for m in waiting.values())
    for key, memory in waiting.items():
        if total <= KEPT:
            return
        _waiting.pop(key, None)
        total -= memory.nbytes
