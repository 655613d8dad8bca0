"""One choice of backend for every operation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, ParamSpec, TypeVar

import torch
from torch import Tensor, library
from torch.autograd import forward_ad

_P = ParamSpec("_P")
_R = TypeVar("_R")
_F = TypeVar("_F", bound=torch.autograd.Function)

BACKENDS = ("auto", "reference", "cpu", "triton")
_current = os.environ.get("EHNN_BACKEND", "auto")
NO_SECOND = "{} has no second derivative; use use_backend('reference')"
"""What kernels say that are differentiated twice."""
NO_TANGENT = "{} has no forward-mode derivative; use use_backend('reference')"
"""What kernels say that are differentiated forwards."""


@contextmanager
def use_backend(name: str) -> Iterator[None]:
    """Run operations on one backend: ``"reference"`` (plain), ``"cpu"``, ``"triton"`` or ``"auto"``.

    The environment variable ``EHNN_BACKEND`` sets the default. The choice is of the process, not of a thread:
    gradients are computed in threads of their own.
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


def tf32() -> bool:
    """Whether products of float32 may be rounded to TF32, as `torch.set_float32_matmul_precision` says."""
    return torch.get_float32_matmul_precision() != "highest"


# As `torch.compiler.assume_constant_result` does, which would import the compiler: a third of the time of
# `import ehnn.nn`. Compiled code is made anew when the precision changes.
tf32._dynamo_marked_constant = True  # type: ignore[attr-defined]


def in_forward_mode() -> bool:
    """Whether tangents may come along (`torch.func.jvp`, `torch.autograd.forward_ad`)."""
    return not torch.compiler.is_compiling() and forward_ad._current_level >= 0


_WITH_TANGENT: dict[type[torch.autograd.Function], type[torch.autograd.Function]] = {}


def with_tangent(function: type[torch.autograd.Function]) -> Callable[[type[_F]], type[_F]]:
    """Says of a subclass of ``function`` that it has a ``jvp``: `apply` takes it in forward mode.

    `torch.compile` traces no function that has one.
    """

    def register(kind: type[_F]) -> type[_F]:
        _WITH_TANGENT[function] = kind
        return kind

    return register


def apply(function: type[torch.autograd.Function], *args: Any) -> Any:
    """``function.apply(*args)`` without its search for default arguments, as costly as a small sum."""
    if in_forward_mode():
        function = _WITH_TANGENT.get(function, function)
        if function.jvp is torch.autograd.Function.jvp:
            raise NotImplementedError(NO_TANGENT.format(function.__name__.lstrip("_")))
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return function.apply(*args)
    return super(torch.autograd.Function, function).apply(*args)  # type: ignore[misc]


class Opaque(Generic[_P, _R]):
    """A function that `torch.compile` calls and does not look into; see `opaque`."""

    def __init__(self, name: str, function: Callable[_P, _R]) -> None:
        self._function, self.op = function, library.custom_op(name, function, mutates_args=())

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack():
            return self.op(*args, **kwargs)
        return self._function(*args, **kwargs)

    def register_fake(self, function: Callable[..., _R]) -> None:
        """Say which shapes come out, for `torch.compile`."""
        self.op.register_fake(function)


def opaque(name: str) -> Callable[[Callable[_P, _R]], Opaque[_P, _R]]:
    """Make a function an operator of PyTorch, for `torch.compile` and modes that watch operators.

    In all other calls the function itself is called: the way through PyTorch's dispatcher and its checks of
    aliases takes 10 µs a call on a CPU, a plain call 1 µs (``benchmarks/operators.py``). For use inside the
    forward method of a `torch.autograd.Function` alone, where nothing is differentiated.
    """
    return lambda function: Opaque(name, function)


def _checked(name: str) -> str:
    if name not in BACKENDS:
        raise ValueError(f"backend must be one of {BACKENDS}, got {name!r}")
    return name
