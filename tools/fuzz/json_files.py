"""Mutations of JSON: values of other types and sizes, missing, unknown and repeated keys, depth."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .plain import Random

VALUES: tuple[Callable[[], Any], ...] = (
    *(lambda value=value: value for value in (
        None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, float("nan"), float("inf"), 2**31, 2**63 - 1, 2**63,
        -(2**63), 10**400, 10**12, "", "0", "a", "nan", "\x00", "\ud800", "A" * 5000, "../x", "/etc/passwd",
        "é", "cpu", "float32", "1e999", "null",
    )),
    list, dict, lambda: [[]], lambda: [None], lambda: [0], lambda: [1, 2], lambda: ["a", "a"], lambda: [{}],
    lambda: {"": 0}, lambda: {"a": {"a": []}}, lambda: [0.5] * 300, lambda: [[1, 2], [3]], lambda: [[[1]]],
    lambda: list(range(50)),
)  # fmt: skip


def mutate_json(data: bytes, rng: Random) -> bytes:
    """One change of the structure; bytes that are not JSON stay as they are."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        return data
    if rng.random() < 0.05:
        return _odd_text(data, rng)
    return json.dumps(mutate_value(whole, rng), indent=rng.choice((None, 1))).encode("utf-8", "surrogatepass")


def mutate_value(whole: Any, rng: Random) -> Any:
    """One change of a value that JSON can hold."""
    box = [whole]
    places = list(_places(box))
    # Small structures near the root are as likely as the many numbers far below it.
    depth = rng.choice(sorted({d for d, _, _ in places}))
    _, parent, key = rng.choice([place for place in places if place[0] == depth])
    _change(parent, key, rng)
    return box[0] if box else None


def _places(value: Any, depth: int = 0) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield depth, value, key
        yield from _places(inner, depth + 1)


def _change(parent: Any, key: Any, rng: Random) -> None:
    value, action = parent[key], rng.randrange(10)
    if action == 0:
        del parent[key]
    elif action == 1 and isinstance(parent, dict):
        parent[rng.choice(("", "x", "A" * 3000, f"{key} ", "\ud800"))] = parent.pop(key)
    elif action == 2 and isinstance(parent, dict):
        parent[key], other = parent[(other := rng.choice(list(parent)))], other
    elif action == 3 and isinstance(value, list):
        parent[key] = value * rng.choice((0, 2, 10))
    elif action == 4 and isinstance(value, int | float):
        parent[key] = rng.choice((-value, value + 1, value * 1000, value + 0.5, str(value), [value]))
    elif action == 5:
        parent[key] = {"a": value} if rng.random() < 0.5 else [value]
    elif action == 6 and isinstance(parent, list):
        parent.insert(key, rng.choice(VALUES)())
    elif action == 7 and isinstance(value, str):
        parent[key] = rng.choice(
            (value[:-1], value + "x", value.upper(), value * 500, f" {value}", value.encode().hex())
        )
    else:
        parent[key] = rng.choice(VALUES)()


def _odd_text(data: bytes, rng: Random) -> bytes:
    deep = rng.choice((60, 900, 5_000, 100_000))
    return rng.choice(
        (
            b"[" * deep + b"]" * deep,
            b'{"a":' * deep + b"1" + b"}" * deep,
            data.rstrip()[:-1] + b"," + data.rstrip()[-1:],
            data.replace(b'"', b"'"),
            data.replace(b":", b": [" + b"[" * deep, 1),
            b"\xef\xbb\xbf" + data,
            data + data,
            data.replace(b"{", b'{"a": 1, "a": 2, ', 1),
            data.replace(b"1", b"9" * 5000, 1),
            data.decode("utf-8", "replace").encode("utf-16"),
            b"null",
        )
    )
