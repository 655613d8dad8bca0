"""``ehnn data convert``: a hypergraph from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from .errors import choose, readable_errors
from .table_options import ColumnOptions, with_options

if TYPE_CHECKING:
    from ehnn.hypergraph import Hypergraph
    from ehnn.tables import Layout

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

    CSV and HIF that ehnn wrote keep features, labels and weights; other columns and attributes are left out.

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
        h = _read(source, reads, layout)
        _write(h, target, writes)
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


def _read(path: Path, kind: str, layout: Layout) -> Hypergraph:
    """Everything that the file carries, where ehnn wrote it; names and sets elsewhere."""
    from ehnn.io import read_csv, read_hif
    from ehnn.tables.layouts import open_table
    from ehnn.tables.sheets import read_sheet

    if kind == "hif":
        return read_hif(path)
    if kind == "csv":
        table = open_table(path, layout.delimiter, layout.header)
        found = layout.of_table(table)
        if (found.node, found.edge) == ("node", "edge") and table.delimiter:
            return read_csv(path, delimiter=table.delimiter)
    return read_sheet(path, layout).h


def _write(h: Hypergraph, path: Path, kind: str) -> None:
    from ehnn.io import write_csv, write_edge_lines, write_hif

    if kind == "hif":
        write_hif(h, path)
    elif kind == "csv":
        write_csv(h, path, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    else:
        named = h.node_names is not None
        write_edge_lines(h, path, separator=_separator(h), named=named)


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
        "weights": h.edge_weight is not None or h.incidence_weight is not None,
    }
    return [what for what, there in found.items() if there]
