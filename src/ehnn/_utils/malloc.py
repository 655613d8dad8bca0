"""Memory that the C library keeps for the next tensor."""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
LARGEST_MMAP_THRESHOLD = 32 * 2**20
MOST = 2**31 - 1


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
