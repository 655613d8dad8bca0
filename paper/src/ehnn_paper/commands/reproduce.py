"""``ehnn reproduce``: a table of the paper, ours next to theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from ehnn.cli.errors import choose, pick_device, readable_errors
from ehnn.cli.table_options import Names, OptionalPath

from .experiments import EXPERIMENTS, Request

Count = Optional[int]  # noqa: UP045 (read at run time, also by Python 3.10)
Rate = Optional[float]  # noqa: UP045
Choice = Optional[bool]  # noqa: UP045


def reproduce(
    experiment: Annotated[
        str, typer.Argument(metavar="EXPERIMENT", help=f"One of: {', '.join(EXPERIMENTS)}.")
    ],
    models: Annotated[Names, typer.Option(metavar="NAME ...", help="These models only.")] = None,
    setting: Annotated[
        Names,
        typer.Option("--setting", "--datasets", metavar="NAME ...", help="These settings or datasets only."),
    ] = None,
    seeds: Annotated[
        Count,
        typer.Option(
            "--seeds",
            "--runs",
            min=1,
            help="Number of runs.",
            show_default="5; nodes 20; benchmark 10; matching 1",
        ),
    ] = None,
    epochs: Annotated[
        Count, typer.Option(min=1, help="Epochs of each run.", show_default="the paper's")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    out: Annotated[Path, typer.Option(help="Folder of the tables and the figure.")] = Path("results"),
    runs_dir: Annotated[Path, typer.Option(help="Folder of the checkpoints.")] = Path("runs"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Train again what is done or was stopped.")] = False,
    data_dir: Annotated[
        OptionalPath,
        typer.Option(help="Folder of the raw files.", show_default="$EHNN_DATA"),
    ] = None,
    amp: Annotated[bool, typer.Option("--amp", help="nodes: bfloat16 in the training step.")] = False,
    tf32: Annotated[bool, typer.Option("--tf32", help="nodes: TF32 products on a GPU.")] = False,
    group: Annotated[
        Count, typer.Option(min=1, help="nodes: the most runs side by side.", show_default="by memory")
    ] = None,
    iterations: Annotated[Count, typer.Option(min=1, help="willow, voc: steps of an epoch.")] = None,
    lr: Annotated[Rate, typer.Option(help="willow, voc: learning rate.")] = None,
    finetune: Annotated[
        Choice,
        typer.Option(
            "--finetune/--frozen", help="willow, voc: train the backbone too.", show_default="voc on a GPU"
        ),
    ] = None,
    minutes: Annotated[
        Rate,
        typer.Option(help="willow, voc: stop training after so long; others: begin nothing later."),
    ] = None,
    jobs: Annotated[Count, typer.Option(min=1, help="benchmark, graphs: trainings at once.")] = None,
    choices: Annotated[
        Count, typer.Option(min=1, help="benchmark, graphs: settings that each model may choose from.")
    ] = None,
    first_seed: Annotated[
        Count, typer.Option(min=0, help="benchmark, graphs: the first seed of splits or folds.")
    ] = None,
) -> None:
    """Train the models of a table of the paper and print it, ours next to the paper's.

    Each model and setting is written to OUT/EXPERIMENT.json and .csv as soon as it is done. Stop at any
    time: the same command goes on where it was.

    \b
    ehnn reproduce k-edge --seeds 5
    ehnn reproduce k-edge --models ehnn-mlp ehnn-mlp+ --setting extrapolation
    ehnn reproduce nodes --datasets zoo house-1 --models ehnn-mlp ehnn-transformer --runs 5
    ehnn reproduce benchmark --device cuda --jobs 8
    ehnn reproduce graphs --device cuda --jobs 8
    ehnn reproduce willow --models ehnn-mlp nhgm-v2
    ehnn reproduce voc --device cuda
    ehnn reproduce incidences --datasets outsider-cora --seeds 1
    ehnn reproduce edge-labels --minutes 30
    ehnn reproduce reactions --setting direction
    """
    run = EXPERIMENTS[choose("experiment", experiment, EXPERIMENTS)]
    asked = Request(
        models=models, settings=setting, seeds=seeds, epochs=epochs, device=pick_device(device), out=out,
        runs_dir=runs_dir, fresh=fresh, data_dir=data_dir, iterations=iterations, lr=lr, finetune=finetune,
        minutes=minutes, amp=amp, tf32=tf32, group=group, jobs=jobs, choices=choices, first_seed=first_seed,
    )  # fmt: skip
    with readable_errors(asked.resume):
        code = run(asked)
    raise typer.Exit(code)
