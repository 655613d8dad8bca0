"""Memory that does not grow with the depth of φ: rows in chunks, their activations made again when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.utils import checkpoint

from ehnn._utils.validation import as_count

from .dispatch import transformed

_rows: int | None = None
_VMAPPED = not hasattr(checkpoint, "_NoopSaveInputs")
"""Whether checkpoints work inside `vmap`; those of PyTorch 2.11 call a function that has no rule for it."""


@contextmanager
def bounded_memory(rows: int = 2**20) -> Iterator[None]:
    """Inside, every φ takes at most ``rows`` rows at a time and keeps only its input for the backward pass.

    The activations between the layers of a φ (about seven of its inputs) are made again, chunk by chunk,
    when gradients need them: a third more arithmetic for a fraction of the memory, and the same numbers
    (with dropout, other masks). Where the kernels of φ do so anyway, on a GPU, a layer `EHNNMLP` keeps
    only its own input.
    For hypergraphs whose activations do not fit.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1], [1, 2]], x=torch.ones(3, 4))
    >>> model = ehnn.nn.Stack(4, 2, ehnn.nn.EHNNMLP)
    >>> with bounded_memory(rows=2):
    ...     loss = model(h).square().mean()
    """
    global _rows
    previous, _rows = _rows, as_count(rows, "rows", 1)
    try:
        yield
    finally:
        _rows = previous


def bound(rows: int) -> int | None:
    """Rows that φ may take at a time, if ``rows`` are more than that; else None."""
    return _rows if _rows is not None and rows > _rows else None


def checkpointed(fn: Callable[..., Tensor], *args: Tensor) -> Tensor:
    """``fn(*args)``, made again in the backward pass; kept in `torch.func.grad`, which has no such hooks."""
    if transformed() and not (_VMAPPED and in_vmap()):
        return fn(*args)
    return checkpoint.checkpoint(fn, *args, use_reentrant=False)


def in_vmap() -> bool:
    """Whether the computation is one for many runs: inside `vmap` and no other transform."""
    if not transformed():
        return False
    stack = torch._C._functorch.get_interpreter_stack() or []
    return [one.key() for one in stack] == [torch._C._functorch.TransformType.Vmap]
