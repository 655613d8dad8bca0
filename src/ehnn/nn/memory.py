"""Memory that does not grow with the depth of φ: rows in chunks, their activations made again when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ehnn.hypergraph.validate import as_count
from ehnn.ops.cpu_layer import in_vmap

from .dropout import Dropout

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
    previous, _rows = _rows, as_count(rows, "rows", 1)
    try:
        yield
    finally:
        _rows = previous


def is_bounded(x: Tensor) -> bool:
    """Whether the activations of these rows are to be made again."""
    return _rows is not None and x.shape[0] > _rows


def by_chunks(
    module: nn.Module, fn: Callable[[Tensor, Tensor], Tensor], x: Tensor, index: Tensor
) -> Tensor | None:
    """``fn(x, index)`` in chunks of rows under `bounded_memory`; None outside it or for few rows.

    When a chunk is made again, the ``module`` that ``fn`` calls has the parameters and seeds of the first
    time (`ehnn.training.Runs` puts them in for the forward pass alone). Dropout masks are those of the whole.
    """
    if not is_bounded(x) or _rows is None:
        return None
    rows = torch.arange(x.shape[0], device=x.device)
    held = _held(module)
    drops = [(m, m.rows) for m in module.modules() if isinstance(m, Dropout)]

    def again(x: Tensor, index: Tensor, chosen: Tensor) -> Tensor:
        before = _held(module)
        _put(held)
        for drop, own in drops:
            numbers, total = own or (rows, rows.shape[0])
            drop.rows = numbers[chosen], total
        try:
            return fn(x, index)
        finally:
            _put(before)
            for drop, own in drops:
                drop.rows = own

    parts = zip(x.split(_rows), index.split(_rows), rows.split(_rows), strict=True)
    if torch.is_grad_enabled():
        return torch.cat([checkpointed(again, *part) for part in parts])
    return torch.cat([again(*part) for part in parts])


def checkpointed(fn: Callable[..., Tensor], *args: Tensor) -> Tensor:
    """``fn(*args)``, made again in the backward pass; kept in `torch.func.grad`, which has no such hooks."""
    if torch._C._are_functorch_transforms_active() and not in_vmap():
        return fn(*args)
    return checkpoint(fn, *args, use_reentrant=False)


_Held = list[tuple[dict[str, Any], str, Any]]


def _held(module: nn.Module) -> _Held:
    """The parameters and buffers of a module and those inside it, with their places."""
    places = [d for m in module.modules() for d in (m._parameters, m._buffers)]
    return [(d, name, tensor) for d in places for name, tensor in d.items()]


def _put(held: _Held) -> None:
    for place, name, tensor in held:
        place[name] = tensor
