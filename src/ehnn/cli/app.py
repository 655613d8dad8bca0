"""The commands, by name. They are imported when they are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import typer

from ehnn import __version__

from .lazy import Lazy, LazyGroup, at
from .plugins import commands_of

DATASET_SEARCH = "tune-dataset"
"""What ``ehnn tune --dataset`` calls."""


def _others() -> dict[str, Lazy]:
    """The commands of other packages; one that searches on datasets goes by the option ``--dataset``."""
    found = commands_of()
    searches = found.pop("tune", None)
    if searches is not None:
        found[DATASET_SEARCH] = replace(searches, settings=searches.settings or {})
    return found


class Commands(LazyGroup):
    """Our commands, then those of other packages."""

    lazy: ClassVar[Mapping[str, Lazy]] = {
        "train": Lazy(at("ehnn.cli.train:train"), "Train a model on your own data."),
        "predict": Lazy(
            at("ehnn.cli.predict:predict"), "Predict with a model that was trained on your own data."
        ),
        "shard": Lazy(
            at("ehnn.cli.shard:shard"), "Cut tables that do not fit in memory into shards for several ranks."
        ),
        "explain": Lazy(
            at("ehnn.cli.explain:explain"), "Show which sets, co-members and columns moved a prediction."
        ),
        "tune": Lazy(at("ehnn.cli.tune:tune"), "Search the settings of a model on your own data."),
        "report": Lazy(at("ehnn.cli.report:report"), "Write a page about one or more runs."),
        "data": Lazy(at("ehnn.cli.data:data"), "Datasets: list, describe, download, convert."),
        "check": Lazy(
            at("ehnn.cli.check:check"), "Test that the installed layers are equivariant.", bare=True
        ),
        **_others(),
    }

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] == "tune" and any(arg.partition("=")[0] == "--dataset" for arg in args):
            args = [DATASET_SEARCH, *args[1:]]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    help="Learning on hypergraphs: predict labels of nodes, sets and hypergraphs.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # the same plain text in a terminal, a pipe and a log
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
def ehnn_options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"ehnn {__version__}")
        raise typer.Exit
