"""What was read from a file of sets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ehnn.hypergraph import Hypergraph
from ehnn.io._csv_table import Table

from .layouts import Layout


@dataclass
class Columns:
    """The columns of a table whose rows are about nodes, or about sets.

    ``owner`` (``[rows]``) has the number of the node or set of each row, -1 for none. ``what`` the rows are
    about ("node", "set") and the ``names`` of these are for messages.

    >>> import pandas as pd
    >>> from ehnn.tables import Layout, read_sheet
    >>> table = pd.DataFrame({"person": ["ann", "bo", "bo"], "club": ["chess", "chess", "tennis"]})
    >>> columns = read_sheet(table, Layout(node="person", edge="club")).nodes
    >>> columns.what, columns.owner.tolist()
    ('node', [0, 1, 1])
    """

    table: Table
    owner: np.ndarray = field(repr=False)
    what: str
    names: Sequence[Hashable] = field(repr=False)


class IncidenceNames(Sequence[Hashable]):
    """``(node, set)`` by name for each incidence, made when asked for."""

    def __init__(self, h: Hypergraph) -> None:
        self.h = h

    def __len__(self) -> int:
        return self.h.num_incidences

    def __getitem__(self, number: Any) -> Any:
        node, edge = self.h.index[:, number].tolist()
        return (self.h.node_names or ())[node], (self.h.edge_names or ())[edge]


@dataclass
class Sheet:
    """The result of `read_sheet`: a hypergraph ``h``, and the columns of its nodes, sets and incidences.

    It was read from ``path`` with the ``layout``. Names are text. ``nodes`` and ``edges`` are `Columns`, or
    None where the file has none; ``incidences`` has those of a node within a set, in the order of
    ``h.index``. ``line(edge)`` says where a set is in the file, for messages. ``id_column`` is that of a
    table of nodes, ``remarks`` are notes for the user, and ``digest`` is a checksum of the table.

    >>> import pandas as pd
    >>> from ehnn.tables import read_sheet
    >>> table = pd.DataFrame({"person": ["ann", "bo", "bo"], "club": ["chess", "chess", "tennis"]})
    >>> sheet = read_sheet(table, Layout(node="person", edge="club"))
    >>> sheet.h.edges(), sheet.h.edge_names
    ([[0, 1], [1]], ('chess', 'tennis'))
    """

    path: str
    layout: Layout
    h: Hypergraph
    nodes: Columns | None
    edges: Columns | None
    line: Callable[[int], str] = field(repr=False)
    id_column: str | None = None
    remarks: tuple[str, ...] = ()
    incidences: Columns | None = field(default=None, repr=False)
    digest: str = field(default="", repr=False)


def first_rows(owner: np.ndarray, count: int) -> np.ndarray:
    """``[count]`` the first row of each owner; -1 where it has none."""
    rows = np.flatnonzero(owner >= 0)
    first = np.full(count, -1)
    first[owner[rows][::-1]] = rows[::-1]
    return first
