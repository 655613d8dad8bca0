"""``ehnn train``: one model, on a task of the paper, a dataset, or your own data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from typer.core import TyperGroup

from .errors import choose, fail, pick_device, readable_errors
from .table_options import (
    Delimiter,
    EdgeColumn,
    IdColumn,
    LayoutName,
    MemberColumns,
    Names,
    NodeColumn,
    NodesFile,
    Separator,
    layout_from,
)
from .train_k_edge import train_k_edge


class Tasks(TyperGroup):
    """The tasks by name; a wrong one is told like every other wrong name."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            if Path(args[0]).is_file():
                fail(f"{args[0]!r} is a file: ehnn train --data {args[0]} --label-column …")
            choose("task", args[0], self.commands)
        return super().resolve_command(ctx, args)


train = typer.Typer(cls=Tasks, invoke_without_command=True, no_args_is_help=True)
train.command("k-edge", no_args_is_help=True)(train_k_edge)


@train.callback()
def own_data(
    context: typer.Context,
    data: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Your file of sets: CSV, lines of names, or HIF JSON."),
    ] = None,
    label_column: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="NAME", help="What to predict; blank where it is not known."),
    ] = None,
    nodes: NodesFile = None,
    task: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="nodes or sets: which of them have the labels; hyperedges: learn which nodes form a set.",
            show_default="nodes; sets where a row is a set",
        ),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", show_default="a folder in runs/train", help="Folder of the run."),
    ] = None,
    layout: LayoutName = "auto",
    node_column: NodeColumn = None,
    edge_column: EdgeColumn = None,
    member_columns: MemberColumns = None,
    separator: Separator = None,
    delimiter: Delimiter = None,
    id_column: IdColumn = None,
    feature_columns: Annotated[
        Names,
        typer.Option(
            metavar="NAME ...",
            help="Numbers or classes to learn from, of the nodes or sets that have labels; none: no column.",
            show_default="all others of --nodes",
        ),
    ] = None,
    regression: Annotated[bool, typer.Option("--regression", help="The label is a number.")] = False,
    places: Annotated[
        bool,
        typer.Option(
            "--places/--no-places",
            help="Learn who keeps company with whom, by the names of sets (of members, for labels of sets).",
        ),
    ] = True,
    model: Annotated[str, typer.Option(help="ehnn-mlp, ehnn-transformer, or a baseline.")] = "ehnn-mlp",
    width: Annotated[int, typer.Option(min=1, help="Channels between the layers.")] = 64,
    dropout: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(min=0, max=1, show_default="0.5; 0 for hyperedges", help="Between the layers."),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="The most steps over all data.")] = 200,
    patience: Annotated[int, typer.Option(min=1, help="Stop after so many epochs without a gain.")] = 30,
    lr: Annotated[float, typer.Option(help="Learning rate.")] = 3e-3,
    weight_decay: Annotated[float, typer.Option(help="Added to the gradient.")] = 0.0,
    valid: Annotated[float, typer.Option(help="Share of labels (sets) that selects the epoch.")] = 0.2,
    test: Annotated[float, typer.Option(help="Share that is scored at the end.")] = 0.2,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of split, parameters and dropout.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    fresh: Annotated[bool, typer.Option("--fresh", help="Train again what is done or was stopped.")] = False,
) -> None:
    """Train a model on your own data, or on a task of the paper (the commands below).

    Your data are sets of names: `--data` has a row per member (node and set), a row or a line per set.
    Labels are in the same file or in a table with a row per node (`--nodes`). The folder gets the model,
    run.json with all figures, and what was predicted; the same command goes on where it was stopped.

    \b
    ehnn train --data members.csv --node-column person --edge-column club --label-column team
    ehnn train --data baskets.csv --member-columns items --label-column kind --out runs/baskets
    ehnn train --data baskets.csv --task hyperedges
    ehnn train k-edge --model ehnn-mlp
    """
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return
    if data is None:
        fail("--data must name your file, or give a task: ehnn train --data FILE --label-column NAME")
    from .recipe import Files
    from .train_table import Request, train_table

    settings = {
        "model": model, "width": width, "epochs": epochs, "patience": patience, "lr": lr,
        "weight_decay": weight_decay, "device": pick_device(device),
        "dropout": (0.0 if task == "hyperedges" else 0.5) if dropout is None else dropout,
    }  # fmt: skip
    columns = None if feature_columns is None else tuple(c for c in feature_columns if c != "none")
    with readable_errors(resume="Run the same command to go on."):
        said = layout_from(layout, node_column, edge_column, member_columns, separator, delimiter)
        files = Files(data, nodes, said, id_column)
        request = Request(
            files, task, _only(label_column), columns, regression, places, settings, valid, test, seed
        )  # fmt: skip
        train_table(request, out, fresh)


def _refuse_options(context: typer.Context) -> None:
    """Options before the name of a task would be lost."""
    given = [
        name for name in context.params
        if str(getattr(context.get_parameter_source(name), "name", "")) == "COMMANDLINE"
    ]  # fmt: skip
    if given:
        option = "--" + given[0].replace("_", "-")
        task = context.invoked_subcommand
        fail(
            f"{option} stands before the task; the options of a task follow it: ehnn train {task} {option} …"
        )


@train.command("nodes", no_args_is_help=True)
def nodes(
    dataset: Annotated[str, typer.Option(help="A name of `ehnn data list`.")],
    model: Annotated[str, typer.Option(help="A model of `ehnn reproduce nodes`.")],
    width: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, show_default="the model's on this dataset", help="Channels between layers."),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Full-batch steps.")] = 500,
    lr: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(show_default="the model's on this dataset", help="Learning rate."),
    ] = None,
    weight_decay: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(show_default="the model's on this dataset", help="Added to the gradient."),
    ] = None,
    dropout: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(
            min=0,
            max=1,
            show_default="the model's on this dataset",
            help="Between the layers; 0 switches off that inside φ too.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of split, parameters and dropout.")] = 0,
    dtype: Annotated[str, typer.Option(help="float32 or float64.")] = "float32",
    parallel: Annotated[str, typer.Option(help="none, or partition: a shard of nodes per rank.")] = "none",
    ranks: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, help="Processes of --parallel partition."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    directory: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--out", show_default="a folder in runs/train", help="Checkpoint, metrics and model."),
    ] = None,
    data_dir: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(show_default="$EHNN_DATA, then the cache", help="Folder of the raw files."),
    ] = None,
) -> None:
    """Node classification on a dataset, on one process or several.

    \b
    ehnn train nodes --dataset zoo --model ehnn-mlp
    ehnn train nodes --dataset walmart-1 --model ehnn-mlp --parallel partition --ranks 2
    """
    where = pick_device(device)
    with readable_errors(resume="Run the same command to go on."):
        from .train_nodes import train_nodes

        train_nodes(
            dataset=dataset, model=model, width=width, epochs=epochs, lr=lr, weight_decay=weight_decay,
            dropout=dropout, seed=seed, parallel=parallel, ranks=ranks, device=where, directory=directory,
            data_dir=data_dir, dtype=dtype,
        )  # fmt: skip


def _only(label_columns: list[str] | None) -> str | None:
    """One at a time: another one would be read as a feature, and it often says the same."""
    if label_columns and len(label_columns) > 1:
        told = ", ".join(label_columns)
        fail(f"--label-column is given {len(label_columns)} times ({told}); train one at a time")
    return label_columns[0] if label_columns else None
