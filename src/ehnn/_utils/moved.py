"""Former public names: they work for one more version, with a warning that says what to use instead."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

_GOES = "the old name goes in version 0.3"
_Function = TypeVar("_Function", bound=Callable[..., Any])


def former(
    module: str, moved: Mapping[str, str] | None = None, internal: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module that has former names.

    Args:
        module: its ``__name__``.
        moved: the successor of each name: a module, or ``module:name`` for an object in it.
        internal: names that are no longer public, separated by spaces, by the module that has them.
    """
    places = {name: place for place, names in (internal or {}).items() for name in names.split()}

    def get(name: str) -> Any:
        if moved and name in moved:
            return _successor(f"{module}.{name}", moved[name])
        if name in places:
            warnings.warn(f"{module}.{name} is internal now; {_GOES}", DeprecationWarning, stacklevel=2)
            return getattr(import_module(places[name], module), name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return get


def former_module(module: str, successor: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module all of whose names are in ``successor``."""

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return _successor(f"{module}.{name}", f"{successor}:{name}")

    return get


def _successor(old: str, new: str) -> Any:
    place, _, name = new.partition(":")
    shown = new.replace(":", ".")
    try:
        found = import_module(place)
    except ImportError as error:
        raise ImportError(
            f"{old} is now {shown}, in the package ehnn-paper: pip install ./paper in a clone of ehnn"
        ) from error
    warnings.warn(f"{old} is now {shown}; {_GOES}", DeprecationWarning, stacklevel=3)
    return getattr(found, name) if name else found


def renamed_attributes(**names: str) -> Callable[[Any, str], Any]:
    """The ``__getattr__`` of a class: a former name of an attribute leads to the present one and warns.

    >>> class Group:
    ...     def __init__(self):
    ...         self.members = 3
    ...     __getattr__ = renamed_attributes(size="members")
    >>> Group().size
    3
    """

    def get(self: Any, name: str) -> Any:
        kind = type(self).__name__
        if name not in names:
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")
        warnings.warn(f"{kind}.{name} is called {names[name]} now", DeprecationWarning, stacklevel=2)
        return getattr(self, names[name])

    return get


def renamed_argument(old: str, new: str) -> Callable[[_Function], _Function]:
    """A decorator: the argument ``old`` of a function is called ``new`` now. The old keyword works and warns.

    >>> @renamed_argument("graph", "h")
    ... def nodes(h):
    ...     return h
    >>> nodes(h=3)
    3
    """

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if old in kwargs and new not in kwargs:
                told = f"the argument {old} of {function.__name__} is called {new} now; {_GOES}"
                warnings.warn(told, DeprecationWarning, stacklevel=2)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate
