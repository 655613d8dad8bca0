"""Roles of nodes within hyperedges, from a column of a CSV file."""

from __future__ import annotations

import numpy as np

from ehnn._utils.validation import short
from ehnn.hypergraph.roles import MAX_ROLES

from ._csv_table import Table
from ._csv_values import NotNumbersError, parse

_SIDES = {"tail": 0, "head": 1}


def read_roles(table: Table, name: str, rows: np.ndarray, ends: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """``[rows]`` int64: the role of each incidence; ``ends`` are its node and its hyperedge.

    Whole numbers are roles. ``tail`` and ``head`` are 0 and 1; an incidence with a row for each is in both,
    which is 2. Other words are numbered in sorted order.
    """
    cells = table.column(name)
    texts = [str(text) for text in cells.texts[np.unique(cells.codes[rows])]]
    blank = np.flatnonzero(cells.where(lambda text: not text)[rows])
    if len(blank):
        raise ValueError(
            f"{table.place(int(rows[blank[0]]))}: column {short(name)} must name a role, is blank"
        )
    if texts and set(texts) <= set(_SIDES):
        return _sides(np.array([_SIDES[str(text)] for text in cells.texts[cells.codes[rows]]]), ends)
    try:
        found = parse(table, name, rows, int)
    except NotNumbersError:
        if any(text.lstrip("-").isdecimal() for text in texts):
            raise
        number = {text: i for i, text in enumerate(sorted(texts))}
        found = np.array([number[str(text)] for text in cells.texts[cells.codes[rows]]], dtype=np.int64)
    wrong = np.flatnonzero((found < 0) | (found >= MAX_ROLES))
    if len(wrong):
        raise ValueError(
            f"{table.place(int(rows[wrong[0]]))}: column {short(name)} must be roles from 0 to "
            f"{MAX_ROLES - 1}, got {int(found[wrong[0]])}"
        )
    return found


def _sides(roles: np.ndarray, ends: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """``roles`` with 2 for the incidences that occur with both sides."""
    node, edge = ends
    _, pair = np.unique(edge * (int(node.max(initial=0)) + 1) + node, return_inverse=True)
    tails, heads = (np.isin(pair, pair[roles == side]) for side in (0, 1))
    return np.where(tails & heads, 2, roles)
