"""Values that are computed once and kept with the object they came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, wraps
from typing import Any, TypeVar

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

_Value = TypeVar("_Value")


@contextmanager
def plain_tensors() -> Iterator[None]:
    """Tensors made here may be kept: they belong to no transform and can be saved for a backward pass.

    The first call of a model may well be inside ``vmap(grad(…))`` or ``inference_mode``, whose tensors must
    not outlive them.
    """
    with temporarily_clear_interpreter_stack(), torch.inference_mode(False), torch.no_grad():
        yield


class kept_property(cached_property[_Value]):
    """`functools.cached_property` whose value is made of plain tensors."""

    def __init__(self, make: Callable[[Any], _Value]) -> None:
        @wraps(make)
        def plainly(owner: Any) -> _Value:
            with plain_tensors():
                return make(owner)

        super().__init__(plainly)
