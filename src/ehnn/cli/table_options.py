"""Options that say how a user's files are laid out; the same in train, predict and convert."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional, get_type_hints

import typer

if TYPE_CHECKING:  # commands import what needs PyTorch when they run, so that --help is quick
    from ehnn.tables import Layout

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
    OptionalPath, typer.Option("--nodes", help="Table with a row per node: labels, features.")
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
RoleColumn = Annotated[
    _Text,
    typer.Option(metavar="NAME", help="Column of the role of a node in a set: words, or tail and head."),
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

ClassWeight = Annotated[
    _Text,
    typer.Option(
        metavar="balanced",
        show_default="each label weighs the same",
        help="Each class weighs the same, however rare it is.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """Which columns of a table hold what."""

    node_column: NodeColumn = None
    edge_column: EdgeColumn = None
    member_columns: MemberColumns = None
    set_columns: SetColumns = None
    role_column: RoleColumn = None
    weight_column: WeightColumn = None
    edge_weight_column: EdgeWeightColumn = None
    header: Header = True
    separator: Separator = None
    delimiter: Delimiter = None

    def as_layout(self, kind: str = "auto") -> Layout:
        """A `Layout`; ``\\t`` and ``\\n`` may be written as such."""
        from ehnn.tables import Layout

        marks = {"\\t": "\t", "\\n": "\n"}
        separator, delimiter = (marks.get(text or "", text) for text in (self.separator, self.delimiter))
        return Layout(
            kind, self.node_column, self.edge_column, tuple(self.member_columns or ()), separator, delimiter,
            sets=tuple(self.set_columns or ()), role=self.role_column, weight=self.weight_column,
            edge_weight=self.edge_weight_column, header=self.header,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TableOptions(ColumnOptions):
    """`ColumnOptions`, the layout of the table, and the names in the table of nodes."""

    layout: LayoutName = "auto"
    id_column: IdColumn = None

    def as_layout(self, kind: str | None = None) -> Layout:
        """A `Layout`."""
        return super().as_layout(kind or self.layout)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its parameter ``table`` (`ColumnOptions`), one by one, in its place.

    Typer reads the signature of a command, so that the options need not be written again in each.
    """
    own = inspect.signature(command, eval_str=True)
    kind = own.parameters["table"].annotation
    hints = get_type_hints(kind, include_extras=True)
    names = [f.name for f in fields(kind)]

    def run(**given: Any) -> None:
        table = kind(**{name: given.pop(name) for name in names})
        command(table=table, **given)

    parameters: list[inspect.Parameter] = []
    for parameter in own.parameters.values():
        found = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
        if parameter.name == "table":
            found = [
                inspect.Parameter(
                    f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name]
                )
                for f in fields(kind)
            ]
        parameters += found
    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run
