"""The cells and rows of the table of labels of incidences."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ehnn
from ehnn_paper.cells import Cell, rows_of, run_cells
from ehnn_paper.digest import digest
from ehnn_paper.experiment import write_unless_fuller

from .data import DATASETS, Labelled, load, path_of, vectors
from .networks import DROPOUTS, LAYERS, NETS, SIZES, train

OURS = "incidence-classifier"
MODELS = (OURS, "whatsnet", "conhd-unb")
METRICS = ("micro-f1", "macro-f1")
ROOM = 1e11
"""Bytes of GPU memory that cells at work share."""
_OURS_SIZE = 8e3
_ROWS = {"email-eu": 541842, "stack-physics": 479809, "outsider-dblp": 332960, "outsider-pubmed": 113535}
"""Incidences of the larger sets."""


@dataclass(frozen=True)
class Asked:
    """What to compute: names of datasets and models, seeds, and how.

    Attributes:
        steps: of a network at most.
        budget: of `ehnn.IncidenceClassifier`.
        out, results: folders of finished cells and of the table.
    """

    datasets: Sequence[str]
    models: Sequence[str]
    seeds: int = 5
    steps: int = 300
    budget: str | float = "default"
    device: str = "cpu"
    data_dir: str | None = None
    out: Path = Path("runs/incidences")
    results: Path = Path("results")


def measure(asked: Asked, model: str, name: str, split: str, seed: int) -> dict[str, Any]:
    """F1 in percent over the test incidences, and what was chosen on the validation incidences."""
    from sklearn.metrics import f1_score

    torch.set_num_threads(1)
    data = load(name, split, asked.data_dir)
    fitted = _ours(asked, data, seed) if model == OURS else _network(asked, model, name, split, data, seed)
    found, chosen = fitted
    scores = {}
    for part, shown in ((2, ""), (1, "validation ")):
        rows = (data.part == part).numpy()
        truth = data.y.numpy()[rows]
        for metric in METRICS:
            f1 = f1_score(truth, found[rows], average=metric.removesuffix("-f1"))
            scores[shown + metric] = 100 * float(f1)
    return scores | {"chosen": chosen}


Found = tuple[np.ndarray, dict[str, Any]]


def _ours(asked: Asked, data: Labelled, seed: int) -> Found:
    shown = np.where(data.part.numpy() < 2, data.y.numpy(), np.nan)
    model = ehnn.IncidenceClassifier(random_state=seed, device=asked.device, budget=asked.budget)
    model.fit(data.h, shown, validation=(data.part == 1).numpy())
    weights = {row["member"]: row["weight"] for row in model.leaderboard_[:-1] if row.get("weight")}
    return np.asarray(model.predict(data.h)).astype(np.int64), weights


def _network(asked: Asked, model: str, name: str, split: str, data: Labelled, seed: int) -> Found:
    start = vectors(data.h, asked.out / "vectors" / f"{name}-{_code(asked, name)}.npz")
    first = _path(asked, model, name, split, 0)
    dropouts = DROPOUTS if seed == 0 else [json.loads(first.read_text())["chosen"]["dropout"]]
    layers = LAYERS[model].get(name, 2)
    made = {
        p: train(partial(NETS[model], dropout=p, layers=layers), data, start, seed, asked.steps, asked.device)
        for p in dropouts
    }
    best = max(made, key=lambda p: made[p].accuracy)
    return made[best].found, {"dropout": best, "step": made[best].step, "layers": layers}


def _path(asked: Asked, model: str, name: str, split: str, seed: int) -> Path:
    """Of a cell; with other data, another number of steps, or another budget, it is another one."""
    how = f"budget-{asked.budget}" if model == OURS else f"{asked.steps}-steps"
    return asked.out / name / split / f"{model}-{how}-{seed}-{_code(asked, name)}.json"


def _code(asked: Asked, name: str) -> str:
    """Of the data and of what the code sets."""
    return digest(path_of(name, asked.data_dir), DROPOUTS, LAYERS)


def cells(asked: Asked) -> list[Cell]:
    """All cells: the first seed of everything, then the second, …; large datasets first."""
    names = sorted(asked.datasets, key=lambda name: -_ROWS.get(name, 0))
    return [
        Cell(
            _path(asked, model, name, split, seed),
            partial(measure, asked, model, name, split, seed),
            _size(model, name),
            _path(asked, model, name, split, 0) if seed and model != OURS else None,
        )
        for seed in range(asked.seeds)
        for name in names
        for split in DATASETS[name]
        for model in asked.models
    ]


def _size(model: str, name: str) -> float:
    rows = _ROWS.get(name, 60_000)
    return rows * (_OURS_SIZE if model == OURS else SIZES[model] * LAYERS[model].get(name, 2))


def reproduce(
    asked: Asked, command: str, *, jobs: int = 1, seconds: float = float("inf"),
    say: Callable[[str], None] = print,
) -> list[dict[str, Any]]:  # fmt: skip
    """Compute what is missing, write the rows, and give them."""
    run_cells(cells(asked), jobs=jobs, room=ROOM, seconds=seconds, say=say)
    rows = []
    for name in asked.datasets:
        for split in DATASETS[name]:
            for model in asked.models:
                paths = {seed: _path(asked, model, name, split, seed) for seed in range(asked.seeds)}
                found = {s: json.loads(p.read_text()) for s, p in paths.items() if p.exists()}
                own = rows_of(f"{name}, {split}", model, METRICS, found, command)
                write_unless_fuller("incidences", own, asked.results, say, f"{model}, {name}, {split}")
                rows += own
    return rows
