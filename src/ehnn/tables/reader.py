"""How tables become a hypergraph with features: learned in training, kept with the model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.optional import suggest
from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph
from ehnn.io._cells import is_missing

from .columns import Feature, encode, feature_from, said, with_node_table
from .feature_doubts import far_numbers, first_of, new_texts
from .layouts import Layout
from .merged import Merged, merge
from .sheet import Columns, Sheet
from .sheets import digest_of, read_sheet

TASKS = ("nodes", "sets", "incidences", "hyperedges")
"""What has the label: nodes, sets, nodes within sets. ``"hyperedges"``: nothing has one."""

_ROUNDED = 1e-3
"""Standard deviations of a column by which single precision may change a number of it."""


@dataclass(frozen=True)
class Source:
    """The files or DataFrames to read, and how they are laid out.

    Attributes:
        data: the table of sets, a file or a DataFrame.
        nodes: a table of nodes, or None.
        layout: which columns of ``data`` mean what.
        id_column: the column of ``nodes`` that has their names.
        edge_of_training: ``layout.edge`` is that of training and was not given for ``data``, so that column
            may be missing there.

    >>> import pandas as pd
    >>> members = pd.DataFrame({"person": ["ann", "bo", "bo"], "club": ["chess", "chess", "tennis"]})
    >>> Source(members, layout=Layout(node="person", edge="club")).read().h.num_edges
    2
    """

    data: Any
    nodes: Any = None
    layout: Layout = field(default_factory=Layout)
    id_column: str | None = None
    edge_of_training: bool = False

    def read(self, loose: bool = False) -> Sheet:
        """What is in them; ``loose``: the column of the names of sets in training need not be there."""
        sheet = read_sheet(self.data, self.layout, loose and self.edge_of_training)
        return sheet if self.nodes is None else with_node_table(sheet, self.nodes, self.id_column)

    def check_id_column(self) -> None:
        """A ValueError where the column of names is said of no table of nodes."""
        if self.id_column is not None and self.nodes is None:
            raise ValueError(
                f"--id-column is for a table of nodes: give --nodes, or leave out {short(self.id_column)}"
            )

    def tables(self) -> list[Any]:
        return [self.data] if self.nodes is None else [self.data, self.nodes]

    def digest(self) -> str:
        """A sum over what is in all tables."""
        return hashlib.sha256("".join(map(digest_of, self.tables())).encode()).hexdigest()


@dataclass(frozen=True)
class Reader:
    """How tables are read.

    Attributes:
        task: one of `TASKS`.
        label: the column of labels; None for hyperedges.
        regression: whether labels are numbers.
        layout: of the table of sets, found out.
        id_column: of the table of nodes, None where there was none.
        node_features, edge_features: the columns that become ``x`` and ``edge_x``.
        digest: SHA-256 of the table of sets.
        known: the hypergraph of training, to which tables are joined that are read later.
    """

    task: str
    label: str | None
    regression: bool
    layout: Layout
    id_column: str | None
    node_features: tuple[Feature, ...]
    edge_features: tuple[Feature, ...]
    digest: str
    known: Hypergraph | None = None

    def columns(self, sheet: Sheet) -> Columns | None:
        """What is said about the things that have labels."""
        return {"sets": sheet.edges, "incidences": sheet.incidences}.get(self.task, sheet.nodes)

    def graph(self, sheet: Sheet) -> Hypergraph:
        """The hypergraph of a sheet with ``x`` and ``edge_x``."""
        _check_columns(self.node_features, sheet.nodes, sheet.path)
        _check_columns(self.edge_features, sheet.edges, sheet.path)
        of_nodes, of_sets = (None, None) if self.known is None else (self.known.x, self.known.edge_x)
        x = _encoded(self.node_features, sheet.nodes, sheet.h.num_nodes, of_nodes)
        edge_x = _encoded(self.edge_features, sheet.edges, sheet.h.num_edges, of_sets)
        return self._with_roles(sheet).replace(x=x, edge_x=edge_x)

    def _with_roles(self, sheet: Sheet) -> Hypergraph:
        """The hypergraph of a sheet with the number of roles of training, which must be enough."""
        h, known = sheet.h, self.known
        if known is None or (h.roles is None and known.roles is None):
            return h
        if h.roles is None or known.roles is None:
            which = "training had" if h.roles is None else "it has"
            raise ValueError(
                f"{sheet.path}: roles of nodes in sets must be as in training, {which} them alone"
            )
        if h.num_roles > known.num_roles:
            raise ValueError(
                f"{sheet.path}: roles must be below {known.num_roles} as in training, got {h.num_roles - 1}"
            )
        return h.replace(num_roles=known.num_roles)

    def remarks(self, sheet: Sheet) -> list[str]:
        """What a user should know about a later table: classes of features that are new."""
        known_x, known_edge_x = (None, None) if self.known is None else (self.known.x, self.known.edge_x)
        sides = (self.node_features, sheet.nodes, known_x), (self.edge_features, sheet.edges, known_edge_x)
        told: list[str] = []
        for features, columns, known in sides:
            if columns is not None:
                new = list(filter(None, [new_texts(feature, columns) for feature in features]))
                told += first_of(new, sheet.path, "have new texts")
                told += first_of(far_numbers(features, columns, known), sheet.path, "are like that")
        return [*told, *self._unnamed_sets(sheet), *self._other_columns(sheet)]

    def _unnamed_sets(self, sheet: Sheet) -> list[str]:
        """A remark where a later table lacks the column with the names of sets that training had."""
        name = self.layout.edge
        if (
            name is None
            or sheet.layout.edge is not None
            or sheet.edges is None
            or sheet.layout.kind != "sets"
        ):
            return []
        hint = suggest(name, sheet.edges.table.columns)
        told = f"there is no column {short(name)}, so sets are numbered by row; --edge-column names it"
        return [f"{sheet.path}: {told}{hint}"]

    def _other_columns(self, sheet: Sheet) -> list[str]:
        """Remarks where a later table has not the columns of members, or of sets, that training had."""
        own, trained = ((*layout.members, *layout.sets) for layout in (sheet.layout, self.layout))
        columns = sheet.edges or sheet.nodes
        if len(trained) < 2 or columns is None or sheet.layout.kind != self.layout.kind:
            return []
        what = "members" if sheet.layout.members else "sets"
        used = {*own, self.label, sheet.layout.node, sheet.layout.edge, sheet.layout.edge_weight}
        used |= {feature.column for feature in (*self.node_features, *self.edge_features)}
        unread = [c for c in columns.table.columns if c not in used]
        found = [
            (f"columns of {what} that training had not", [c for c in own if c not in trained], ""),
            (f"columns of {what} that are not there", [c for c in trained if c not in own], ""),
            ("columns that are not read", unread, f"; to read them as {what}: --{what[:-1]}-columns"),
        ]
        return [f"{sheet.path}: {told}: {short(names, 300)}{hint}" for told, names, hint in found if names]

    def check(self, source: Source) -> None:
        """A ValueError where a table of nodes is missing whose columns the model reads."""
        if self.id_column is not None and self.node_features and source.nodes is None:
            names = [feature.column for feature in self.node_features]
            more = f" and {len(names) - 5} more" if names[5:] else ""
            told = ", ".join(map(repr, names[:5]))
            raise ValueError(f"the model reads the columns {told}{more} of a table of nodes: give --nodes")

    def join(self, sheet: Sheet) -> Merged:
        """A later table beside that of training; a cell that it lacks is as it was in training."""
        new = self.graph(sheet)
        known = new if self.known is None else self.known
        nodes = said(self.node_features, sheet.nodes, new.num_nodes)
        edges = said(self.edge_features, sheet.edges, new.num_edges)
        return merge(known, new, self._identity(sheet), (nodes, edges))

    def _identity(self, sheet: Sheet) -> str:
        """Which sets are one; see `merge`. Sets without names are known by their place in one file alone."""
        named = sheet.layout.edge is not None or sheet.layout.kind in ("hif", "matrix")
        if not named and sheet.digest != self.digest:
            return "new"
        return "same" if self.task == "sets" else "named"

    def new_labels(self, sheet: Sheet, classes: list[Any]) -> str | None:
        """A remark where a table has labels that the model cannot know."""
        columns = self.columns(sheet)
        if columns is None or self.regression or self.label not in columns.table.columns:
            return None
        cells, known = columns.table.column(self.label), set(map(str, classes))
        new = cells.where(lambda cell: cell.removesuffix(".0") not in known and not is_missing(cell))
        if not new.any():
            return None
        row = int(np.argmax(new))
        return (
            f"{columns.table.place(row)}: class {short(cells[row])} was not there in training and cannot be "
            f"predicted; {new.sum()} rows have such a class"
        )

    # ------------------------------------------------------------------ saving

    def about(self) -> dict[str, Any]:
        """What goes to JSON."""
        own = {k: v for k, v in vars(self).items() if k not in ("layout", "known")}
        for name in ("node_features", "edge_features"):
            own[name] = [vars(feature) for feature in getattr(self, name)]
        names = None if self.known is None else [self.known.node_names, self.known.edge_names]
        roles = 1 if self.known is None else self.known.num_roles
        return {**own, "layout": asdict(self.layout), "known": names, "num_roles": roles}

    def tensors(self) -> dict[str, Tensor]:
        """What goes to the tensors."""
        if self.known is None:
            return {}
        kept = ("index", "x", "edge_x", "edge_weight", "incidence_weight", "roles")
        found = {name: getattr(self.known, name) for name in kept}
        return {f"known.{k}": v.contiguous() for k, v in found.items() if v is not None}

    @classmethod
    def restore(cls, about: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Reader:
        """Inverse of `about` and `tensors`."""
        layout = {**about["layout"]} | {
            n: tuple(about["layout"].get(n, ())) for n in ("members", "sets", "role_words", "patterns")
        }
        sides = {n: tuple(map(feature_from, about[n])) for n in ("node_features", "edge_features")}
        same = {n: about[n] for n in ("task", "label", "regression", "id_column", "digest")}
        if same["task"] not in TASKS:
            raise ValueError(f"there is no task {same['task']!r}")
        options: dict[str, Any] = {**sides, **same}
        return cls(layout=Layout(**layout), **options, known=_known(about, tensors))


def _known(about: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Hypergraph | None:
    if about["known"] is None:
        return None
    nodes, edges = map(tuple, about["known"])
    kept = ("x", "edge_x", "edge_weight", "incidence_weight", "roles")
    rows = {n: tensors.get(f"known.{n}") for n in kept}
    return Hypergraph.from_incidence(
        tensors["known.index"], len(nodes), len(edges), **rows, node_names=nodes, edge_names=edges
    ).replace(num_roles=about.get("num_roles", 1))


def _check_columns(features: tuple[Feature, ...], columns: Columns | None, path: str) -> None:
    """A ValueError for the columns of features that a table has not."""
    there: Collection[str] = () if columns is None else columns.table.columns
    missing = [feature.column for feature in features if feature.column not in there]
    if not missing:
        return
    where = path if columns is None else columns.table.top
    hint = suggest(missing[0], there) if len(missing) == 1 and not re.search(r"\d", missing[0]) else ""
    raise ValueError(
        f"{where}: the model reads the columns {short(missing, 300)}, which are not there; found "
        f"{short(list(there), 300)}{hint}; where nothing is known, add them with blank cells"
    )


def _encoded(
    features: tuple[Feature, ...], columns: Columns | None, count: int, known: Tensor | None
) -> Tensor | None:
    """``[count, channels]``, in the precision of training: single, unless it rounds differences away."""
    if not features:
        return None
    found = encode(features, columns, count)
    if known is not None:
        return found.to(known.dtype)
    single = found.to(torch.get_default_dtype())
    error, spread = (found - single).abs().amax(0), found.std(0, correction=0)
    return found if bool((error > _ROUNDED * spread).logical_and(spread > 0).any()) else single
