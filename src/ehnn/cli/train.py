"""``ehnn train``: one model, on a task of the paper, a dataset, or your own data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from .errors import choose, device_to_keep, fail, readable_errors
from .lazy import LazyGroup
from .plugins import commands_of
from .table_options import ClassWeight, Names, NodesFile, TableOptions, with_options


class Tasks(LazyGroup):
    """The tasks by name."""

    lazy = commands_of("train")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = self.list_commands(ctx)
        if args[0] not in known:
            if ctx.params.get("data") is not None:
                one = "--data takes one file; --node-column, --edge-column and --label-column take one column"
                fail(f"{args[0]!r} is one too many: {one}; join files, and columns that name a set together")
            if Path(args[0]).is_file():
                fail(f"{args[0]!r} is a file: ehnn train --data {args[0]} --label-column …")
            choose("task", args[0], known)
        return super().resolve_command(ctx, args)


Count = Optional[int]  # noqa: UP045 (read at run time, also by Python 3.10)
Real = Optional[float]  # noqa: UP045
OWN = "the model's"

train = typer.Typer(cls=Tasks, invoke_without_command=True, no_args_is_help=True)


@train.callback()
@with_options
def own_data(
    *,
    context: typer.Context,
    data: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Your table of sets: CSV (also .gz), Parquet, JSON lines, HIF, or lines of names."),
    ] = None,
    label_column: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="NAME", help="Column to predict; a blank cell has no label."),
    ] = None,
    nodes: NodesFile = None,
    shards: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="DIR",
            help="In place of --data: the folder of `ehnn shard`; a rank of torchrun for each shard.",
        ),
    ] = None,
    stream_features: Annotated[
        bool,
        typer.Option(
            "--stream-features",
            help="With --shards: leave features that do not fit in memory in the files of the shards.",
        ),
    ] = False,
    task: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="What has the labels: nodes, sets, or incidences (a node within a set); "
            "hyperedges: learn which nodes form a set.",
            show_default="nodes; sets where a row is a set",
        ),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", show_default="a folder in runs/train", help="Folder of the run."),
    ] = None,
    table: TableOptions,
    feature_columns: Annotated[
        Names,
        typer.Option(
            metavar="NAME ...",
            help="Numbers or classes to learn from, of the nodes or sets that have labels; none: no column.",
            show_default="all others of --nodes",
        ),
    ] = None,
    regression: Annotated[bool, typer.Option("--regression", help="The label is a number.")] = False,
    model: Annotated[
        str,
        typer.Option(
            help="auto: simple and neural models are compared on held-out labels, and averaged; or one "
            "alone: ehnn-mlp, ehnn-transformer, or a baseline.",
        ),
    ] = "auto",
    budget: Annotated[
        str, typer.Option(help="Time for --model auto: fast, default, best, or a number of seconds.")
    ] = "default",
    width: Annotated[
        Count, typer.Option(min=1, show_default=OWN, help="Channels between the layers.")
    ] = None,
    dropout: Annotated[
        Real, typer.Option(min=0, max=1, show_default=OWN, help="Dropout between the layers.")
    ] = None,
    epochs: Annotated[Count, typer.Option(min=1, show_default=OWN, help="Largest number of epochs.")] = None,
    patience: Annotated[
        Count, typer.Option(min=1, show_default=OWN, help="Stop after this many epochs without a gain.")
    ] = None,
    lr: Annotated[Real, typer.Option(show_default=OWN, help="Learning rate.")] = None,
    weight_decay: Annotated[Real, typer.Option(show_default=OWN, help="Weight decay.")] = None,
    class_weight: ClassWeight = None,
    runs: Annotated[
        int, typer.Option(min=1, help="Split and train this many times; print mean ± deviation.")
    ] = 1,
    valid: Annotated[
        float, typer.Option(help="Share of labels (sets) that selects the epoch of a single model.")
    ] = 0.2,
    test: Annotated[float, typer.Option(help="Share of labels that is scored at the end.")] = 0.2,
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Seed of the split, the parameters and dropout.")
    ] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard an earlier run in this folder.")] = False,
) -> None:
    """Train a model on your own data, or on a task of the paper (the commands below).

    `--data` is a table of sets: a row per (node, set) pair, or a row or a line per set.
    Labels are in the same file or in a table with a row per node (`--nodes`). The folder gets the model,
    run.json with all figures, and the predictions. The same command continues a run that was stopped.

    \b
    ehnn train --data members.csv --node-column person --edge-column club --label-column team
    ehnn train --data baskets.csv --member-columns items --label-column kind --out runs/baskets
    ehnn train --data baskets.csv --task hyperedges
    ehnn train k-edge --model ehnn-mlp
    torchrun --nproc-per-node 2 -m ehnn train --shards shards --out runs/shards
    """
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return
    if shards is not None:
        from .train_shards import train_on_shards

        train_on_shards(context, shards)
        return
    if stream_features:
        fail("--stream-features goes with --shards")
    if data is None:
        fail("--data must name your file, or give a task: ehnn train --data FILE --label-column NAME")
    from ehnn.tables import Source

    from .train_table import Request, train_table

    given = {
        "width": width, "dropout": dropout, "epochs": epochs, "patience": patience, "lr": lr,
        "weight_decay": weight_decay, "class_weight": class_weight,
    }  # fmt: skip
    settings: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
    settings |= {"model": model, "budget": as_budget(budget), "device": device_to_keep(device)}
    columns = None if feature_columns is None else tuple(c for c in feature_columns if c != "none")
    with readable_errors(resume="Run the same command to continue."):
        source = Source(data, nodes, table.as_layout(), table.id_column)
        label = _only(label_column)
        request = Request(
            source, task, label, columns, regression, settings, valid, test, seed, runs
        )  # fmt: skip
        for remark in _unread(context, model):
            typer.echo(f"Note: {remark}", err=True)
        train_table(request, out, fresh)


def as_budget(text: str) -> str | float:
    """A name, or a number of seconds."""
    try:
        return float(text)
    except ValueError:
        return text


_OF_ONE_MODEL = ("lr", "weight_decay", "patience", "valid")


def _unread(context: typer.Context, model: str) -> list[str]:
    """Remarks on options that were given and that the model does not read.

    `HyperedgePredictor` reads all with ``auto``, whose networks are trained as a single one is.
    """
    of_auto = () if context.params["task"] == "hyperedges" else _OF_ONE_MODEL
    unread = of_auto if model == "auto" else ("budget",)
    return [f"{_option(n)} is not read with --model {model}" for n in _given(context) if n in unread]


def _given(context: typer.Context) -> list[str]:
    """Names of the options on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return [name for name, source in sources.items() if getattr(source, "name", "") == "COMMANDLINE"]


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _refuse_options(context: typer.Context) -> None:
    """Options before the name of a task would be lost."""
    given = _given(context)
    if given:
        option = _option(given[0])
        task = context.invoked_subcommand
        fail(f"{option} must follow the task: ehnn train {task} {option} …")


def _only(label_columns: list[str] | None) -> str | None:
    """Allow one label column: another would be read as a feature and often repeats the label."""
    if label_columns and len(label_columns) > 1:
        shown = ", ".join(label_columns)
        fail(f"--label-column is given {len(label_columns)} times ({shown}); train one at a time")
    return label_columns[0] if label_columns else None
