"""Lists of names in the cells of a column or the lines of a file."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from ehnn._utils.validation import short
from ehnn.io._cells import NO_NAME
from ehnn.io._csv_table import Table

SEPARATORS = ("\t", ";", "|", ",")
_BROKEN = re.compile(r"[^\s;|,]\s*\n")
"""A line break in a cell that is between two members; one after ``;`` only makes the cell narrower."""
_LITERAL = re.compile(r"(\[.*\]|\{.*\}|\(.*\)|(frozenset|set|array|Index)\(.*\))\Z", re.DOTALL)
"""A cell that is a list in Python's or JSON's writing, or meant to be one."""
_TAGS = re.compile(r"(<[^<>]+>\s*)+")
"""Tags as Stack Exchange writes them: ``<python><pandas>``."""
_BETWEEN = re.compile(r"(?<=\s)(and|und|et|[^\w\s]+)(?=\s)")
"""A word or sign that people write between members: ``ann and bo``, ``H2 + O2``."""
_SIGN = re.compile(r"(?<=\w)[/+&·•~](?=\w)")
"""A sign within a word that may stand between two members: ``New York/Los Angeles``."""
_ADJACENT = re.compile(r"""['"]\s+['"]""")


class Lists(NamedTuple):
    """The members of each set, what stands between them in the file, and remarks for the user."""

    members: list[list[str]]
    separator: str | None
    remarks: list[str]


def split_lists(cells: list[str], separator: str | None, table: Table) -> Lists:
    """The lists in a column, ``a;b;c``, ``<a><b>`` or ``["a", "b"]`` of JSON and Python; what is between."""
    meant = [_LITERAL.match(cell) is not None for cell in cells if cell]
    if separator is None and 2 * sum(meant) > len(meant):
        return Lists([_literal(cell, row, table) for row, cell in enumerate(cells)], None, [])
    tags = [_TAGS.fullmatch(cell) is not None for cell in cells if cell]
    if separator is None and tags and all(tags):
        return Lists([re.findall(r"<([^<>]*)>", cell) for cell in cells], None, [])
    remarks: list[str] = []
    if separator is None:
        separator = separator_of(cells)
        told = [f"{table.path}: {why}" for why in between(separator, cells)]
        remarks = [*_rare(separator, cells), *told]
    if separator is None and any(len(cell.split()) > 1 for cell in cells):
        separator = " "
    lists = [cell.split(None if separator == " " else separator) for cell in cells]
    joined = [f"{table.path}: {told}" for told in joined_members(lists)]
    return Lists(lists, separator, [*remarks, *joined, *_alone(lists, table)])


def joined_members(lists: list[list[str]]) -> list[str]:
    """A remark where what is taken for a member holds others: cells may have different separators.

    >>> joined_members([["a", "b"], ["a, b"], ["c, d"]])
    ["'a, b' is taken for one member, and a part of it for another; write one separator in all cells"]
    """
    joined = joined_classes(list(dict.fromkeys(name.strip() for one in lists for name in one)))
    if joined is None:
        return []
    told = f"{short(joined)} is taken for one member, and a part of it for another"
    return [f"{told}; write one separator in all cells"]


def _alone(lists: list[list[str]], table: Table) -> list[str]:
    """A remark where no set has two members: what is between them may not have been seen."""
    if len(lists) < 3 or any(len(one) > 1 for one in lists):
        return []
    cell = next((one[0] for one in sorted(lists, key=len, reverse=True) if one), "")
    told = f"each set has one member at most, {short(cell)} for one; if the cells are lists: --separator"
    return [f"{table.path}: {told}"]


def _rare(separator: str | None, cells: list[str]) -> list[str]:
    """A remark where a separator was guessed and is in few cells: it may be a typing error."""
    holding = sum(separator in cell for cell in cells) if separator else 0
    if not separator or 2 * holding >= sum(map(bool, cells)):
        return []
    return [
        f"members are split at {separator!r}, which is in {holding} of {len(cells)} cells; another one: "
        "--separator"
    ]


def between(separator: str | None, cells: Sequence[str]) -> list[str]:
    """A remark where a separator was guessed and half of the lists have a word such as ``and`` in them."""
    if separator not in (None, ","):
        return []
    several = [cell for cell in cells if len(cell.split()) > 1]
    if separator is None and (told := _signs(several)):
        return [told]
    words = Counter(word for cell in several for word in set(_BETWEEN.findall(cell)))
    word, count = words.most_common(1)[0] if words else ("", 0)
    if count < 2 or 2 * count < len(several) or (separator and not word[0].isalpha() and word not in "&+"):
        return []
    taken = "a part of names" if separator else "a member"
    told = f"{word!r} is in {count} of {len(cells)} cells and is taken for {taken}"
    return [f"{told}; where it stands between members: --separator ' {word} '"]


def _signs(cells: Sequence[str]) -> str | None:
    """A remark where lists are split at spaces and half of them hold a sign that may separate members."""
    words = [[word for word in cell.split() if _SIGN.search(word)] for cell in cells]
    found = [own[0] for own in words if own]
    if 2 * len(found) < len(cells) or not found:
        return None
    sign = Counter(match[0] for word in found for match in _SIGN.finditer(word)).most_common(1)[0][0]
    word = next(word for word in found if sign in word)
    told = f"members are split at spaces, {short(word)} for one"
    return f"{told}; where {sign!r} stands between members: --separator '{sign}'"


def list_among(names: Sequence[str]) -> str | None:
    """The first of the ``names`` of a column that may be lists, if half of them are such.

    >>> list_among(["a;b", "b;c", "c"]), list_among(["['a', 'b']", "['c']"]), list_among(["a b", "c"])
    ('a;b', "['a', 'b']", None)
    """
    found = [name for name in names if name[:1] in ("[", "{") and _LITERAL.match(name)]
    for mark in ("\n", *SEPARATORS):
        if 2 * len(found) < max(len(names), 2):
            found = [name for name in names if mark in name]
            if mark == "," and all(name.count(",") == 1 for name in found):  # Roe, Ann
                return None
    return found[0] if 2 * len(found) >= max(len(names), 2) else None


def joined_classes(texts: Sequence[str]) -> str | None:
    """The first of some classes that holds others of them, such as ``a;b`` beside ``a``, or is a list.

    >>> joined_classes(["a", "a;b"]), joined_classes(["['a', 'b']", "['a']"]), joined_classes(["a, b", "c"])
    ('a;b', "['a', 'b']", None)
    """
    known = set(texts)
    for text in texts:
        if text[:1] in ("[", "{") and _LITERAL.match(text):
            return text
        for mark in ("\n", *SEPARATORS):
            parts = list(map(str.strip, text.split(mark)))
            if len(parts) > 1 and not known.isdisjoint(parts) and all(parts):
                return text
    return None


def separator_of(texts: Sequence[str]) -> str | None:
    """The first separator in a fifth of the texts that may be of several members; None is any white space.

    A line break, a semicolon or a bar counts where it is rarer too: names of several words do not hold one.
    So it does beside commas where these are part of names: ``Smith, John; Lee, Bo``.
    """
    several = [text for text in texts if len(text.split()) > 1 or any(s in text for s in SEPARATORS)]
    holding = {s: sum(s in text for text in several) for s in SEPARATORS}
    holding = {"\n": sum("\n" in text and _BROKEN.search(text) is not None for text in several)} | holding
    often = next((s for s, count in holding.items() if count * 5 >= len(several) > 0), None)
    rare = [s for s in ("\n", ";", "|") if holding[s]]
    if often == ",":
        return next((s for s in rare if _commas_in_names(s, several)), often)
    return often or next(iter(rare), None)


def _commas_in_names(separator: str, texts: Sequence[str]) -> bool:
    """Whether all that is between separators holds one comma, as in ``Smith, John; Lee, Bo``."""
    parts = [part for text in texts for part in text.split(separator) if part.strip()]
    return all(part.count(",") == 1 for part in parts)


def _literal(cell: str, row: int, table: Table) -> list[str]:
    """The names in ``["a", "b"]`` as JSON and Python write it; None and null are blanks."""
    if cell in NO_NAME:
        return []
    try:
        names = [_name(name) for name in _parsed(cell)]
        "".join(names).encode()  # half of a character could be written to no file
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        example = '["a", "b"]'
        raise ValueError(
            f"{table.place(row)}: {short(cell)} is not a list of names, such as {example}, as other cells are"
        ) from None
    return names


def _name(value: Any) -> str:
    if not isinstance(value, (str, int, float, type(None))):
        raise TypeError
    return "" if value is None else str(value)


def _parsed(cell: str) -> Sequence[Any]:
    try:
        found = json.loads(cell)
    except ValueError:
        if _ADJACENT.search(cell):  # as NumPy prints: Python would make one name of two
            raise
        found = ast.literal_eval(cell)
    if isinstance(found, str):  # ('ann')
        return [found]
    if isinstance(found, set):
        return sorted(found, key=str)
    if not isinstance(found, (list, tuple)):
        raise TypeError
    return found
