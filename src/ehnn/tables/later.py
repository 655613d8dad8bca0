"""Tables that a fitted model is asked about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph

from .alike import known_as
from .frames import is_frame
from .hif import is_hif
from .layouts import Layout, is_split_by, open_table
from .merged import Merged, marked
from .reader import Reader, Source
from .sheet import Sheet

SHARE, PASSES = 100, 10
"""New rows are joined to those of training a few at a time: one for so many, in at most so many parts."""


@dataclass(frozen=True)
class Part:
    """Rows that are predicted at once.

    Attributes:
        h: the hypergraph that they are in.
        rows: numbers of nodes, hyperedges or incidences of ``h``.
        places: which of the rows that are asked about they are.
    """

    h: Hypergraph
    rows: np.ndarray
    places: np.ndarray


@dataclass(frozen=True)
class Asked:
    """What to predict.

    Attributes:
        names: of the rows: ``(node,)``, ``(set,)`` or ``(node, set)``.
        parts: they hold each row once.
        remarks: on what was not there in training.
        lines: of nodes within sets: which of the rows each line of a table of pairs is, -1 for none.
    """

    names: list[tuple[Any, ...]]
    parts: list[Part]
    remarks: list[str]
    lines: np.ndarray | None = None


def as_trained(reader: Reader, source: Source) -> Source:
    """``source`` with the layout of training, except where its own says something else.

    Its own alone counts for another kind of file.
    """
    source.check_id_column()
    said, trained = source.layout, reader.layout
    same_file = _kind(source.data, trained) in (trained.kind, "table")
    other = said.kind not in ("auto", trained.kind) or not same_file
    other |= bool(said.members) and trained.kind != "sets"
    other |= bool(said.sets) and trained.kind != "matrix"
    other |= bool(said.node) and trained.kind not in ("pairs", "matrix")
    if not other:
        given = {k: v for k, v in vars(said).items() if v and k not in ("kind", "header")}
        if trained.delimiter and not is_split_by(source.data, trained.delimiter):
            given = {"delimiter": None} | given
        if trained.patterns:
            given = {"members" if trained.members else "sets": trained.patterns} | given
        said = replace(trained, **given, header=trained.header and said.header)
    return replace(
        source, layout=said, id_column=source.id_column or reader.id_column,
        edge_of_training=source.layout.edge is None,
    )  # fmt: skip


def _kind(data: Any, trained: Layout) -> str:
    """The kind of a later file; "table" where it is one that may be read as that of training was.

    A table may be in a file of text or JSON too: its columns tell.
    """
    kind = "auto" if is_frame(data) else Layout().of_file(Path(data)).kind
    if trained.kind not in ("pairs", "sets", "matrix"):
        return kind
    if kind == "lines":
        return "table" if _has_columns(data, trained) else kind
    return "table" if kind == "auto" or not is_hif(Path(data)) else kind


def _has_columns(path: Any, trained: Layout) -> bool:
    """Whether a file is a table with the columns in which members were in training."""
    try:
        found = open_table(path, header=trained.header).columns
    except ValueError:
        return False
    return {*filter(None, [trained.node]), *trained.members, *trained.sets} <= set(found)


def ask(reader: Reader, source: Source, alone: bool = False) -> Asked:
    """Read tables as those of training were read; ``alone``: what was known in training is left out.

    Raises:
        ValueError: the tables lack what the model reads.
    """
    reader.check(source)
    return ask_sheet(reader, source.read(loose=True), alone)


def ask_sheet(reader: Reader, sheet: Sheet, alone: bool = False) -> Asked:
    """The same for tables that were read."""
    new = reader.graph(sheet)
    node_names, edge_names = new.node_names or (), new.edge_names or ()
    remarks = reader.remarks(sheet)
    if alone or reader.known is None:
        rows = np.arange({"sets": new.num_edges, "nodes": new.num_nodes}.get(reader.task, new.num_incidences))
        parts = [Part(new, rows, rows)]
    else:
        joined = reader.join(sheet)
        parts = list(_parts(reader, joined, new))
        remarks += _strangers(reader, sheet, joined)
    if reader.task == "incidences":
        pairs = [(node_names[v], edge_names[e]) for v, e in new.index.T.tolist()]
        return Asked(pairs, parts, remarks, None if sheet.incidences is None else sheet.incidences.owner)
    names: list[tuple[Any, ...]] = [(name,) for name in (edge_names if reader.task == "sets" else node_names)]
    return Asked(names, parts, remarks)


def _parts(reader: Reader, joined: Merged, new: Hypergraph) -> Iterator[Part]:
    """Rows of the new table beside those of training, a few at a time.

    What a model reads of a row depends on how large its hyperedges are (of a set: how frequent its members
    are). Many new rows at once would change that for all. So the hyperedges (members) of training grow by a
    few new rows in each part; new hyperedges are whole in all parts. A row with the hyperedges (members) of
    training is predicted in the hypergraph of training, with the columns and weights that are known now.
    """
    known = reader.known
    assert known is not None
    side = 0 if reader.task == "nodes" else 1  # what is added: nodes, or sets
    index = joined.h.index.numpy()
    added = ~np.isin(
        marked(_keys(index, joined.h), joined.h), marked(_keys(known.index.numpy(), joined.h), known)
    )
    units = joined.nodes if side == 0 else joined.edges
    changed = np.zeros(joined.h.num_nodes if side == 0 else joined.h.num_edges, bool)
    changed[index[side][added]] = True
    changed[(known.num_nodes, known.num_edges)[side] :] = True
    same = ~changed[units]
    if same.any():
        yield _part(reader.task, _as_now(known, joined.h), units, same, joined, new)
    others = np.flatnonzero(~same)
    limit = (known.num_nodes, known.num_edges)
    moving = added & (index[1 - side] < limit[1 - side])
    size = max(-(-len(others) // PASSES), limit[side] // SHARE, 1) if moving.any() else len(others)
    for start in range(0, len(others), size or 1):
        chosen = np.zeros(len(units), bool)
        chosen[others[start : start + size]] = True
        here = np.zeros(len(changed), bool)
        here[units[chosen]] = True
        kept = ~moving | here[index[side]]
        yield _part(reader.task, _some(joined.h, kept), units, chosen, joined, new)


def _as_now(known: Hypergraph, joined: Hypergraph) -> Hypergraph:
    """The nodes, hyperedges and incidences of training with the columns and weights of ``joined``."""
    there, wanted = (_keys(h.index.numpy(), joined) for h in (joined, known))
    rows = torch.from_numpy(np.searchsorted(there, wanted))
    return known.replace(
        x=None if joined.x is None else joined.x[: known.num_nodes],
        edge_x=None if joined.edge_x is None else joined.edge_x[: known.num_edges],
        edge_weight=None if joined.edge_weight is None else joined.edge_weight[: known.num_edges],
        incidence_weight=None if joined.incidence_weight is None else joined.incidence_weight[rows],
    )


def _part(
    task: str, h: Hypergraph, units: np.ndarray, chosen: np.ndarray, joined: Merged, new: Hypergraph
) -> Part:
    if task != "incidences":
        return Part(h, units[chosen], np.flatnonzero(chosen))
    node, edge = new.index.numpy()
    places = np.flatnonzero(chosen[edge])
    wanted = np.stack([joined.nodes[node[places]], joined.edges[edge[places]]])
    return Part(h, np.searchsorted(_keys(h.index.numpy(), joined.h), _keys(wanted, joined.h)), places)


def _keys(index: np.ndarray, h: Hypergraph) -> np.ndarray:
    """A number for each (node, hyperedge), in the order of an index."""
    return index[1] * h.num_nodes + index[0]


def _some(h: Hypergraph, kept: np.ndarray) -> Hypergraph:
    """``h`` with some of its incidences."""
    if kept.all():
        return h
    mask = torch.from_numpy(kept)
    return Hypergraph.from_incidence(
        h.index[:, mask], h.num_nodes, h.num_edges, h.x, h.edge_x, edge_weight=h.edge_weight,
        incidence_weight=None if h.incidence_weight is None else h.incidence_weight[mask],
        roles=None if h.roles is None else h.roles[mask], node_names=h.node_names, edge_names=h.edge_names,
    ).replace(num_roles=h.num_roles)  # fmt: skip


def _strangers(reader: Reader, sheet: Sheet, joined: Merged) -> list[str]:
    """Remarks on nodes and sets that were not there in training."""
    assert reader.known is not None
    remarks = []
    known = reader.known
    for places, count, names, before, what in (
        (joined.nodes, known.num_nodes, sheet.h.node_names, known.node_names, "nodes"),
        (joined.edges, known.num_edges, sheet.h.edge_names, known.edge_names, "sets"),
    ):
        new = places >= count
        strange = [str((names or ())[i]) for i in np.flatnonzero(new).tolist()]
        if what == "sets":
            strange, again = _new_names(strange, sheet, set(map(str, before or ())), len(new))
            remarks += again
        if not strange:
            continue
        told = f"{sheet.path}: {len(strange)} of {len(new)} {what} were not there in training, "
        told += f"{short(strange[0], 60)} for one{known_as(strange, before or ())}"
        if new.all() and what == "nodes" and (joined.edges >= known.num_edges).all():
            told += f"{_hint(reader)}; they are judged by {_what_is_left(reader)} alone"
        remarks.append(told)
    return remarks


def _new_names(strange: list[str], sheet: Sheet, known: set[str], count: int) -> tuple[list[str], list[str]]:
    """The names of new sets that are new too, and a remark on others; numbers of rows are no names."""
    if sheet.layout.kind == "lines" or (sheet.layout.kind == "sets" and sheet.layout.edge is None):
        return [], []
    again = [name for name in strange if name in known]
    if not again:
        return strange, []
    told = f"{len(again)} of {count} sets were not there in training with these members"
    told += f", {short(again[0], 60)} for one; a known name with other members counts as a new set"
    return [name for name in strange if name not in known], [f"{sheet.path}: {told}"]


def _hint(reader: Reader) -> str:
    return " (are lists split as in training? --separator)" if reader.layout.kind in ("sets", "lines") else ""


def _what_is_left(reader: Reader) -> str:
    columns = bool(reader.node_features or reader.edge_features)
    return "their columns and the sizes of sets" if columns else "the sizes of sets"
