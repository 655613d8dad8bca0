"""``ehnn data convert``: a hypergraph from one file format to another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from .errors import choose, readable_errors
from .table_options import ColumnOptions, with_options

if TYPE_CHECKING:
    from ehnn.hypergraph import Hypergraph
    from ehnn.io._csv_table import Table
    from ehnn.tables import Layout
    from ehnn.tables.sheet import Sheet

READABLE = ("csv", "pairs", "sets", "matrix", "lines", "hif")
WRITABLE = ("csv", "lines", "hif")
_ENDS = {
    ".csv": "csv", ".tsv": "csv", ".json": "hif", ".hif": "hif", ".txt": "lines", ".edges": "lines",
    ".dat": "lines", ".parquet": "csv", ".jsonl": "csv", ".ndjson": "csv",
}  # fmt: skip
Format = Optional[str]  # noqa: UP045


@with_options
def convert(
    *,
    source: Annotated[Path, typer.Argument(metavar="FROM", help="The file to read; it is not changed.")],
    target: Annotated[Path, typer.Argument(metavar="TO", help="The file to write.")],
    source_format: Annotated[
        Format,
        typer.Option("--from", help=f"One of {', '.join(READABLE)}.", show_default="by the end of the name"),
    ] = None,
    target_format: Annotated[
        Format,
        typer.Option("--to", help=f"One of {', '.join(WRITABLE)}.", show_default="by the end of the name"),
    ] = None,
    table: ColumnOptions,
    force: Annotated[bool, typer.Option("--force", help="Replace TO if it exists.")] = False,
) -> None:
    """Convert a hypergraph: CSV (a row per member or per set), lines of names, HIF JSON.

    CSV and HIF that ehnn wrote keep features, labels, weights and roles; other columns and attributes are
    left out.

    \b
    ehnn data convert members.csv members.hif.json --node-column person --edge-column club
    ehnn data convert baskets.txt baskets.csv
    """
    from .run_folder import check_target

    with readable_errors():
        reads = _format(source, source_format, "--from", READABLE)
        writes = _format(target, target_format, "--to", WRITABLE)
        check_target(target, [source], force)
        kind = "auto" if reads == "csv" else reads
        layout = table.as_layout(kind)
        h, roles = _read(source, reads, layout)
        _write(h, target, writes, roles)
    if h.roles is not None and not roles and writes == "csv":
        typer.echo("Note: roles are numbers; of a directed hypergraph 0 is tail, 1 head, 2 both", err=True)
    lost = _lost(h) if writes == "lines" else []
    if lost:
        typer.echo(f"Note: lines of names do not carry {', '.join(lost)}", err=True)
    typer.echo(f"Written: {target}, {h}")


def _format(path: Path, given: str | None, option: str, known: tuple[str, ...]) -> str:
    from ehnn.tables.layouts import end_of

    if given is not None:
        return choose("format", given, known)
    found = _ENDS.get(end_of(path))
    if found is None:
        what = f"the format of {path.name!r} is not known from its ending"
        raise ValueError(f"{what}; give {option}: {', '.join(known)}")
    return found


def _read(path: Path, kind: str, layout: Layout) -> tuple[Hypergraph, tuple[str, ...]]:
    """Everything that the file carries, where ehnn wrote it; names and sets elsewhere. And names of roles."""
    from ehnn.io import read_csv, read_hif
    from ehnn.tables.layouts import open_table
    from ehnn.tables.sheets import read_sheet

    if kind == "hif":
        h = read_hif(path)
        return h, _roles_of_hif(path, h.num_roles)
    if kind == "csv":
        table = open_table(path, layout.delimiter, layout.header)
        found = layout.of_table(table)
        if (found.node, found.edge) == ("node", "edge") and table.delimiter:
            h = read_csv(
                path, delimiter=table.delimiter, role=found.role, weight=found.weight,
                edge_weight=found.edge_weight,
            )  # fmt: skip
            return h, _roles_of_csv(table, found.role)
    sheet = read_sheet(path, layout)
    for remark in (*sheet.remarks, *_not_carried(sheet)):
        typer.echo(f"Note: {remark}", err=True)
    return sheet.h, sheet.layout.role_words


def _not_carried(sheet: Sheet) -> list[str]:
    """A remark on columns of a user's table that do not say who is in which set."""
    from ehnn._utils.validation import short

    side = sheet.edges or sheet.nodes
    left = [] if side is None or sheet.layout.kind == "hif" else list(side.table.columns)
    left = [column for column in left if column not in sheet.layout.named]
    return [f"{sheet.path}: columns that are not carried: {short(left, 300)}"] * bool(left)


def _roles_of_csv(table: Table, column: str | None) -> tuple[str, ...]:
    """The words in a column of roles; that of `write_csv` where none is named."""
    import numpy as np

    from ehnn.io._csv_roles import role_words

    column = column or "incidence_role"
    if column not in table.columns:
        return ()
    return role_words(table, column, np.flatnonzero(table.column(column).where(bool)))


def _roles_of_hif(path: Path, count: int) -> tuple[str, ...]:
    """Names of roles that `write_hif` wrote, in the order of their numbers; () if it did not."""
    from ehnn.io._support import read_text

    attributes = [record.get("attrs") or {} for record in json.loads(read_text(path))["incidences"]]
    names = {
        a["role"]: str(a["role_name"])
        for a in attributes
        if isinstance(a.get("role"), int) and "role_name" in a
    }
    return tuple(names[role] for role in range(count)) if set(names) == set(range(count)) else ()


def _write(h: Hypergraph, path: Path, kind: str, roles: tuple[str, ...]) -> None:
    from ehnn.io import write_csv, write_edge_lines, write_hif

    if kind == "hif":
        write_hif(h, path, role_names=roles)
    elif kind == "csv":
        write_csv(h, path, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", role_names=roles)
    else:
        named = h.node_names is not None
        write_edge_lines(h.replace(roles=None), path, separator=_separator(h), named=named)


def _separator(h: Hypergraph) -> str:
    """A separator that is in no name and that `read_sheet` would choose; white space where it can be."""
    from ehnn.tables.lists import SEPARATORS, separator_of

    names = list(map(str, h.node_names or ()))
    whole = "".join(names)
    if len(whole.split()) <= 1 and not any(s in whole for s in SEPARATORS):
        return " "
    for s in (";", "|", ","):
        lines = [s.join(names[v] for v in edge) for edge in h.edges() if edge]
        if s not in whole and '"' not in whole and separator_of(lines) == s:
            return s
    raise ValueError(
        "these node names cannot be written as lines: every separator occurs in a name; "
        "convert to .csv or .json"
    )


def _lost(h: Hypergraph) -> list[str]:
    """What a file of lines does not carry of ``h``."""
    found = {
        "names of sets": h.edge_names is not None,
        "nodes that are in no set": bool((h.degrees == 0).any()),
        "empty sets": bool((h.orders == 0).any()),
        "features": h.x is not None or h.edge_x is not None,
        "labels": h.y is not None,
        "roles": h.roles is not None,
        "weights": h.edge_weight is not None or h.incidence_weight is not None,
    }
    return [what for what, there in found.items() if there]
