"""Choose the implementation of an operation from an ordered table.

An implementation returns the reason why it does not take given arguments, or None. The first that returns
None runs; the last, ``naive``, is the definition and takes everything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad

__all__ = ["Implementation", "Operation", "definition"]  # what an operation of your own needs

BACKENDS = ("auto", "reference", "cpu", "triton")
_current = os.environ.get("EHNN_BACKEND", "auto")


@contextmanager
def use_backend(name: str) -> Iterator[None]:
    """Run operations on the backend ``name``: ``"reference"`` (naive), ``"cpu"``, ``"triton"`` or ``"auto"``.

    The environment variable ``EHNN_BACKEND`` sets the default. The choice holds for the process, not for a
    thread: PyTorch computes gradients in threads of its own.

    >>> import ehnn
    >>> x, pairs = torch.ones(3, 2), ehnn.Hypergraph.from_edges([[0, 1], [1, 2]]).incidence
    >>> with use_backend("reference"):
    ...     y = ehnn.ops.segment_sum(x, pairs)
    """
    global _current
    previous, _current = _current, _checked(name)
    try:
        yield
    finally:
        _current = previous


def backend_of(x: Tensor) -> str:
    """The backend that handles ``x``."""
    if _current != "auto":
        return _checked(_current)
    return "cpu" if x.is_cpu else {"cuda": "triton"}.get(x.device.type, "reference")


def _checked(name: str) -> str:
    if name not in BACKENDS:
        raise ValueError(f"backend must be one of {BACKENDS}, got {name!r}")
    return name


class Implementation(NamedTuple):
    """One way to compute an operation.

    Attributes:
        name: what `explain` calls it.
        supports: the arguments of the operation → None if this implementation takes them, else why not;
            `explain` does not show an empty reason.
        run: the arguments of the operation → its value.

    >>> shift = Implementation("shift", lambda n: "n is odd" if n % 2 else None, lambda n: n >> 1)
    >>> shift.supports(3), shift.supports(4), shift.run(4)
    ('n is odd', None, 2)
    """

    name: str
    supports: Callable[..., str | None]
    run: Callable[..., Any]


class Operation:
    """A name and its implementations, fastest first; the last one is the definition.

    >>> shift = Implementation("shift", lambda n: "n is odd" if n % 2 else None, lambda n: n >> 1)
    >>> halve = Operation("halve", shift, definition(lambda n: n / 2))
    >>> halve(6), halve(3), halve.choose(3)
    (3, 1.5, ('naive', [('shift', 'n is odd')]))
    """

    def __init__(self, name: str, *implementations: Implementation) -> None:
        self.name, self.implementations = name, implementations

    def __call__(self, *args: Any) -> Any:
        if _choices is not None:
            _choices.append((self.name, *self.choose(*args)))
        for one in self.implementations:
            if one.supports(*args) is None:
                return one.run(*args)
        raise NotImplementedError(f"no implementation of {self.name} takes these arguments")

    def choose(self, *args: Any) -> tuple[str, list[tuple[str, str]]]:
        """The name of the implementation that runs, and why each faster one does not."""
        declined: list[tuple[str, str]] = []
        for one in self.implementations:
            reason = one.supports(*args)
            if reason is None:
                return one.name, declined
            if reason:
                declined.append((one.name, reason))
        raise NotImplementedError(f"no implementation of {self.name} takes these arguments")


def definition(run: Callable[..., Any]) -> Implementation:
    """The definition of an operation: the function ``run``, which takes everything.

    >>> halve = Operation("halve", definition(lambda n: n / 2))
    >>> halve(3)
    1.5
    """
    return Implementation("naive", lambda *_: None, run)


# ---------------------------------------------------------------------- reasons that many share


FOR_CPUS, FOR_GPUS = "it takes tensors on a CPU", "it takes tensors on a GPU"
"""Reasons that are plain from the device of the arguments: `explain` does not print them."""


def other_backend(x: Tensor, backend: str) -> str | None:
    """Why ``x`` is not for ``backend``, or None."""
    if backend_of(x) == backend:
        return None
    if _current != "auto":
        return f"the backend is {_current!r}, this needs {backend!r}"
    if x.is_cpu and backend == "triton":
        return FOR_GPUS
    return FOR_CPUS if x.is_cuda else f"x is on {x.device.type}, this needs {backend!r}"


def not_on(x: Tensor, backend: str) -> str | None:
    """Why a kernel of ``backend`` does not take ``x``, or None."""
    reason = other_backend(x, backend)
    if reason:
        return reason
    if backend == "cpu" and not x.is_cpu:
        return f"x is on {x.device.type}"
    if backend == "cpu" and torch.compiler.is_compiling():
        return "torch.compile fuses the plain version itself"
    if backend == "triton" and not has_triton():
        return "Triton is not installed or cannot be used"
    return None


def not_reference(x: Tensor, *_: Any) -> str | None:
    """None on every backend but "reference", where definitions alone run."""
    return "the backend is 'reference'" if backend_of(x) == "reference" else None


def only_for(kind: type, place: int) -> Callable[..., str | None]:
    """``supports`` of an implementation for patterns of one class, where the pattern is argument ``place``.

    The reason for others is empty: `explain` does not print that a plain pattern has no weights.
    """
    return lambda *args: None if isinstance(args[place], kind) else ""


def too_exact(x: Tensor) -> str | None:
    """Why a Triton kernel that is given numbers (a rate, an ε) does not take ``x``, or None.

    Triton hands Python's numbers to kernels as float32.
    """
    return "it takes its numbers as float32, and x is float64" if x.dtype == torch.float64 else None


def has_triton() -> bool:
    """Whether Triton can be imported; if not on a machine with a GPU, one warning says so."""
    global _triton
    if _triton is None:
        from ._native.missing import triton_works

        _triton = triton_works()
    return _triton


_triton: bool | None = None


def old_triton() -> str | None:
    """Why kernels do not run whose loops Triton must not change, or None."""
    global _new_triton
    if _new_triton is None:
        from ._native.missing import triton_keeps_loops

        _new_triton = triton_keeps_loops()
    return None if _new_triton else "it needs a Triton with tl.range(…, disable_licm=True), 3.6 or later"


_new_triton: bool | None = None


def transformed() -> bool:
    """Whether `torch.func` transforms the computation."""
    return torch._C._are_functorch_transforms_active()


def in_forward_mode() -> bool:
    """Whether inputs may have tangents (`torch.func.jvp`, `torch.autograd.forward_ad`)."""
    return not torch.compiler.is_compiling() and forward_ad._current_level >= 0


def tf32() -> bool:
    """Whether products of float32 may be rounded to TF32, as `torch.set_float32_matmul_precision` says."""
    return torch.get_float32_matmul_precision() != "highest"


# As `torch.compiler.assume_constant_result` does, which would import the compiler: a third of the time of
# `import ehnn.nn`. Compiled code is made anew when the precision changes.
tf32._dynamo_marked_constant = True  # type: ignore[attr-defined]


# ---------------------------------------------------------------------- what ran, and why


@dataclass(frozen=True)
class Choice:
    """An operation, the implementation that ran, why faster ones did not, and how often this happened."""

    operation: str
    ran: str
    declined: tuple[tuple[str, str], ...]
    times: int

    def __str__(self) -> str:
        lines = [f"{self.operation}: {self.ran}" + (f" ({self.times} times)" if self.times > 1 else "")]
        shown = [(name, reason) for name, reason in self.declined if reason not in (FOR_CPUS, FOR_GPUS)]
        return "\n".join([*lines, *(f"    not {name}: {reason}" for name, reason in shown)])


class Explanation(tuple[Choice, ...]):
    """The choices that `explain` found, in the order in which operations first ran."""

    def ran(self, operation: str) -> set[str]:
        """The implementations that ran for an operation."""
        return {c.ran for c in self if c.operation == operation}

    def __str__(self) -> str:
        return "\n".join(map(str, self))


_choices: list[tuple[str, str, list[tuple[str, str]]]] | None = None


def explain(module: Callable[..., Any], *args: Any, quiet: bool = False) -> Explanation:
    """Call ``module(*args)`` and print which implementation each operation used and why faster ones declined.

    For a layer ``explain(layer, x, overlap)``, for a model ``explain(model, h)``. ``naive`` is the definition
    in plain PyTorch. Implementations for another device than that of the arguments are not printed.
    Gradients are computed by the implementations that ran forward. ``quiet`` returns without printing.

    >>> import ehnn, torch
    >>> h = ehnn.Hypergraph.from_edges([[0, 1], [1, 2]])
    >>> with use_backend("reference"):
    ...     found = explain(ehnn.ops.segment_sum, torch.ones(3, 1), h.incidence, quiet=True)
    >>> found.ran("segment_sum")
    {'naive'}
    """
    global _choices
    before, _choices = _choices, []
    try:
        module(*args)
        made = [(name, ran, tuple(declined)) for name, ran, declined in _choices]
    finally:
        _choices = before
    found = Explanation(Choice(*one, made.count(one)) for one in dict.fromkeys(made))
    if not quiet:
        print(found)
    return found
