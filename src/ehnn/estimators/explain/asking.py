"""From what a user asks about to numbers of rows in a hypergraph."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from ehnn._utils.optional import suggest
from ehnn._utils.validation import as_count, short
from ehnn.hypergraph import Hypergraph
from ehnn.tables.alike import known_as
from ehnn.tables.later import Asked

from ..labels import as_list, plain
from .explanation import Explanation, Explanations

MOST, INCIDENCES = 24, 10_000
"""Things of each kind that are tried, and incidences of a neighbourhood."""


class Questions(Protocol):
    """Explains rows of one hypergraph."""

    def explain(self, row: int, target: Any) -> Explanation:
        """Of one row, by number."""


def answer(
    rows: Any, make: Callable[[Hypergraph], Questions], asked: Asked | None, graph: Hypergraph | None,
    find: Callable[[Hypergraph, Sequence[Any]], list[int]], target: Any,
) -> Explanations:  # fmt: skip
    """Explanations of ``rows`` of the tables ``asked`` about, or of ``graph``."""
    if rows is None:
        raise ValueError("rows must say which predictions to explain, by name or number, got None")
    if asked is None:
        assert graph is not None
        pair = isinstance(rows, tuple) and len(rows) == 2 and not any(isinstance(v, tuple) for v in rows)
        names = [rows] if find is incidence_numbers and pair else graph.node_names or ()
        wanted = _listed(rows, names)
        questions = make(graph)
        return Explanations([questions.explain(row, target) for row in find(graph, wanted)])
    places = _places(asked, _listed(rows, asked.names))
    found: dict[int, Explanation] = {}
    for part in asked.parts:
        here = {int(place): int(row) for place, row in zip(part.places, part.rows, strict=True)}
        inside = [place for place in places if place in here]
        if inside:
            asking = make(part.h)
            found |= {place: asking.explain(here[place], target) for place in inside}
    return Explanations([found[place] for place in places])


def _listed(rows: Any, names: Container[Any]) -> list[Any]:
    """``rows`` as a list; a tuple is one row where it is one of ``names``."""
    rows = plain(rows)
    one = isinstance(rows, tuple) and rows in names
    return as_list([rows] if one or isinstance(rows, (str, int)) else rows, "rows")


def _places(asked: Asked, rows: Iterable[Any]) -> list[int]:
    """Which of the rows that a table asks about are meant."""
    number: dict[Any, int] = {}
    for i, name in enumerate(asked.names):
        number.setdefault(name[0] if len(name) == 1 else name, i)
    found = []
    for row in rows:
        key = tuple(map(plain, row)) if isinstance(row, (tuple, list)) else plain(row)
        if key not in number:
            raise ValueError(f"row {short(row)} is not in the table{_meant(key, asked.names)}")
        found.append(number[key])
    return found


def _meant(row: Any, names: Sequence[tuple[Any, ...]]) -> str:
    """A hint: the row in another writing, such as '0003' for '3', or one with a name like it."""
    parts = row if isinstance(row, tuple) else (row,)
    columns = zip(*names, strict=True)  # shorter or longer than what is asked where that is no row
    written = (known_as([str(part)], known) for part, known in zip(parts, columns, strict=False))
    near = (str(name[0] if len(name) == 1 else name) for name in names[:10_000])
    return next(filter(None, written), "") or suggest(str(row), near)


def places_of(rows: Any, lines: np.ndarray) -> Any:
    """``rows`` with incidences in place of numbers of rows of a frame, which are the incidences ``lines``."""

    def place(row: Any) -> Any:
        return int(lines[row]) if isinstance(row, int) and 0 <= row < len(lines) else row

    rows = plain(rows)
    single = rows is None or isinstance(rows, (str, int, tuple))
    return place(rows) if single else [place(row) for row in as_list(rows, "rows")]


def limits(most: Any, incidences: Any) -> tuple[int, int]:
    """The checked arguments of ``explain``."""
    return as_count(most, "most", 1), as_count(incidences, "neighbourhood", 1)


def incidence_numbers(h: Hypergraph, rows: Sequence[Any]) -> list[int]:
    """Numbers of incidences given as (node, hyperedge), by name or number, or as numbers in ``h.index``."""
    nodes = {plain(name): i for i, name in enumerate(h.node_names or range(h.num_nodes))}
    edges = {plain(name): i for i, name in enumerate(h.edge_names or range(h.num_edges))}
    node, edge = h.index.numpy()
    found = []
    for row in rows:
        if isinstance(row, int) and 0 <= row < h.num_incidences:
            found.append(row)
            continue
        pair = row if isinstance(row, (tuple, list)) and len(row) == 2 else (None, None)
        v, e = nodes.get(pair[0], -1), edges.get(pair[1], -1)
        place = np.flatnonzero((node == v) & (edge == e))
        if not len(place):
            raise ValueError(f"row {short(row)} is no (node, hyperedge) of the hypergraph")
        found.append(int(place[0]))
    return found
