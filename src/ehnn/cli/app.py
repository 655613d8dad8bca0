"""The commands, by name."""

from __future__ import annotations

from typing import Annotated

import typer

import ehnn

from .bench import bench
from .check import check
from .data import data
from .match import match
from .predict import predict
from .report import report
from .reproduce import reproduce
from .train import train
from .tune import tune

app = typer.Typer(
    help="Learning on hypergraphs with every permutation-equivariant operation there is.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # the same plain text in a terminal, a pipe and a log
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.add_typer(train, name="train", short_help="Train a model on your own data, or on a task of the paper.")
app.command(short_help="Predict with a model that was trained on your own data.", no_args_is_help=True)(
    predict
)
app.command(short_help="Write a page about one or more runs.", no_args_is_help=True)(report)
app.command(short_help="Match the keypoints of two images.", no_args_is_help=True)(match)
app.add_typer(data, name="data")
app.command(short_help="Train a table of the paper; ours next to theirs.", no_args_is_help=True)(reproduce)
app.command(short_help="Search hyperparameters on validation data.", no_args_is_help=True)(tune)
app.command(
    short_help="Measure speed and memory.",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)(bench)
app.command(short_help="Test that the installed layers are equivariant.")(check)


@app.callback(invoke_without_command=True)
def ehnn_options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    if version:
        typer.echo(f"ehnn {ehnn.__version__}")
        raise typer.Exit
