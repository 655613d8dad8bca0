"""CUDA graphs: record a computation once per batch or layout, then replay it without launching kernels."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from ehnn.hypergraph.pairs import static_shapes

MOST = 256
"""Largest number of layouts of batches that are recorded."""


@runtime_checkable
class Once(Protocol):
    """A batch that may not occur again: its step is not recorded."""

    @property
    def reusable(self) -> bool:
        """Whether this batch, or others of its layout, are expected again."""


@runtime_checkable
class Moving(Protocol):
    """A batch on the host that can be copied over others of its layout, such as `ehnn_paper.matching`'s."""

    @property
    def layout(self) -> Hashable:
        """A key: a batch can be copied over another one with the same layout."""

    def to_device(self, device: torch.device | str, /) -> Any:
        """This batch on a device, with a method ``copy_from`` for others of its layout."""


class _Recorded(NamedTuple):
    h: Any  # kept alive: the graph reads its memory
    graph: torch.cuda.CUDAGraph
    output: Tensor


class Replayed:
    """``fn(h) -> Tensor`` with the same result and far fewer launches for batches that occur again.

    Most batches occur again as the same object. A `Moving` batch is copied over an earlier one of its layout.
    A batch that is not ``reusable`` is given to ``fn`` each time. A batch that its task drops is forgotten,
    so a task that makes new batches in each epoch does not fill the memory.

    The first call runs ``fn``; the second records it (``fn`` must then only launch work on the GPU: no
    synchronisation); later calls replay. What ``fn`` reads and changes (parameters, optimiser state,
    counters) must stay at the same addresses. The returned tensor is overwritten by the next replay.
    """

    def __init__(self, fn: Callable[[Any], Tensor], device: torch.device | str = "cuda") -> None:
        self.fn, self.device = fn, device
        self._on_device: dict[Hashable, Any] = {}
        self._seen: dict[int, Any] = {}
        self._recorded: dict[int, _Recorded] = {}
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, h: Any) -> Tensor:
        if isinstance(h, Once) and not h.reusable:
            return self.fn(h)
        return self._replay_copy(h) if isinstance(h, Moving) else self._replay(h)

    def _replay_copy(self, h: Moving) -> Tensor:
        moved = self._on_device.get(h.layout)
        if moved is not None:
            moved.copy_from(h)
            return self._replay(moved)
        moved = h.to_device(self.device)
        if len(self._on_device) < MOST:
            self._on_device[h.layout] = moved
            with static_shapes():  # as while recording: kernels are compiled now, not then
                return self._replay(moved)
        return self.fn(moved)

    def _replay(self, h: Any) -> Tensor:
        key = id(h)
        if key in self._recorded:
            self._recorded[key].graph.replay()
            return self._recorded[key].output
        if not self._met(h):
            return self.fn(h)
        self._recorded[key] = self._record(h)
        return self._replay(h)

    def _met(self, h: Any) -> bool:
        """Whether this object was given before."""
        key, seen = id(h), self._seen
        if key in seen:
            return True
        try:
            seen[key] = weakref.ref(h, lambda _: seen.pop(key, None))
        except TypeError:  # a tuple, a list or a dictionary
            seen[key] = h
        return False

    def _record(self, h: Any) -> _Recorded:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        # Another thread may well pin the memory of the next batch meanwhile.
        recording = torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local")
        with no_collection(), recording:
            output = self.fn(h).clone()
        return _Recorded(h, graph, output)

    def close(self) -> None:
        """Free the recordings."""
        self._recorded.clear()
        self._seen.clear()
        self._on_device.clear()


@contextmanager
def no_collection() -> Iterator[None]:
    """No garbage collection inside: freeing an older graph would break a recording."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
