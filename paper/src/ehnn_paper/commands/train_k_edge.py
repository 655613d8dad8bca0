"""``ehnn train k-edge``: one model on k-edge identification, with options of your own."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Optional

import typer

from ehnn.cli.errors import choose, pick_device, readable_errors
from ehnn.training import TrainConfig, fit

from .trained import claim, keep_best


def train_k_edge(
    model: Annotated[str, typer.Option(help="A model of `ehnn reproduce k-edge` or `ablation`.")],
    setting: Annotated[str, typer.Option(help="seen, interpolation or extrapolation.")] = "seen",
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the parameters and dropout.")] = 0,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training hypergraphs.")] = 500,
    lr: Annotated[float, typer.Option(help="Learning rate.")] = 1e-3,
    weight_decay: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(show_default="the model's", help="Decoupled from the gradient."),
    ] = None,
    schedule: Annotated[str, typer.Option(help="constant or cosine.")] = "constant",
    patience: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, help="Stop after this many epochs without a gain."),
    ] = None,
    amp: Annotated[bool, typer.Option("--amp", help="bfloat16 in the forward pass.")] = False,
    compile: Annotated[
        bool, typer.Option("--compile", help="torch.compile; on a GPU instead of CUDA graphs.")
    ] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    directory: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--out", show_default="a folder in runs/train", help="Checkpoint, metrics and best model."
        ),
    ] = None,
) -> None:
    """k-edge identification: one model, best on validation.

    The folder gets metrics.jsonl, checkpoint.safetensors (the same command goes on from it) and
    best.safetensors, the parameters of the epoch with the best validation accuracy.

    \b
    ehnn train k-edge --model ehnn-transformer --epochs 300 --lr 0.002 --schedule cosine
    """
    from ehnn_paper.k_edge import KEdge
    from ehnn_paper.k_edge.recipes import EXPERIMENTS, SETTINGS

    choose("setting", setting, SETTINGS)
    recipes = EXPERIMENTS["ablation"] | EXPERIMENTS["k-edge"]
    recipe = recipes[choose("model", model, recipes)]
    where = pick_device(device)
    with readable_errors(resume="Run the same command to continue."):
        config = replace(
            recipe.config(epochs), lr=lr, schedule=schedule, patience=patience, amp=amp,
            compile=compile, cuda_graph=not compile,
            weight_decay=recipe.weight_decay if weight_decay is None else weight_decay,
        )  # fmt: skip
        folder = directory or _folder(setting, model, seed, config)
        with claim(folder, {"setting": setting, "model": model, "seed": seed} | config.to_dict()):
            result = fit(
                recipe.make, KEdge(setting, device=where), [seed], config, directory=folder, device=where,
                label=f"{model}, {setting}",
            )  # fmt: skip
            keep_best(result, folder, test_best=True)


def _folder(setting: str, model: str, seed: int, config: TrainConfig) -> Path:
    """A folder of its own for each set of options."""
    code = hashlib.sha256(repr(config).encode()).hexdigest()[:8]
    return Path("runs") / "train" / "k-edge" / setting / f"{model}-seed-{seed}-{code}"
