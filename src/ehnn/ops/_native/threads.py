"""Calls of C kernels on several threads: a call lets go of the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def in_threads(threads: int, fn: Callable[..., Any], *jobs: Iterable[Any]) -> list[Any]:
    """``list(map(fn, *jobs))`` on so many threads; 1 or less: on this one, which costs no start."""
    if threads <= 1:
        return list(map(fn, *jobs))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(fn, *jobs))
