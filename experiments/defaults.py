"""The default `ehnn.NodeClassifier` against the tuned recipes of the paper, on the same splits.

    python experiments/defaults.py --datasets zoo house-1
    python experiments/defaults.py --device cuda --jobs 12
    python experiments/defaults.py --choose --datasets zoo house-1 --runs 3

Each run has its own 50/25/25 split of the labelled nodes (seeds 0, 1, …, as in Table 2). The tuned models,
``ehnn-mlp`` and ``ehnn-transformer`` with the paper's hyperparameters for the dataset, train on the first
half and choose the epoch on the next quarter; their rows are those of ``results/nodes.json`` (``ehnn
reproduce nodes``). ``node-classifier`` is `NodeClassifier()` as it comes, except that it is told to hold out
a third of the labels it gets (of training and validation nodes), so that equally many nodes train it. It runs
as often as the tuned models have, or less on Walmart. All are scored on the test nodes, once.

``--choose`` compares the `CANDIDATES` for the defaults on other splits (seeds from 1000): fitted on the
training nodes, scored on the validation nodes; test nodes are not scored. Finished runs are kept in ``--out``
and never trained again; ``--jobs`` runs are trained at once. Rows go to ``results/defaults.json``, ``.csv``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import ehnn
from ehnn import datasets
from ehnn.datasets import random_split
from ehnn.io.atomic import atomic_write
from ehnn.results import provenance, read_rows, write_rows

DATASETS = (  # those that take longest first
    "walmart-1", "walmart-0.6", "20news", "mushroom", "ntu2012", "house-1", "house-0.6", "zoo",
)  # fmt: skip
DEFAULT, TUNED = "node-classifier", ("ehnn-mlp", "ehnn-transformer")
CANDIDATES: dict[str, dict[str, Any]] = {
    "ehnn-mlp": {},
    "ehnn-mlp, residual": {"residual": True},
    "ehnn-mlp, not residual": {"residual": False},
    "ehnn-mlp, weight decay 1e-3": {"weight_decay": 1e-3},
    "ehnn-mlp, width 128": {"width": 128},
    "ehnn-transformer": {"model": "ehnn-transformer"},
}
FIRST_SEED, RUNS = 1000, 5


@dataclass(frozen=True)
class Cell:
    """One fit: a candidate for the defaults (or the default) on one split."""

    dataset: str
    name: str
    seed: int
    choose: bool

    def path(self, out: Path) -> Path:
        """Where its figures are kept."""
        folder = self.name.replace(", ", "-").replace(" ", "-")
        return out / self.dataset / folder / f"seed-{self.seed}.json"

    def model(self, device: str) -> ehnn.NodeClassifier:
        """The estimator to fit."""
        chosen = CANDIDATES[self.name] if self.choose else {}
        return ehnn.NodeClassifier(random_state=self.seed, device=device, validation_fraction=1 / 3, **chosen)


@cache
def load(dataset: str, data_dir: str | None) -> ehnn.Hypergraph:
    """The dataset, once for each process."""
    return datasets.load(dataset, data_dir)


def scored(h: ehnn.Hypergraph, seed: int, model: ehnn.NodeClassifier, choose: bool) -> dict[str, float]:
    """Accuracy in percent on the validation nodes (``choose``) or the test nodes of a split."""
    assert h.y is not None
    train, valid, test = random_split(h.y, seed=seed)
    known, asked = (train, valid) if choose else (torch.cat([train, valid]), test)
    y = torch.full_like(h.y, -1)
    y[known] = h.y[known]
    start = time.monotonic()
    model.fit(h, y)
    seconds = time.monotonic() - start
    right = torch.from_numpy(model.predict(h))[asked] == h.y[asked]
    return {"accuracy": 100 * right.double().mean().item(), "seconds": seconds, "epoch": model.best_epoch_}


def params_of(cell: Cell) -> dict[str, Any]:
    """What changes the figures of a cell."""
    return {k: v for k, v in cell.model("cpu").get_params().items() if k not in ("device", "quiet")}


def read(cell: Cell, out: Path) -> dict[str, Any] | None:
    """The figures of a finished cell; None where there are none, or of other parameters."""
    path = cell.path(out)
    kept = json.loads(path.read_text()) if path.exists() else None
    return kept if kept and kept["params"] == params_of(cell) else None


def finish(cell: Cell, device: str, data_dir: str | None, out: Path) -> str:
    """Compute a cell and keep it; returns a line to show."""
    torch.set_num_threads(1)
    found = scored(load(cell.dataset, data_dir), cell.seed, cell.model(device), cell.choose)
    path = cell.path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        json.dump({"params": params_of(cell)} | found, file)
    return f"{path.relative_to(out)}: {found['accuracy']:.2f}, {found['seconds']:.0f} s"


def tuned_rows(dataset: str, nodes: str) -> list[dict[str, Any]]:
    """Test accuracy of the recipes of the paper, as far as they have been run, with its provenance."""
    asked = {"setting": dataset, "metric": "accuracy", "selection": "validation"}
    found = [row for row in read_rows("nodes", nodes) if asked.items() <= row.items()]
    return [row | {"experiment": "defaults"} for row in found if row["model"] in TUNED]


def cells(given: argparse.Namespace, dataset: str) -> Iterator[Cell]:
    """Everything that is asked for of a dataset."""
    tuned = [row["runs"] for row in tuned_rows(dataset, given.nodes)]
    runs = given.runs or (RUNS if given.choose or not tuned else max(tuned))
    first = FIRST_SEED if given.choose else 0
    for name in CANDIDATES if given.choose else (DEFAULT,):
        for seed in range(first, first + runs):
            yield Cell(dataset, name, seed, given.choose)


def rows(given: argparse.Namespace, dataset: str, about: dict[str, str]) -> Iterator[dict[str, Any]]:
    """A row for each candidate and metric, and the rows of the tuned models."""
    found: dict[str, list[dict[str, Any]]] = {}
    for cell in cells(given, dataset):
        figures = read(cell, given.out)
        assert figures is not None
        found.setdefault(cell.name, []).append(figures)
    accuracy = "valid-accuracy" if given.choose else "accuracy"
    for name, runs in found.items():
        for metric, key in ((accuracy, "accuracy"), ("seconds", "seconds")):
            values = [run[key] for run in runs]
            yield {
                "setting": dataset, "model": name, "selection": "validation" if key == "accuracy" else "none",
                "metric": metric, "mean": statistics.mean(values), "std": statistics.pstdev(values),
                "runs": len(values), "paper": None, **about,
            }  # fmt: skip
    yield from () if given.choose else tuned_rows(dataset, given.nodes)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--runs", type=int, help="in place of as many as the tuned models have")
    parser.add_argument("--choose", action="store_true", help="compare candidates on validation nodes")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once")
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=Path("runs/defaults"), help="folder of finished runs")
    parser.add_argument("--results", default="results", help="folder of the table; '' writes none")
    parser.add_argument("--nodes", default="results", help="folder of nodes.json, for the tuned models")
    given = parser.parse_args()
    # A path of this machine says nothing to a reader of the table.
    hidden = ("--data-dir", "--out", "--results", "--nodes")
    shown = [a for i, a in enumerate(sys.argv[1:], 1) if a not in hidden and sys.argv[i - 1] not in hidden]
    about = provenance(" ".join(["python experiments/defaults.py", *shown]))
    todo = [c for d in given.datasets for c in cells(given, d) if read(c, given.out) is None]
    context = multiprocessing.get_context("spawn")  # a GPU cannot be shared with a forked process
    with ProcessPoolExecutor(max(1, given.jobs), mp_context=context) as pool:
        waiting = [pool.submit(finish, c, given.device, given.data_dir, given.out) for c in todo]
        for i, done in enumerate(as_completed(waiting), 1):
            print(f"[{i}/{len(todo)}] {done.result()}", flush=True)
    for dataset in given.datasets:
        table = list(rows(given, dataset, about))
        for row in table:
            print(
                f"{dataset:<12} {row['model']:<28} {row['metric']:<15} {row['mean']:8.2f} ± {row['std']:.2f}"
            )
        if given.results:
            write_rows("defaults", table, given.results)


if __name__ == "__main__":
    main()
