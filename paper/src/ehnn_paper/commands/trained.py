"""What `ehnn train` keeps of a model of the paper's experiments, and says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from ehnn._utils.folders import run_folder
from ehnn._utils.sealed import save_tensors
from ehnn.training import Result

BEST = "best.safetensors"
_VALUABLE = ("checkpoint.safetensors", "metrics.jsonl", BEST)


@contextmanager
def claim(folder: Path, identity: Mapping[str, Any]) -> Iterator[None]:
    """Hold ``folder`` for a run that ``identity`` tells from others; another run there is an error."""
    owned = (*_VALUABLE, "shards-*", "tensorboard")
    with run_folder(folder, identity, owned=owned, valuable=_VALUABLE, hint="choose another --out") as run:
        if not run.going_on:
            run.begin()
        yield


def keep_best(result: Result, folder: Path, *, test_best: bool = False) -> None:
    """Write the best parameters of a single run to ``best.safetensors`` and say how good they are.

    ``test_best`` also says the best test accuracy of all epochs, the paper's rule for k-edge identification.
    """
    save_tensors(folder / BEST, {name: value[0] for name, value in result.best.items()})
    typer.echo(f"best on validation: {result.best_valid[0]:.2f} % in epoch {result.best_epoch[0]}")
    typer.echo(f"test, chosen on validation: {result.selected('validation')[0]:.2f} %")
    if test_best:
        typer.echo(f"test, best of all epochs:   {result.selected('test-best')[0]:.2f} %")
    typer.echo(f"Written: {folder / BEST}")
