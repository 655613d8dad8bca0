"""Schemas: what the values in a JSON file of each format must look like."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ehnn._utils.validation import short

Schema = Any
"""``str``, ``bool``, ``int``, ``float`` (finite; an int will do), ``dict``, ``list``, ``None``; ``object``
for anything; a tuple of schemas for one of them; a frozenset of the texts there are; ``[schema]`` for a list;
``{key: schema}`` for an object that has these keys, a key that ends in ``?`` being optional, and no others
unless ``...`` is among them; a function for what must be true of the value, whose docstring says so."""

_NAMES = {
    str: "text", bool: "true or false", int: "a whole number", float: "a finite number", dict: "an object",
    list: "a list", None: "null",
}  # fmt: skip


def check(value: Any, schema: Schema, place: str) -> None:
    """Raise a ValueError that names the part of ``place`` that does not match ``schema``."""
    if isinstance(schema, dict) and isinstance(value, dict):
        _check_object(value, schema, place)
    elif isinstance(schema, list) and isinstance(value, list):
        for i, item in enumerate(value):
            check(item, schema[0], f"{place}[{i}]")
    elif not _fits(value, schema, place):
        raise ValueError(f"{place} must be {describe(schema)}, got {short(value)}")


def _check_object(value: dict[Any, Any], schema: dict[Any, Schema], place: str) -> None:
    names = {key.removesuffix("?"): inner for key, inner in schema.items() if key is not ...}
    lost = [key for key in schema if key is not ... and not key.endswith("?") and key not in value]
    more = [key for key in value if key not in names] if ... not in schema else []
    if lost or more:
        wrong = f"lacks {lost[0]!r}" if lost else f"has the unknown {short(more[0])}"
        raise ValueError(f"{place} {wrong}; it must have {', '.join(names)}")
    for key, item in value.items():
        check(item, names.get(key, schema.get(...)), f"{place}.{told_key(key)}")


def told_key(key: Any) -> str:
    """A key as it stands in a place, cut."""
    return short(str(key), 40)[1:-1] if len(str(key)) > 38 else str(key)


def _fits(value: Any, schema: Schema, place: str) -> bool:
    if schema is object:
        return True
    if isinstance(schema, tuple):
        return any(_one_of(value, one, place) for one in schema)
    if isinstance(schema, frozenset):
        return isinstance(value, str) and value in schema
    if schema is None:
        return value is None
    if isinstance(schema, type):
        return _is(value, schema)
    return callable(schema) and bool(schema(value))


def _one_of(value: Any, schema: Schema, place: str) -> bool:
    """Whether one of several fits; an object or list that is among them is checked inside."""
    if not isinstance(schema, (dict, list)):
        return _fits(value, schema, place)
    if isinstance(value, type(schema)):
        check(value, schema, place)
        return True
    return False


def _is(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, (int, float)) and abs(value) <= 1e300 and math.isfinite(value)
    if kind is int:
        return isinstance(value, int) and -(2**63) <= value < 2**63
    return isinstance(value, kind)


def describe(schema: Schema) -> str:
    """A schema in words."""
    if isinstance(schema, tuple):
        return " or ".join(map(describe, schema))
    if isinstance(schema, frozenset):
        return f"one of {', '.join(sorted(schema))}"
    if isinstance(schema, (dict, list)):
        return "an object" if isinstance(schema, dict) else "a list"
    if schema is None or schema in _NAMES:
        return _NAMES[schema]
    return str(schema.__doc__ or schema.__name__).strip().rstrip(".")


def count(value: Any) -> bool:
    """a count, not negative"""
    return _is(value, int) and value >= 0


def positive(value: Any) -> bool:
    """a count of at least 1"""
    return _is(value, int) and value >= 1


def texts(value: Any) -> bool:
    """a list of texts"""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def vector(length: int | None = None) -> Callable[[Any], bool]:
    """A list of finite numbers, perhaps of a length."""

    def numbers(value: Any) -> bool:
        right = isinstance(value, list) and all(_is(item, float) for item in value)
        return right and (length is None or len(value) == length)

    numbers.__doc__ = "a list of finite numbers" if length is None else f"a list of {length} finite numbers"
    return numbers
