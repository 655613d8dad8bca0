"""Memory of large tensors on a CPU: kept for the next tensor, or in large pages."""

from __future__ import annotations

import ctypes
import mmap
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the command line uses this file before it needs torch
    from torch import Tensor

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
LARGEST_MMAP_THRESHOLD = 32 * 2**20
MOST = 2**31 - 1
PAGE, LARGE = 2**21, 2**23
"""Bytes of a large page, and of a tensor from which on it is worth asking for them."""


def keep_freed_memory() -> bool:
    """Keep freed memory of this process for the next tensors; whether the C library can (glibc).

    By default glibc returns large blocks to the system, which clears each page before it hands it out again:
    up to 5 % of a training step on a CPU (``paper/benchmarks/compare.py`` measures it). From now on, blocks
    of up to 32 MiB stay with the process until it ends. A library must not decide that for its user: off
    unless called; the command line, whose process is its own, calls it.

    >>> import ehnn
    >>> ehnn.ops.keep_freed_memory() in (True, False)
    True
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(MMAP_THRESHOLD, LARGEST_MMAP_THRESHOLD)) and bool(mallopt(TRIM_THRESHOLD, MOST))


def on_large_pages(made: Tensor) -> Tensor:
    """The tensor, which nothing was written to yet: the system is asked for pages of 2 MiB for its memory.

    The system hands out memory page by page when it is first written, which takes as long as the arithmetic
    of a φ with pages of 4 KiB. On Linux each program has to ask for large ones (``madvise``); elsewhere, and
    for small tensors, nothing happens.
    """
    size = made.numel() * made.element_size()
    advise = _advise() if size >= LARGE and made.is_cpu else None
    if advise is not None:
        start = -(-made.data_ptr() // PAGE) * PAGE
        end = (made.data_ptr() + size) // PAGE * PAGE
        if end > start:
            advise(start, end - start, mmap.MADV_HUGEPAGE)  # a refusal changes nothing
    return made


@cache
def _advise() -> Any:
    """``madvise`` of the C library, where there is one that knows large pages."""
    if not sys.platform.startswith("linux") or not hasattr(mmap, "MADV_HUGEPAGE"):
        return None
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    if advise is not None:
        advise.argtypes, advise.restype = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int], ctypes.c_int
    return advise
