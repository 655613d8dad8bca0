"""What `ehnn train` keeps of a model of the paper's experiments, and says of it."""

from __future__ import annotations

from pathlib import Path

import typer

from ehnn.io.atomic import atomic_write
from ehnn.training import Result


def keep_best(result: Result, folder: Path, *, test_best: bool = False) -> None:
    """Write the best parameters of a single run to ``best.safetensors`` and say how good they are.

    ``test_best`` also says the best test accuracy of all epochs, the paper's rule for k-edge identification.
    """
    from safetensors.torch import save

    with atomic_write(folder / "best.safetensors", "wb") as file:
        file.write(save({name: value[0].cpu().contiguous() for name, value in result.best.items()}))
    typer.echo(f"best on validation: {result.best_valid[0]:.2f} % in epoch {result.best_epoch[0]}")
    typer.echo(f"test, chosen on validation: {result.selected('validation')[0]:.2f} %")
    if test_best:
        typer.echo(f"test, best of all epochs:   {result.selected('test-best')[0]:.2f} %")
    typer.echo(f"Written: {folder / 'best.safetensors'}")
