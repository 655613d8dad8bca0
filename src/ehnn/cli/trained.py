"""What `ehnn train` keeps of a model of the paper's experiments, and says of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from ehnn.io.atomic import atomic_write
from ehnn.training import Result


def claim(folder: Path, options: Mapping[str, Any]) -> None:
    """Refuse a folder that holds another run, by its ``settings.json``, and mark it as this one's."""
    path, mine = folder / "settings.json", json.loads(json.dumps(dict(options)))
    if path.exists() and (old := json.loads(path.read_text(encoding="utf-8"))) != mine:
        changed = [f"{k} was {old.get(k)!r}, now {v!r}" for k, v in mine.items() if old.get(k) != v]
        raise ValueError(f"{folder} holds another run ({', '.join(changed)}); choose another --dir")
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        json.dump(mine, file, indent=1)


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
