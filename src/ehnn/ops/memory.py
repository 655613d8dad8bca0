"""Bounded memory for φ: rows are processed in chunks, and activations recomputed in the backward pass."""

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

    Use it for hypergraphs whose activations do not fit. The activations between the layers of a φ, about
    seven times its input, are recomputed chunk by chunk when gradients need them. This takes a third more
    arithmetic and a fraction of the memory, and gives the same numbers (with dropout, other masks). On a GPU
    where the kernels of φ do so in any case, a layer `EHNNMLP` keeps only its own input.

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
    """``fn(*args)``, recomputed in the backward pass, but not in `torch.func.grad`, which lacks the hooks."""
    if transformed() and not (_VMAPPED and in_vmap()):
        return fn(*args)
    return checkpoint.checkpoint(fn, *args, use_reentrant=False)


def in_vmap() -> bool:
    """Whether the computation is one for many runs: inside `vmap` and no other transform."""
    if not transformed():
        return False
    stack = torch._C._functorch.get_interpreter_stack() or []
    return [one.key() for one in stack] == [torch._C._functorch.TransformType.Vmap]
