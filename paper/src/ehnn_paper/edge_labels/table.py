"""The cells and rows of the table of labels of hyperedges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ehnn_paper.cells import Cell, rows_of, run_cells
from ehnn_paper.digest import digest
from ehnn_paper.experiment import write_unless_fuller

from .data import DATASETS, LEAST, load, path_of
from .models import DIRECTED, MODELS, PENALTIES, SETTINGS, measure

METRICS = ("accuracy", "macro-f1")
REACTIONS = [name for name, (file, _) in DATASETS.items() if file.startswith("metabolic")]


@dataclass(frozen=True)
class Asked:
    """What to compute: datasets and models by name, number of seeds, and how."""

    datasets: Sequence[str] = tuple(DATASETS)
    models: Sequence[str] = (*MODELS, *DIRECTED)
    seeds: int = 3
    device: str = "cpu"
    data_dir: str | None = None
    out: Path = Path("runs/edge-labels")
    results: Path = Path("results")


def cell(asked: Asked, model: str, name: str, seed: int) -> Cell:
    """One model on one dataset; the seed is that of the split too, where none is shipped.

    With other data or settings it is another cell.
    """
    code = digest(path_of(name, asked.data_dir), LEAST, PENALTIES, SETTINGS)
    path = asked.out / name.replace(", ", "-") / f"{model}-{seed}-{code}.json"
    return Cell(path, partial(_measure, asked, model, name, seed))


def _measure(asked: Asked, model: str, name: str, seed: int) -> dict[str, Any]:
    return measure(model, load(name, seed, asked.data_dir), seed, asked.device)


def _models(asked: Asked, name: str) -> list[str]:
    return [m for m in asked.models if m in MODELS or name in REACTIONS]


def reproduce(
    asked: Asked, command: str, *, jobs: int = 1, seconds: float = float("inf"),
    say: Callable[[str], None] = print,
) -> list[dict[str, Any]]:  # fmt: skip
    """Compute what is missing, write the rows, and give them."""
    cells = [
        cell(asked, m, n, s) for s in range(asked.seeds) for n in asked.datasets for m in _models(asked, n)
    ]
    run_cells(cells, jobs=jobs, seconds=seconds, say=say)
    rows = []
    for name in asked.datasets:
        for model in _models(asked, name):
            found = {s: cell(asked, model, name, s).found() for s in range(asked.seeds)}
            own = rows_of(name, model, METRICS, found, command)
            write_unless_fuller("edge-labels", own, asked.results, say, f"{model}, {name}")
            rows += own
    return rows
