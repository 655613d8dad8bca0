"""Calls of C kernels on several threads: a call releases the global interpreter lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def in_threads(threads: int, fn: Callable[..., Any], *jobs: Iterable[Any]) -> list[Any]:
    """``list(map(fn, *jobs))`` on ``threads`` threads; with 1 or less on this one, without starting any."""
    if threads <= 1:
        return list(map(fn, *jobs))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(fn, *jobs))
