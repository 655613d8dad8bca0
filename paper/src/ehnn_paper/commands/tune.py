"""``ehnn tune``: search hyperparameters of node classification, on validation accuracy alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from ehnn.cli.errors import FAILED, choose, fail, pick_device, readable_errors
from ehnn.cli.table_options import OptionalPath

OptionalCount = Optional[int]  # noqa: UP045 (read at run time, also by Python 3.10)


def tune(
    dataset: Annotated[str, typer.Option(help="A name of `ehnn data list`.")],
    model: Annotated[str, typer.Option(help="A model of `ehnn reproduce nodes`.")],
    sampler: Annotated[
        str, typer.Option(help="grid: every point of the paper's grid; tpe: the best part.")
    ] = "grid",
    trials: Annotated[
        OptionalCount, typer.Option(min=1, show_default="the whole grid", help="Points to try.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Splits per point, trained side by side.")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of each run.")] = 500,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    storage: Annotated[
        OptionalPath, typer.Option(show_default="runs/tune/DATASET.sqlite", help="SQLite file of the search.")
    ] = None,
    data_dir: Annotated[
        OptionalPath, typer.Option(show_default="$EHNN_DATA, then the cache", help="Folder of the raw files.")
    ] = None,
) -> None:
    """Search hyperparameters with Optuna; test nodes are never scored.

    Stop at any time: the same command goes on. Started several times at once, the processes share the work.

    \b
    ehnn tune --dataset zoo --model ehnn-mlp
    """
    from ehnn.datasets import card
    from ehnn_paper.nodes.config import MODELS
    from ehnn_paper.nodes.tune import SAMPLERS, best_settings, tried
    from ehnn_paper.nodes.tune import tune as search

    choose("model", model, MODELS)
    choose("sampler", sampler, SAMPLERS)
    with readable_errors(resume="Run the same command to continue."):
        name = card(dataset).name
        path = storage or Path("runs") / "tune" / f"{name}.sqlite"
        try:
            study = search(
                name, model, storage=path, sampler=sampler, trials=trials, runs=runs, epochs=epochs,
                device=pick_device(device), data_dir=data_dir,
            )  # fmt: skip
        except ImportError as error:
            fail(str(error), FAILED)
        typer.echo(
            f"best validation accuracy: {study.best_value:.2f} %  ({tried(study, sampler)} points in {path})"
        )
        for key, value in study.best_params.items():
            typer.echo(f"{key}: {value}")
        typer.echo(f"settings: {best_settings(study, name, model)}")
