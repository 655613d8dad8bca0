"""How a file says which node is in which set: the few layouts that people have."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ehnn._utils.validation import short
from ehnn.io._csv_table import Table, check_delimiter, read_table
from ehnn.io._names import EDGE_COLUMNS, NODE_COLUMNS
from ehnn.io._support import read_text

from .frames import FrameTable, from_frame, is_frame, read_parquet, read_records
from .number_formats import is_number

KINDS = ("pairs", "sets", "matrix", "lines", "hif")
MEMBERS = ("members", "nodes", "items")
_ENDS = {".json": "hif", ".hif": "hif", ".txt": "lines", ".edges": "lines", ".dat": "lines"}
_PACKED = (".gz", ".bz2", ".xz")
_PARQUET, _RECORDS = (".parquet", ".pq"), (".jsonl", ".ndjson", ".json")
NAMES_ITSELF = "names its nodes, sets and weights itself"
_HINT = (
    "; if each line is a set and there is no header: --layout lines; if lines above the header are a title, "
    "leave them out"
)


@dataclass(frozen=True)
class Layout:
    """How a file of sets is laid out: its kind, and which columns have the names, members, weights and roles.

    What is None or "auto" is found out from the file.

    Attributes:
        kind: ``"pairs"``: a header, then a row per (node, set). ``"sets"``: a header, then a row per set.
            ``"matrix"``: a header, then a row per node, and a column of 0 and 1 for each set. ``"lines"``: no
            header, a set per line. ``"hif"``: the Hypergraph Interchange Format.
        node, edge: columns of the names; ``edge`` of sets and ``node`` of a matrix are optional.
        members: columns of ``"sets"``: one with a list, several with a member each, or several of 0 and 1,
            one for each member.
        one_hot: whether columns of members hold 0 and 1, found out in training.
        sets: columns of ``"matrix"``.
        patterns: ``members`` or ``sets`` as they were given, where that was by pattern: later tables may have
            other columns.
        weight, edge_weight: columns of the weights of incidences and of sets.
        role: column of the role of a node in a set, of ``"pairs"``: words, numbers from 0, or ``tail`` and
            ``head``. HIF has directions of its own.
        role_words: the words of that column in the order of their numbers, found out in training.
        header: whether the first line has the names of the columns; without it they are called 1, 2 …
        separator: between the members of a list or line.
        delimiter: between the cells of a table.

    >>> layout = Layout(node="person", edge="club")  # the kind is found out from the file
    >>> layout.kind, layout.node, layout.edge
    ('auto', 'person', 'club')
    """

    kind: str = "auto"
    node: str | None = None
    edge: str | None = None
    members: tuple[str, ...] = ()
    separator: str | None = None
    delimiter: str | None = None
    sets: tuple[str, ...] = ()
    weight: str | None = None
    edge_weight: str | None = None
    header: bool = True
    role: str | None = None
    role_words: tuple[str, ...] = ()
    one_hot: bool | None = None
    patterns: tuple[str, ...] = ()

    @property
    def named(self) -> set[str]:
        """The columns that it gives a meaning."""
        alone = (self.node, self.edge, self.weight, self.edge_weight, self.role)
        return {*filter(None, alone), *self.members, *self.sets}

    def __post_init__(self) -> None:
        if self.kind not in ("auto", *KINDS):
            raise ValueError(f"--layout must be one of {', '.join(('auto', *KINDS))}, got {self.kind!r}")
        for option, mark in (("separator", self.separator), ("delimiter", self.delimiter)):
            if mark == "":
                raise ValueError(f"--{option} must be one character or more, got ''; leave it out")
        if self.kind == "lines" and self.columns():
            raise ValueError(f"--layout lines has no columns: leave out {', '.join(self.columns())}")
        if self.kind == "hif" and self.columns():
            raise ValueError(f"HIF {NAMES_ITSELF}; leave out {', '.join(self.columns())}")
        if self.sets and (self.members or self.edge or self.kind not in ("auto", "matrix")):
            raise ValueError(
                "--set-columns is for a row per node and a column of 0 and 1 for each set: leave out "
                "--edge-column and --member-columns"
            )
        if self.members and (self.node or self.kind == "pairs"):
            raise ValueError(
                "--member-columns is for a row per set, --node-column for a row per member: give one of them"
            )
        if self.role and (self.members or self.sets or self.kind not in ("auto", "pairs")):
            raise ValueError("--role-column is for a row per member: give --node-column and --edge-column")
        self._check_weights()
        if self.node is not None and self.node == self.edge:
            raise ValueError(f"--node-column and --edge-column must be two columns, got {self.node!r} twice")

    def _check_weights(self) -> None:
        if self.sets or self.kind == "matrix":
            weights = {"--weight-column": self.weight, "--edge-weight-column": self.edge_weight}
            given = [option for option, column in weights.items() if column]
            if given:
                raise ValueError(
                    f"{' and '.join(given)}: a table with a column for each set has no weights; for weights, "
                    "give a row per member"
                )
        if self.weight and (self.members or self.kind == "sets"):
            raise ValueError(
                "--weight-column is for a row per member; for a weight per set: --edge-weight-column"
            )

    def columns(self) -> list[str]:
        """The options of columns that are given."""
        found = {
            "--node-column": self.node, "--edge-column": self.edge, "--member-columns": self.members,
            "--set-columns": self.sets, "--weight-column": self.weight,
            "--edge-weight-column": self.edge_weight, "--role-column": self.role,
        }  # fmt: skip
        return [option for option, column in found.items() if column]

    def of_file(self, path: Path) -> Layout:
        """With the kind that the end of the name tells, if it tells one."""
        if self.kind != "auto" or self.columns():
            return self
        return replace(self, kind=_ENDS.get(end_of(path), "auto"))

    def of_table(self, table: Table, loose: bool = False) -> Layout:
        """With the kind and the columns of a table; a ValueError says what has to be given.

        ``loose``: a column with the names of sets that is not there is not missed.
        """
        kind, node, members = self.kind, self.node, self.members
        if self.sets or kind == "matrix":
            return self._of_matrix(table)
        if kind == "auto":
            paired = node or (_known(table, NODE_COLUMNS) and (self.edge or _known(table, EDGE_COLUMNS)))
            kind = "sets" if members or (not paired and _known(table, MEMBERS)) else "pairs"
        if kind == "sets" and self.role:
            raise ValueError("--role-column is for a row per member: give --node-column and --edge-column")
        if kind == "sets":
            edge = self.edge or _known(table, ("id", *EDGE_COLUMNS))
            members = expand(table, members, edge) or _wanted(table, MEMBERS)
            if loose and edge not in table.columns:
                edge = None
            if edge is not None:
                table.column(edge)
            patterns = self.members if set(self.members) - set(members) else ()
            return replace(self, kind=kind, members=members, edge=edge, patterns=patterns)
        node = node or _known(table, NODE_COLUMNS)
        edge = self.edge or _known(table, EDGE_COLUMNS)
        if node is None or edge is None:
            raise ValueError(_which(table, node, edge))
        table.column(node), table.column(edge)
        return replace(self, kind=kind, node=node, edge=edge)

    def _of_matrix(self, table: Table) -> Layout:
        if not self.sets:
            raise ValueError(
                f"{table.path}: --set-columns must name the columns of 0 and 1, one for each set, or give a "
                f"pattern such as 'club_*'; found {found_columns(table)}"
            )
        node = self.node or _known(table, ("id", "name", *NODE_COLUMNS))
        sets = expand(table, self.sets, node)
        if node is not None:
            table.column(node)
        patterns = self.sets if set(self.sets) - set(sets) else ()
        return replace(self, kind="matrix", node=node, sets=sets, patterns=patterns)


def expand(table: Table, names: Iterable[str], beside: str | None = None) -> tuple[str, ...]:
    """Columns by name or by pattern, such as ``word_*``; a ValueError for a name that is not there.

    No pattern means the column ``beside`` them.
    """
    found: dict[str, None] = {}
    for name in names:
        matching = [c for c in fnmatch.filter(table.columns, name) if c != beside]
        alike = [name] if name in table.columns else matching
        if not alike:
            table.column(name)  # raises
        found |= dict.fromkeys(alike)
    return tuple(found)


def end_of(path: Path) -> str:
    """The end of a file's name, in lower case, before ``.gz``, ``.bz2`` or ``.xz``."""
    return next((end for end in map(str.lower, reversed(path.suffixes)) if end not in _PACKED), "")


def open_table(
    data: Any, delimiter: str | None = None, header: bool = True, name: str = "the table"
) -> Table:
    """The columns of a file or DataFrame that has rows; the delimiter is found in the first line.

    ``name`` is that of a DataFrame in messages.
    """
    check_source(data, name)
    table = from_frame(data, name) if is_frame(data) else _open_file(Path(data), delimiter, header)
    if not table.size:
        raise ValueError(f"{table.path} has a header line and no rows")
    _check_second_header(table)
    again = np.ones(table.size, bool)
    for column, cells in table.columns.items():
        again &= cells.where((column, "\ufeff" + column).__contains__)  # with a mark where files were joined
    if table.header and len(table.columns) > 1 and again.any():
        row = int(np.argmax(again))
        raise ValueError(f"{table.place(row)}: the row repeats the names of the columns; leave it out")
    return table


_RULE = re.compile(r"[-=:+]{2,}")
_IMPORT_ID = '{"ImportId":'
"""How a cell of the third line of a survey of Qualtrics begins."""


def _check_second_header(table: Table) -> None:
    """A ValueError where lines below the header are part of it."""
    for row in range(min(2, table.size)):
        cells = [column[row] for column in table.columns.values()]
        if cells and all(map(_RULE.fullmatch, cells)):
            raise ValueError(f"{table.place(row)}: the line holds no names; leave it out")
        if any(cell.startswith(_IMPORT_ID) for cell in cells):
            raise ValueError(
                f"{table.place(row)}: Qualtrics repeats here what the columns are; leave out the lines below "
                f"the header, from {table.place(0)}"
            )


def check_source(data: Any, name: str = "the table") -> None:
    """A ValueError for what is neither a file nor a DataFrame."""
    if not is_frame(data) and not isinstance(data, (str, os.PathLike)):
        raise ValueError(
            f"{name} must be a file, or a DataFrame of pandas, polars or pyarrow, got {type(data).__name__}"
        )


def _open_file(path: Path, delimiter: str | None, header: bool) -> Table:
    if end_of(path) in _PARQUET:
        return read_parquet(path)
    if end_of(path) in _RECORDS:
        return read_records(path)
    delimiter = delimiter or sniff(path)
    check_delimiter(delimiter)
    try:
        return read_table(path, delimiter, header)
    except ValueError as error:
        hint = _HINT if "cells, got" in str(error) else ""
        raise ValueError(f"{error}{hint}") from error


def sniff(path: Path, choices: Iterable[str] = (",", ";", "\t", "|")) -> str:
    """The most frequent delimiter of the first line outside quotes.

    Without any it is a space, if the first lines have the same number of words, at least 2; else the first
    choice.
    """
    lines = read_text(path)[: 1 << 20].splitlines()
    lines = [line for line in lines if line.strip()]
    if lines and lines[0][:4].lower() == "sep=" and len(lines[0].strip()) == 5:
        return lines[0].strip()[4]
    lines = [line for line in lines[:1000] if not line.startswith("#")] or lines
    if not lines:
        return ","
    plain = _unquoted(lines[0])
    best = max(choices, key=plain.count)
    words = {len(line.split()) for line in lines[:100]}
    return " " if best not in plain and len(words) == 1 and words.pop() > 1 else best


def is_split_by(data: Any, delimiter: str) -> bool:
    """Whether the first line of a file of text holds a delimiter; rows may hold others, as in ``4,3``."""
    if is_frame(data) or end_of(Path(data)) in (*_PARQUET, *_RECORDS):
        return True
    lines = read_text(data)[: 1 << 20].splitlines()
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    return delimiter in _unquoted(first)


def _unquoted(line: str) -> str:
    return "".join(line.split('"')[::2])


def _known(table: Table, names: Iterable[str]) -> str | None:
    """The column with one of ``names``, in any case."""
    lower = {column.lower(): column for column in reversed(list(table.columns))}
    return next((lower[name] for name in names if name in lower), None)


def _wanted(table: Table, names: Iterable[str]) -> tuple[str, ...]:
    found = _known(table, names)
    if found is None:
        raise ValueError(
            f"{table.path}: --member-columns must say where the members are; found {found_columns(table)}"
        )
    return (found,)


def _which(table: Table, node: str | None, edge: str | None) -> str:
    have = f"{found_columns(table)}"
    if node is None and edge is None:
        return (
            f"{table.path}: say where the sets are: --node-column and --edge-column (a row per member), "
            f"--member-columns (a row per set) or --set-columns (a row per node, a column per set); found "
            f"{have}{_no_header(table)}"
        )
    lacks, is_there = ("--edge-column", node) if edge is None else ("--node-column", edge)
    return f"{table.path}: {lacks} is missing beside {short(is_there)}; found {have}"


def _no_header(table: Table) -> str:
    """A hint where the names of the columns look like cells."""
    if not table.header or isinstance(table, FrameTable):
        return ""
    like_cells = sum(name in cells.texts or is_number(name) for name, cells in table.columns.items())
    if not like_cells:
        return ""
    return "; if the first line is no header: --no-header, and the columns are called 1, 2 …"


def found_columns(table: Table) -> str:
    """The names of the columns, for messages, and a hint at an index that may hold what is missing."""
    index = ", ".join(table.index) if isinstance(table, FrameTable) else ""
    hint = f"; its index {index} is no column: call reset_index()" if index else ""
    return f"{short(list(table.columns), 300)}{hint}"
