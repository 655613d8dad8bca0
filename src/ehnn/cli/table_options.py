"""Options that say how a user's files are laid out; the same in train, predict and convert."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from .layouts import KINDS, Layout

_Text = Optional[str]  # noqa: UP045 (read at run time, also by Python 3.10)
Names = Optional[list[str]]  # noqa: UP045
OptionalPath = Optional[Path]  # noqa: UP045

LayoutName = Annotated[
    str,
    typer.Option(
        "--layout",
        help=f"auto, {', '.join(KINDS)}: a row per member, a row per set, a line per set and no header, HIF.",
    ),
]
NodesFile = Annotated[
    OptionalPath, typer.Option("--nodes", help="CSV file with a row per node: labels, features.")
]
NodeColumn = Annotated[_Text, typer.Option(metavar="NAME", help="Names of nodes; a row per member.")]
EdgeColumn = Annotated[_Text, typer.Option(metavar="NAME", help="Names of sets.")]
MemberColumns = Annotated[
    Names,
    typer.Option(metavar="NAME ...", help="A row per set: the column of lists, or a column per member."),
]
Separator = Annotated[_Text, typer.Option(help="Between the members of a list.  [default: found out]")]
Delimiter = Annotated[_Text, typer.Option(help="Between the cells of a table.  [default: found out]")]
IdColumn = Annotated[_Text, typer.Option(metavar="NAME", help="Names of nodes in the table of --nodes.")]


def layout_from(
    kind: str,
    node: str | None,
    edge: str | None,
    members: list[str] | None,
    separator: str | None,
    delimiter: str | None,
) -> Layout:
    """The options as a `Layout`; ``\\t`` may be written as such."""
    separator, delimiter = (text if text != "\\t" else "\t" for text in (separator, delimiter))
    return Layout(kind, node, edge, tuple(members or ()), separator, delimiter)
