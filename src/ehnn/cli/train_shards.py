"""``ehnn train --shards``: training on the ranks of torchrun."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import typer

from .errors import fail, pick_device, readable_errors

LOST = 75
"""The exit status of a rank that lost another one: torchrun starts all of them again."""
_SETTINGS = (
    "model", "width", "dropout", "epochs", "patience", "lr", "weight_decay", "seed", "stream_features",
)  # fmt: skip
_ALLOWED = {*_SETTINGS, "shards", "out", "device"}


def train_on_shards(context: typer.Context, shards: Path) -> None:
    """Train with the options of ``ehnn train`` that were given."""
    given = _given(context)
    if others := sorted(set(given) - _ALLOWED):
        fail(f"--{others[0].replace('_', '-')} does not go with --shards: the shards hold labels and columns")
    out = Path(given.get("out", Path("runs") / "train" / shards.resolve().name))
    device = pick_device(context.params["device"])
    with readable_errors(resume="Run the same command to continue."):
        from ehnn import parallel
        from ehnn.parallel.files import read_manifest
        from ehnn.sharding import ShardRun, train_shards

        started = int(os.environ.get("WORLD_SIZE", 1))
        made = read_manifest(shards)["ranks"]
        if made != started:
            raise ValueError(
                f"{shards} holds {made} shards, but {started} ranks are running: "
                f"torchrun --nproc-per-node {made} -m ehnn train --shards {shards}"
            )
        settings: dict[str, Any] = {k: v for k, v in given.items() if k in _SETTINGS}
        if settings.get("model") == "auto":
            del settings["model"]
        try:
            result = train_shards(ShardRun(shards, **settings), out, device=device)
        except parallel.LostRankError as error:
            fail(str(error), LOST)
        if int(os.environ.get("RANK", 0)) == 0:
            typer.echo(f"best on validation: {result.best_valid[0]:.2f} % in epoch {result.best_epoch[0]}")
            typer.echo(f"test, chosen on validation: {result.selected()[0]:.2f} %")
            typer.echo(f"Written: {out}")
        parallel.stop()


def _given(context: typer.Context) -> dict[str, Any]:
    """The options on the command line."""
    source = context.get_parameter_source
    return {
        name: value
        for name, value in context.params.items()
        if str(getattr(source(name), "name", "")) == "COMMANDLINE"
    }
