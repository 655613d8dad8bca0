"""Memory of a computation: what it allocates at its peak, and what it starts from."""

from __future__ import annotations

import dataclasses
import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


def peak_bytes(fn: Callable[[], Any], device: str) -> int:
    """The most that ``fn()`` has allocated in tensors at any moment, beyond what was there before."""
    gc.collect()
    return _peak_cuda(fn) if torch.device(device).type == "cuda" else _peak_cpu(fn)


def _peak_cuda(fn: Callable[[], Any]) -> int:
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    fn()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def _peak_cpu(fn: Callable[[], Any]) -> int:
    """From the allocations that the profiler sees: resident memory is too coarse for small steps."""
    from torch.profiler import ProfilerActivity, profile

    with _quiet_stderr(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        fn()
    assert seen.profiler is not None
    events = [e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
    now = top = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        now += event.nbytes()
        top = max(top, now)
    return top


@contextmanager
def _quiet_stderr() -> Iterator[None]:
    """The profiler writes two lines about itself, past Python's own stream."""
    with open(os.devnull, "w") as nowhere:
        kept = os.dup(2)
        try:
            os.dup2(nowhere.fileno(), 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def held_bytes(*things: Any) -> int:
    """Bytes of the distinct tensors in modules, relations, hypergraphs and collections of them."""
    sizes: dict[int, int] = {}
    seen: set[int] = set()
    for thing in things:
        _collect(thing, sizes, seen)
    return sum(sizes.values())


def _collect(thing: Any, sizes: dict[int, int], seen: set[int]) -> None:
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, Tensor):
        storage = thing.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
    elif isinstance(thing, nn.Module):
        for tensor in (*thing.parameters(), *thing.buffers()):
            _collect(tensor, sizes, seen)
    elif isinstance(thing, Mapping):
        for value in thing.values():
            _collect(value, sizes, seen)
    elif isinstance(thing, (list, tuple)):
        for value in thing:
            _collect(value, sizes, seen)
    elif dataclasses.is_dataclass(thing):
        _collect(vars(thing), sizes, seen)  # with the views that were made on first use


def available_bytes() -> int | None:
    """Memory that this machine can still give without swapping; None where that is not known."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(s.split()[1]) * 1024 for s in lines if s.startswith("MemAvailable:")), None)


def copy_bandwidth(device: str, megabytes: int) -> float:
    """Bytes per second of a plain copy, read and written bytes both counted; the best of several."""
    from ehnn_paper.measure.timing import milliseconds

    source = torch.ones(megabytes * 2**20 // 4, device=device)
    target = torch.empty_like(source)
    best = min(milliseconds(lambda: target.copy_(source), 10, device))
    return 2 * source.numel() * 4 / (best * 1e-3)
