"""The Hypergraph Interchange Format: attributes of nodes and edges as columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ehnn._utils.validation import short
from ehnn.io import read_hif
from ehnn.io._cells import Cells
from ehnn.io._csv_table import Table
from ehnn.io._names import factorize
from ehnn.io._support import read_text

from .layouts import NAMES_ITSELF, Layout, end_of
from .sheet import Columns, Sheet


class Attributes(Table):
    """The attributes of the nodes or edges of a HIF file, as columns of text."""

    def place(self, row: int) -> str:
        return f"{self.path}, record {row}"


def is_hif(path: Path) -> bool:
    """Whether JSON is in the format, and not a record per line or a list of records."""
    text = read_text(path).lstrip()
    if text.startswith("["):
        return False
    try:
        found = json.loads(text)
        return not isinstance(found, dict) or "incidences" in found
    except (ValueError, RecursionError):
        return "\n{" not in text


def check_options(path: Path, layout: Layout) -> None:
    """A ValueError where what is said of a table is said of a file in the format."""
    options = [*["--layout"] * (layout.kind != "auto"), *layout.columns()]
    if options and end_of(path) in (".json", ".hif") and _holds_incidences(read_text(path)):
        raise ValueError(f"{path} is HIF, which {NAMES_ITSELF}; leave out {', '.join(options)}")


def _holds_incidences(text: str) -> bool:
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "incidences" in found


def read_attributes(path: Path, layout: Layout) -> Sheet:
    """A HIF file with weights and directions; features and labels that ehnn wrote are columns."""
    h = read_hif(path).replace(x=None, edge_x=None, y=None, incidence_x=None)
    nodes, edges = (
        tuple(map(str, range(count) if names is None else names))
        for names, count in ((h.node_names, h.num_nodes), (h.edge_names, h.num_edges))
    )
    h = h.replace(node_names=nodes, edge_names=edges)
    data = json.loads(read_text(path))
    return Sheet(
        str(path), layout, h, _attributes(path, data, "node", nodes), _attributes(path, data, "edge", edges),
        lambda e: f"{path}, edge {short(edges[e])}",
    )  # fmt: skip


def _attributes(path: Path, data: dict[str, Any], what: str, names: Sequence[str]) -> Columns:
    records = data.get(f"{what}s", [])
    owner, _ = factorize([str(record[what]) for record in records], names)
    attributes = [record.get("attrs") or {} for record in records]
    keys = dict.fromkeys(chain.from_iterable(attributes))
    columns = {key: ["" if a.get(key) is None else str(a[key]).strip() for a in attributes] for key in keys}
    cells = {key: Cells.of(column) for key, column in columns.items()}
    table = Attributes(str(path), ",", cells, len(records), {})
    return Columns(table, owner, "set" if what == "edge" else what, names)
