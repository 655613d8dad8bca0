"""Threads on a machine whose cores other processes use too."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch
from threadpoolctl import ThreadpoolController

_TRIES, _NUMBERS = 4, 1 << 16
_WAIT = 1e-3
"""Seconds of one short operation from which on its threads have waited for each other; it takes 10⁻⁵."""
_WHILE = 3.0
"""Seconds before anybody looks again at a machine that was crowded: looking takes 10⁻² s there."""


@dataclass
class _Found:
    """The last measurement of a crowded machine: use ``threads`` threads ``until`` a time."""

    until: float = 0.0
    threads: int = 1
    libraries: ThreadpoolController | None = None


_last = _Found()


def crowded() -> bool:
    """Whether PyTorch's threads wait for cores that other processes use.

    They spin while they wait for each other. Where one of them has no core, each operation takes until the
    system lets it run: milliseconds, a thousand times its work.
    """
    if torch.get_num_threads() == 1:
        return False
    numbers = torch.zeros(_NUMBERS)
    numbers.add_(1.0)  # makes the threads
    start = time.perf_counter()
    for _ in range(_TRIES):
        numbers.add_(1.0)
        if time.perf_counter() - start > _TRIES * _WAIT:
            return True
    return False


@contextmanager
def threads_with_cores() -> Iterator[Callable[[], None]]:
    """Half as many threads, and half again, while the machine is `crowded`; as many as before outside.

    It looks when it is entered, and again whenever what it gives is called, as loops do now and then. The
    threads of BLAS and scikit-learn are limited to the same number.
    """
    before = torch.get_num_threads()
    with ExitStack() as limits:
        limits.callback(torch.set_num_threads, before)  # the last one to be called

        def look() -> None:
            now = torch.get_num_threads()
            if time.monotonic() >= _last.until:
                while crowded():
                    torch.set_num_threads(torch.get_num_threads() // 2)
                if torch.get_num_threads() == now:
                    return
                _last.until, _last.threads = time.monotonic() + _WHILE, torch.get_num_threads()
                _last.libraries = ThreadpoolController()
            if now > _last.threads and _last.libraries is not None:
                limits.enter_context(_last.libraries.limit(limits=_last.threads))
                torch.set_num_threads(_last.threads)

        look()
        yield look
