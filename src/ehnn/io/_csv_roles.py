"""Roles of nodes within hyperedges, from a column of a CSV file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ehnn._utils.validation import short
from ehnn.hypergraph.roles import MAX_ROLES

from ._csv_table import Table
from ._csv_values import NotNumbersError, parse

_SIDES = {"tail": 0, "head": 1}


def role_words(table: Table, name: str, rows: np.ndarray) -> tuple[str, ...]:
    """The words that are roles in a column, in the order of their numbers; () for sides and numbers."""
    texts = _texts(table, name, rows)
    if set(texts) <= set(_SIDES) or any(text.lstrip("-").isdecimal() for text in texts):
        return ()
    return tuple(sorted(texts))


def read_roles(
    table: Table, name: str, rows: np.ndarray, ends: tuple[np.ndarray, np.ndarray],
    words: Sequence[str] = (),
) -> np.ndarray:  # fmt: skip
    """``[rows]`` int64: the role of each incidence; ``ends`` are its node and its hyperedge.

    Whole numbers are roles. ``tail`` and ``head`` are 0 and 1; an incidence with a row for each is in both,
    which is 2. Other words are numbered as in ``words``, or else in sorted order.
    """
    cells = table.column(name)
    texts = _texts(table, name, rows)
    blank = np.flatnonzero(cells.where(lambda text: not text)[rows])
    if len(blank):
        raise ValueError(
            f"{table.place(int(rows[blank[0]]))}: column {short(name)} must name a role, is blank"
        )
    if not words and texts and set(texts) <= set(_SIDES):
        return _sides(np.array([_SIDES[str(text)] for text in cells.texts[cells.codes[rows]]]), ends)
    try:
        found = parse(table, name, rows, int)
    except NotNumbersError:
        if any(text.lstrip("-").isdecimal() for text in texts):
            raise
        number = {text: i for i, text in enumerate(words or sorted(texts))}
        new = cells.where(lambda text: text not in number)[rows]
        if new.any():
            row = int(rows[np.argmax(new)])
            raise ValueError(
                f"{table.place(row)}: column {short(name)} must be one of the roles {', '.join(number)}, got "
                f"{short(cells[row])}"
            ) from None
        found = np.array([number[str(text)] for text in cells.texts[cells.codes[rows]]], dtype=np.int64)
    wrong = np.flatnonzero((found < 0) | (found >= MAX_ROLES))
    if len(wrong):
        raise ValueError(
            f"{table.place(int(rows[wrong[0]]))}: column {short(name)} must be roles from 0 to "
            f"{MAX_ROLES - 1}, got {int(found[wrong[0]])}"
        )
    return found


def _texts(table: Table, name: str, rows: np.ndarray) -> list[str]:
    """The distinct texts of a column in ``rows``."""
    cells = table.column(name)
    return [str(text) for text in cells.texts[np.unique(cells.codes[rows])]]


def _sides(roles: np.ndarray, ends: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """``roles`` with 2 for the incidences that occur with both sides."""
    node, edge = ends
    _, pair = np.unique(edge * (int(node.max(initial=0)) + 1) + node, return_inverse=True)
    tails, heads = (np.isin(pair, pair[roles == side]) for side in (0, 1))
    return np.where(tails & heads, 2, roles)
