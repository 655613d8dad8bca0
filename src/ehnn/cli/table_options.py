"""Options that say how a user's files are laid out; the same in train, predict and convert."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from ehnn.tables.layouts import Layout

_Text = Optional[str]  # noqa: UP045 (read at run time, also by Python 3.10)
Names = Optional[list[str]]  # noqa: UP045
OptionalPath = Optional[Path]  # noqa: UP045

LayoutName = Annotated[
    str,
    typer.Option(
        "--layout",
        help="pairs: a row per (node, set); sets: a row per set; matrix: a row per node, and a column of 0 "
        "and 1 per set; lines: a line per set, without a header; hif: HIF JSON; auto: detected.",
    ),
]
NodesFile = Annotated[
    OptionalPath, typer.Option("--nodes", help="CSV file with a row per node: labels, features.")
]
NodeColumn = Annotated[_Text, typer.Option(metavar="NAME", help="Column of node names.")]
EdgeColumn = Annotated[_Text, typer.Option(metavar="NAME", help="Column of set names.")]
MemberColumns = Annotated[
    Names,
    typer.Option(metavar="NAME ...", help="If a row is a set: the column of lists, or a column per member."),
]
SetColumns = Annotated[
    Names,
    typer.Option(metavar="NAME ...", help="If a row is a node: the columns of 0 and 1, one for each set."),
]
WeightColumn = Annotated[_Text, typer.Option(metavar="NAME", help="Column of the weight of a node in a set.")]
EdgeWeightColumn = Annotated[_Text, typer.Option(metavar="NAME", help="Column of the weight of a set.")]
Header = Annotated[
    bool,
    typer.Option("--header/--no-header", help="Does the first line name the columns? If not: 1, 2 …"),
]
Separator = Annotated[_Text, typer.Option(help="Separator of the members of a list.  [default: detected]")]
Delimiter = Annotated[_Text, typer.Option(help="Separator of the cells of a table.  [default: detected]")]
IdColumn = Annotated[
    _Text, typer.Option(metavar="NAME", help="Column of node names in the table of --nodes.")
]


def layout_from_options(given: Mapping[str, Any]) -> Layout:
    """The options of a command, by name, as a `Layout`; ``\\t`` may be written as such."""
    marks = {k: "\t" if given[k] == "\\t" else given[k] for k in ("separator", "delimiter")}
    return Layout(
        given.get("layout", "auto"), given["node_column"], given["edge_column"],
        tuple(given["member_columns"] or ()), **marks, sets=tuple(given["set_columns"] or ()),
        weight=given["weight_column"], edge_weight=given["edge_weight_column"], header=given["header"],
    )  # fmt: skip
