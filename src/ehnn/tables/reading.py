"""From tables to a hypergraph with labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ehnn._utils.optional import suggest
from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph

from .columns import values_of
from .doubts import no_sets
from .feature_doubts import doubtful_numbers, like_labels
from .features import choose_features
from .labels import class_remarks, none_remark, read_labels
from .layouts import Layout
from .reader import TASKS, Reader, Source
from .sheet import Sheet

NO_LABEL = "--label-column must say what to predict; to learn which nodes form a set: --task hyperedges"
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


@dataclass(frozen=True)
class TableData:
    """The result of `read`: a hypergraph with names, features and labels, which estimators take in `fit`.

    Attributes:
        h: with names, and the feature columns as ``x`` and ``edge_x``.
        y: labels of the nodes, of the hyperedges, or of the incidences in the order of ``h.index``; None
            where there is none.
        reader: reads later tables in the same way.
        sheet: the tables as they were read.
        remarks: what a user should know.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"person": ["ann", "bo", "bo"], "club": ["chess", "chess", "tennis"]})
    >>> table["team"] = ["red", "blue", "blue"]
    >>> found = read(table, "team", node_column="person", edge_column="club")
    >>> found.task, found.h.node_names, found.y
    ('nodes', ('ann', 'bo'), ['red', 'blue'])
    """

    h: Hypergraph
    y: list[Any] | None
    reader: Reader
    sheet: Sheet
    remarks: list[str]

    def __repr__(self) -> str:
        known = sum(v is not None for v in self.y or [])
        labels = "" if self.y is None else f", labels of {known} of {len(self.y)} {self.task}"
        remarks = f", {len(self.remarks)} in remarks" * bool(self.remarks)
        return f"TableData({self.h}{labels}{remarks})"

    @property
    def task(self) -> str:
        """``"nodes"``, ``"sets"``, ``"incidences"`` or ``"hyperedges"``; see `read`."""
        return self.reader.task


def read(
    data: Any,
    label_column: str | None = None,
    *,
    nodes: Any = None,
    task: str | None = None,
    regression: bool = False,
    feature_columns: Sequence[str] | None = None,
    id_column: str | None = None,
    **layout: Any,
) -> TableData:
    """Read a table of sets, and optionally a table of nodes, into a hypergraph with labels.

    >>> import pandas
    >>> table = pandas.DataFrame({"person": ["ann", "bob", "cy"], "club": ["x", "x", "y"], "team": [1, 0, 1]})
    >>> found = read(table, "team", node_column="person", edge_column="club")
    >>> found.h.edges(), found.h.node_names, found.y
    ([[0, 1], [2]], ('ann', 'bob', 'cy'), [1, 0, 1])

    Args:
        data: a file (CSV, also packed; Parquet, JSON lines, HIF, lines of names), or a DataFrame of pandas or
            polars, or a table of pyarrow.
        label_column: what to predict; blank where it is not known. None, with a ``task``, in a table that a
            model is asked about: ``predict`` gives its rows in the order of the names of ``h``.
        nodes: a table with a row per node.
        task: what has the label: ``"nodes"``, ``"sets"``, or ``"incidences"`` (a node within a set). None:
            found out. ``"hyperedges"``: there is no label.
        regression: the label is a number.
        feature_columns: columns to learn from, or patterns such as ``"word_*"``; None: all others of
            ``nodes``.
        id_column: names of the nodes in ``nodes``.
        layout: ``node_column``, ``edge_column``, ``member_columns``, ``set_columns``, ``role_column``,
            ``weight_column``, ``edge_weight_column``, ``separator``, ``delimiter``, ``header`` and
            ``layout``, as in the options of ``ehnn train``.

    Raises:
        ValueError: names the table, the line or row, the cause and what to do.
    """
    try:
        label, key = _column("label_column", label_column), _column("id_column", id_column)
        source = Source(data, nodes, layout_of(**layout), key)
        found = learn(source, label, task, regression, _columns(feature_columns))
    except ValueError as error:
        raise ValueError(in_python(str(error))) from error
    return replace(found, remarks=list(map(in_python, found.remarks)))


def layout_of(**given: Any) -> Layout:
    """A `Layout` from arguments that are called as the options of the command line."""
    names = {
        "layout": "kind", "node_column": "node", "edge_column": "edge", "member_columns": "members",
        "set_columns": "sets", "role_column": "role", "weight_column": "weight",
        "edge_weight_column": "edge_weight",
        "separator": "separator", "delimiter": "delimiter", "header": "header",
    }  # fmt: skip
    wrong = next((name for name in given if name not in names), None)
    if wrong is not None:
        raise ValueError(f"there is no argument {wrong!r}{suggest(wrong, names)}")
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in ("member_columns", "set_columns"):
            found[names[name]] = _columns(value)
        else:
            found[names[name]] = _column(name, value) if name.endswith("_column") else value
    return Layout(**{name: value for name, value in found.items() if value is not None})


def _column(argument: str, name: Any) -> str | None:
    """The name of a column, which is a number or a tuple in some DataFrames, as text."""
    if isinstance(name, (str, int, tuple, np.integer)):
        return str(name)
    if name is not None:
        raise ValueError(f"{argument} must be the name of one column, got {short(name)}")
    return None


def _columns(names: Any) -> tuple[str, ...] | None:
    """Names of columns as text; one alone need not be in a list."""
    if names is None:
        return None
    return (str(names),) if isinstance(names, (str, int)) else tuple(map(str, names))


def in_python(message: str) -> str:
    """Options of the command line as arguments of `read`."""
    message = message.replace("--no-header", "header=False")
    return _OPTION.sub(lambda match: match[1].replace("-", "_"), message)


def learn(
    source: Source,
    label: str | None,
    task: str | None = None,
    regression: bool = False,
    wanted: Sequence[str] | None = None,
) -> TableData:
    """Read tables for the first time: what columns hold is found out here."""
    _check_task(task, label, regression)
    source.check_id_column()
    sheet = source.read()
    task = task or _task(sheet, source, label)
    _check_label(label, sheet.layout)
    bare = Reader(task, label, regression, sheet.layout, sheet.id_column, (), (), sheet.digest)
    node_features, edge_features, remarks = choose_features(bare, sheet, source.nodes is not None, wanted)
    reader = replace(bare, node_features=node_features, edge_features=edge_features)
    h = reader.graph(sheet)
    y, more = (None, []) if label is None else _labels(reader, sheet, h)
    remarks = [*sheet.remarks, *(f"{sheet.path}: {told}" for told in no_sets(sheet.layout, h)), *remarks]
    return TableData(h, y, replace(reader, known=h), sheet, [*remarks, *more])


def _check_task(task: str | None, label: str | None, regression: bool) -> None:
    if task is not None and task not in TASKS:
        raise ValueError(f"--task must be one of {', '.join(TASKS)}, got {task!r}")
    if task == "hyperedges" and (label is not None or regression):
        raise ValueError(
            "--task hyperedges learns from the sets alone: leave out --label-column and --regression"
        )
    if label is None and task is None:
        raise ValueError(NO_LABEL)


def _check_label(label: str | None, layout: Layout) -> None:
    """The label must not be an input as well."""
    inputs = {
        "role-column": (layout.role,), "weight-column": (layout.weight,),
        "edge-weight-column": (layout.edge_weight,), "node-column": (layout.node,),
        "edge-column": (layout.edge,), "member-columns": layout.members, "set-columns": layout.sets,
    }  # fmt: skip
    for option, columns in inputs.items():
        if label is not None and label in columns:
            hint = "" if layout.header else "; the columns of --nodes have the names in its first line"
            raise ValueError(f"--{option}: {label!r} is the label, which would give the answer away{hint}")


def _task(sheet: Sheet, source: Source, label: str | None) -> str:
    """A label in a row per set is the set's; anywhere else it is a node's."""
    if sheet.edges is not None and sheet.layout.kind == "sets" and sheet.nodes is not None:
        there = [label in columns.table.columns for columns in (sheet.nodes, sheet.edges)]
        return "sets" if there == [False, True] else "nodes"
    if source.nodes is None and sheet.nodes is None and sheet.edges is None:
        raise ValueError(f"{sheet.path} has no columns for labels: give a table of nodes, --nodes")
    return "sets" if source.nodes is None and sheet.nodes is None else "nodes"


def _labels(reader: Reader, sheet: Sheet, h: Hypergraph) -> tuple[list[Any], list[str]]:
    columns = reader.columns(sheet)
    if columns is None:
        give = "a row per member" if reader.task == "incidences" else "--nodes"
        raise ValueError(f"{sheet.path} says nothing about {reader.task}: give {give}")
    count = {"sets": h.num_edges, "incidences": h.num_incidences}.get(reader.task, h.num_nodes)
    shared = reader.task == "nodes" and sheet.edges is not None and sheet.edges.table is columns.table
    hint = "; for labels of sets: --task sets; of nodes within sets: --task incidences" if shared else ""
    assert reader.label is not None
    other = sheet.incidences or sheet.edges
    if other is not None and reader.label in set(other.table.columns) - set(columns.table.columns):
        raise ValueError(
            f"{columns.table.path}: there is no column {reader.label!r}; {other.table.path} "
            "has it: put it into the table of nodes"
        )
    y = read_labels(columns, reader.label, count, reader.regression, hint)
    told = [*filter(None, [none_remark(columns.table.column(reader.label))]), *class_remarks(y)]
    if reader.regression:
        odd = doubtful_numbers(values_of(columns, reader.label, count), columns.table)
        told = [odd] if odd else []
    of_labels = {"sets": (sheet.edges, reader.edge_features), "nodes": (sheet.nodes, reader.node_features)}
    about, features = of_labels.get(reader.task, (None, ()))
    same = [] if about is None else like_labels(features, about, y)
    return y, [*(f"{columns.table.path}: column {reader.label!r} has {remark}" for remark in told), *same]
