"""Names that may be meant to be one."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Hashable, Iterable, Sequence

from ehnn._utils.validation import short

_ZEROS = 20
"""Zeros that are tried before a number."""
_MOST = 1000
"""New names for which a known one is sought."""


def plain_name(name: str) -> str:
    """A name without what the eye does not tell apart: capitals, kinds of white space and forms of letters.

    >>> plain_name("Mu\\u0308ller\\u00a0 X") == plain_name("MÜLLER x")
    True
    """
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
        name = "".join(c for c in name if unicodedata.category(c) != "Cf")
    return " ".join(name.casefold().split())


def alike_names(names: Sequence[Hashable], what: str) -> list[str]:
    """A remark where names differ in what the eye does not tell apart alone."""
    first: dict[str, str] = {}
    again = [
        (before, name)
        for name in map(str, names)
        if (before := first.setdefault(plain_name(name), name)) != name
    ]
    if not again:
        return []
    pair = " and ".join(map(short, again[0]))
    told = (
        f"names of {what} that differ in capitals, white space or forms of letters alone count as different"
    )
    return [f"{told}: {len(again)}, {pair} for one"]


def known_as(names: Iterable[str], known: Sequence[Hashable]) -> str:
    """A hint where one of ``names``, which are not known, is known in another writing."""
    writings = {plain_name(str(name)): str(name) for name in known}
    numbers = set(map(str, known))
    for name, _ in zip(names, range(_MOST), strict=False):
        if hint := other_number(name, numbers):
            return hint
        if (other := writings.get(plain_name(name))) is not None:
            return f"; {short(other)} is known, and {short(name)} is not: they are different names"
    return ""


def other_number(name: str, known: Collection[Hashable]) -> str:
    """A hint where a name that is not known is known with, or without, ``.0`` or zeros before it."""
    other = name.removesuffix(".0") if name.endswith(".0") else f"{name}.0"
    if other in known:
        return f"; {other!r} is known: write whole numbers in the same way in all tables, with .0 or without"
    number = name.lstrip("0")
    if not name.isdecimal() or not number:
        return ""
    padded = next((z for k in range(_ZEROS) if (z := "0" * k + number) in known), None)
    if padded is None:
        return ""
    return f"; {padded!r} is known: write them in the same way in all tables, with zeros before or without"
