"""Names that may be meant to be one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable, Sequence

from ehnn._utils.validation import short
from ehnn.io._cells import is_missing

_LONGEST = 200
"""Characters of a name in which a count is sought."""
_MOST = 1000
"""New names for which a known one is sought."""

_NONE = frozenset(
    ("-", "--", ".", "n.a.", "missing", "unknown", "unlabeled", "unlabelled", "undefined", "\\n", "(null)")
) | frozenset(("(blank)", "#ref!", "#div/0!", "#value!", "#name?", "#num!"))
"""Ways to write that there is no value; the last are those of databases and spreadsheets."""


def says_none(text: str) -> bool:
    """Whether a text may be a way to say that there is none; such names and classes are pointed out.

    >>> [text for text in ("#N/A", "#REF!", "\\\\N", "unknown", "ann") if says_none(text)]
    ['#N/A', '#REF!', '\\\\N', 'unknown']
    """
    return is_missing(text) or text.strip().casefold() in _NONE


def plain_name(name: str, capitals: bool = False) -> str:
    """A name without what the eye does not tell apart: kinds of white space and forms of letters.

    Also without ``capitals``, unless they are kept.

    >>> plain_name("Mu\\u0308ller\\u00a0 X") == plain_name("MÜLLER x")
    True
    """
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
        name = "".join(c for c in name if unicodedata.category(c) != "Cf")
    return " ".join((name if capitals else name.casefold()).split())


_NUMBER = re.compile(r"0*(\d+)(?:\.0+)?")
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ]00:00(?::00(?:\.0+)?)?")


def writing(name: str, capitals: bool = False) -> str:
    """`plain_name` without zeros that do not change a whole number, and without midnight after a date.

    >>> writing("007"), writing("7.0"), writing("2024-05-01 00:00:00"), writing("A")
    ('7', '7', '2024-05-01', 'a')
    """
    plain = plain_name(name, capitals)
    found = _NUMBER.fullmatch(plain) or _MIDNIGHT.fullmatch(plain)
    return found[1] if found else plain


def alike_names(names: Sequence[Hashable], what: str, capitals: bool = False) -> list[str]:
    """A remark where names differ in what the eye does not tell apart, or in zeros, alone.

    ``capitals``: they tell names apart, as in programs.
    """
    first: dict[str, Hashable] = {}
    again = [
        (before, name)
        for name in names
        if (before := first.setdefault(writing(str(name), capitals), name)) is not name and before != name
    ]
    if not again:
        return []
    pair = " and ".join(map(short, again[0]))
    ways = f"{'' if capitals else 'capitals, '}white space, forms of letters or zeros"
    told = f"names of {what} that differ in {ways} alone"
    return [f"{told} count as different: {len(again)}, {pair} for one"]


_COUNTED = re.compile(
    r"(?P<name>.*\w)\s?([:=*×]|\s[xX]|\()\s?\d+([.,]\d+)?\)?|\d+\s?([*×]|[xX]\s)\s?(?P<other>.+)"
)
"""A name with how often it is there: ``milk:2``, ``milk x 2``, ``milk (2)``, ``2 x milk``."""


def counted_names(names: Sequence[Hashable]) -> list[str]:
    """A remark where names of members hold counts, which make several names of one."""
    found = [(name, match) for name in map(str, names) if (match := _COUNTED.fullmatch(name[:_LONGEST]))]
    if 2 * len(found) <= len(names):
        return []
    first: dict[str, str] = {}
    for name, match in found:
        if (before := first.setdefault(match["name"] or match["other"], name)) != name:
            told = f"{short(before)} and {short(name)} are two members; if the number says how often one"
            return [f"{told} is there, leave it out, or give a row per member with --weight-column"]
    return []


_WHOLE = re.compile(r"((?:0|[1-9]\d*))(\.0+)?")


def one_writing(lists: list[list[str]]) -> tuple[list[list[str]], list[str]]:
    """Names of members without ``.0``, and a remark, where all are whole numbers and some have it.

    Programs write 2 as 2.0 in a column with gaps.

    >>> one_writing([["1", "2.0"], ["2", ""]])[0]
    [['1', '2'], ['2', '']]
    """
    names = {name for row in lists for name in row if name}
    found = {name: match for name in names if (match := _WHOLE.fullmatch(name))}
    pointed = sorted(name for name, match in found.items() if match[2])
    if len(found) < len(names) or not 0 < len(pointed) < len(names):
        return lists, []
    plain = {name: match[1] for name, match in found.items()} | {"": ""}
    told = f"members are whole numbers, some with .0: {pointed[0]!r} is taken for {plain[pointed[0]]!r}"
    return [[plain[name] for name in row] for row in lists], [told]


def known_as(names: Iterable[str], known: Sequence[Hashable]) -> str:
    """A hint where one of ``names``, which are not known, is known in another writing.

    >>> known_as(["7.0"], ["6", "7"])
    "; '7' is known: write whole numbers in the same way in all tables, with .0 or without"
    """
    there = set(map(str, known))
    writings = {writing(name): name for name in there}
    new = (name for name in names if name not in there)
    found = ((name, writings.get(writing(name))) for name, _ in zip(new, range(_MOST), strict=False))
    name, other = next(((name, other) for name, other in found if other is not None), ("", ""))
    if not other:
        return ""
    if name.removesuffix(".0") == other.removesuffix(".0"):
        return f"; {other!r} is known: write whole numbers in the same way in all tables, with .0 or without"
    if name.isdecimal() and other.isdecimal():
        return f"; {other!r} is known: write them in the same way in all tables, with zeros before or without"
    return f"; {short(other)} is known, and {short(name)} is not: they are different names"
