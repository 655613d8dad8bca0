"""Lists on the command line: ``--models a b``, ``--models a,b`` and ``--models a --models b`` are one.

Names of columns and of modes may hold commas: they are given apart.
"""

from __future__ import annotations

from collections.abc import Sequence

COLUMN_OPTIONS = ("--feature-columns", "--member-columns", "--set-columns")
WHOLE_OPTIONS = ("--modes", *COLUMN_OPTIONS)
LIST_OPTIONS = ("--models", "--setting", "--datasets", "--sizes", "--variants", *WHOLE_OPTIONS)


def expand_lists(arguments: Sequence[str]) -> list[str]:
    """Give each value of a list option a flag of its own, which is what the parser reads.

    >>> expand_lists(["reproduce", "k-edge", "--models", "a", "b,c", "--seeds", "2"])
    ['reproduce', 'k-edge', '--models', 'a', '--models', 'b', '--models', 'c', '--seeds', '2']
    >>> expand_lists(["reproduce", "k-edge", "--models", "--seeds", "2"])  # where one is missing
    ['reproduce', 'k-edge', '--models', '--seeds', '2']
    """
    found: list[str] = []
    flag = None
    bare: list[str] = []  # a list option that has no value yet; if it gets none, the parser will say so
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if argument.startswith("-"):
            found += bare
            flag = name if name in LIST_OPTIONS else None
            bare = [name] if flag is not None and not equals else []
            if flag is None or not equals:
                found += [argument] if flag is None else []
                continue
            argument = value
        found += [argument] if flag is None else _each(flag, argument)
        bare = []
    return found + bare


def _each(flag: str, values: str) -> list[str]:
    parts = [values] if flag in WHOLE_OPTIONS else values.split(",")
    return [part for value in parts if value for part in (flag, value)]
