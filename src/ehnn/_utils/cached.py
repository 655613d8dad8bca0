"""Values that are computed once and kept with the object they came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, overload

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

_Value = TypeVar("_Value")


@contextmanager
def plain_tensors() -> Iterator[None]:
    """Tensors made here may be kept: they belong to no transform and can be saved for a backward pass.

    The first call of a model may well be inside ``vmap(grad(…))`` or ``inference_mode``, whose tensors must
    not outlive them.
    """
    if torch.compiler.is_compiling():  # compiled code runs in no transform
        yield
        return
    with temporarily_clear_interpreter_stack(), torch.inference_mode(False), torch.no_grad():
        yield


_Owner = TypeVar("_Owner")


def keep(owner: _Owner, **values: Any) -> _Owner:
    """``owner`` with values of its `cached_tensors` that are known already, as if asked for before."""
    for name, value in values.items():
        if not isinstance(getattr(type(owner), name, None), cached_tensors):
            raise ValueError(f"{type(owner).__name__} must keep a value called {name!r}, it does not")
        vars(owner)[name] = value
    return owner


class cached_tensors(Generic[_Value]):
    """`functools.cached_property` whose value is made of plain tensors, and that `torch.compile` reads."""

    def __init__(self, make: Callable[[Any], _Value]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, owner: None, kind: type) -> cached_tensors[_Value]: ...
    @overload
    def __get__(self, owner: object, kind: type | None = None) -> _Value: ...
    def __get__(self, owner: object | None, kind: type | None = None) -> Any:
        if owner is None:
            return self
        with plain_tensors():
            value = self._make(owner)
        vars(owner)[self._name] = value  # found before this descriptor from now on
        return value
