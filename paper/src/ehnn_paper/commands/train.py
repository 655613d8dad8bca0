"""``ehnn train nodes``: options of node classification on a dataset of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from ehnn.cli.errors import pick_device, readable_errors


def train_nodes(
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
        typer.Option(show_default="the model's on this dataset", help="Weight decay."),
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
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Seed of the split, the parameters and dropout.")
    ] = 0,
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
    with readable_errors(resume="Run the same command to continue."):
        from .train_nodes import train_nodes as train

        train(
            dataset=dataset, model=model, width=width, epochs=epochs, lr=lr, weight_decay=weight_decay,
            dropout=dropout, seed=seed, parallel=parallel, ranks=ranks, device=where, directory=directory,
            data_dir=data_dir, dtype=dtype,
        )  # fmt: skip
