"""How a file says which node is in which set: the few layouts that people have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ehnn.hypergraph.validate import short
from ehnn.io._csv_table import Table, check_delimiter, read_table
from ehnn.io._names import EDGE_COLUMNS, NODE_COLUMNS

KINDS = ("pairs", "sets", "lines", "hif")
MEMBERS = ("members", "nodes", "items")
_ENDS = {".json": "hif", ".hif": "hif", ".txt": "lines", ".edges": "lines", ".dat": "lines"}
_HINT = "; if each line is a set and there is no header: --layout lines"


@dataclass(frozen=True)
class Layout:
    """What is said about a file; what is not said (None, "auto") is found out from it.

    Attributes:
        kind: ``"pairs"``: a header, then a row per (node, set). ``"sets"``: a header, then a row per set.
            ``"lines"``: no header, a set per line. ``"hif"``: the Hypergraph Interchange Format.
        node, edge: columns of the names; ``edge`` of sets is optional.
        members: columns of ``"sets"``: one with a list, or several with a member each.
        separator: between the members of a list or line.
        delimiter: between the cells of a table.
    """

    kind: str = "auto"
    node: str | None = None
    edge: str | None = None
    members: tuple[str, ...] = ()
    separator: str | None = None
    delimiter: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("auto", *KINDS):
            raise ValueError(f"--layout must be one of {', '.join(('auto', *KINDS))}, got {self.kind!r}")
        if self.members and (self.node or self.kind == "pairs"):
            raise ValueError(
                "--member-columns is for a row per set, --node-column for a row per member: give one of them"
            )

        if self.node is not None and self.node == self.edge:
            raise ValueError(f"--node-column and --edge-column must be two columns, got {self.node!r} twice")

    def of_file(self, path: Path) -> Layout:
        """With the kind that the end of the name tells, if it tells one."""
        if self.kind != "auto" or self.members or self.node:
            return self
        return replace(self, kind=_ENDS.get(path.suffix.lower(), "auto"))

    def of_table(self, table: Table, loose: bool = False) -> Layout:
        """With the kind and the columns of a table; a ValueError says what has to be given.

        ``loose``: a column with the names of sets that is not there is not missed.
        """
        kind, node, members = self.kind, self.node, self.members
        if kind == "auto":
            paired = node or (_known(table, NODE_COLUMNS) and (self.edge or _known(table, EDGE_COLUMNS)))
            kind = "sets" if members or (not paired and _known(table, MEMBERS)) else "pairs"
        if kind == "sets":
            members = members or _wanted(table, MEMBERS)
            for name in members:
                table.column(name)
            edge = self.edge or _known(table, ("id", *EDGE_COLUMNS))
            if loose and edge not in table.columns:
                edge = None
            if edge is not None:
                table.column(edge)
            return replace(self, kind=kind, members=members, edge=edge)
        node = node or _known(table, NODE_COLUMNS)
        edge = self.edge or _known(table, EDGE_COLUMNS)
        if node is None or edge is None:
            raise ValueError(_which(table, node, edge))
        table.column(node), table.column(edge)
        return replace(self, kind=kind, node=node, edge=edge)


def open_table(path: Path, delimiter: str | None) -> Table:
    """The columns of a CSV file that has rows; the delimiter is found in the header."""
    delimiter = delimiter or sniff(path)
    check_delimiter(delimiter)
    try:
        table = read_table(path, delimiter)
    except ValueError as error:
        hint = _HINT if "cells, got" in str(error) else ""
        raise ValueError(f"{error}{hint}") from error
    if not table.size:
        raise ValueError(f"{path} has a header line and no rows")
    return table


def sniff(path: Path, choices: Iterable[str] = (",", ";", "\t")) -> str:
    """The most frequent delimiter of the first line outside quotes; the first choice where there is none."""
    with open(path, "rb") as file:
        line = file.readline(1 << 20).decode("utf-8-sig", "replace")
    plain = "".join(line.split('"')[::2])
    return max(choices, key=plain.count)


def _known(table: Table, names: Iterable[str]) -> str | None:
    """The column with one of ``names``, in any case."""
    lower = {column.lower(): column for column in reversed(list(table.columns))}
    return next((lower[name] for name in names if name in lower), None)


def _wanted(table: Table, names: Iterable[str]) -> tuple[str, ...]:
    found = _known(table, names)
    if found is None:
        raise ValueError(
            f"{table.path}: --member-columns must say where the members are; found {_columns(table)}"
        )
    return (found,)


def _which(table: Table, node: str | None, edge: str | None) -> str:
    have = f"{_columns(table)}"
    if node is None and edge is None:
        return (
            f"{table.path}: say where the sets are: --node-column and --edge-column (a row per member), or "
            f"--member-columns (a row per set); found {have}"
        )
    lacks, is_there = ("--edge-column", node) if edge is None else ("--node-column", edge)
    return f"{table.path}: {lacks} is missing beside {is_there!r}; found {have}"


def _columns(table: Table) -> str:
    return short(list(table.columns), 300)
