"""Later models with their authors' settings, beside their published figures.

    python paper/experiments/later_models.py --runs 10

Random 50/25/25 splits, test accuracy at the epoch of the best validation accuracy. Settings and figures are
those of the models' code and of the papers that compare them; TF-HNN's and SheafHyperGNN's epochs are few
because their settings say so. HealHGNN has published settings for Senate alone, which is not among our
datasets, so it has no row. Rows go to ``results/later-models.json`` and ``.csv``; a cell that is there with
as many runs is not run again.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from ehnn.datasets import load
from ehnn.nn.named import NAMED
from ehnn.tasks import NodeClassification
from ehnn.training import TrainConfig, fit
from ehnn_paper.results import provenance, read_rows, shown, summary, write_rows


class Cell(NamedTuple):
    """Settings of a model on a dataset, and the published accuracy in percent."""

    published: float
    width: int
    epochs: int
    lr: float
    dropout: float
    options: Mapping[str, Any]
    weight_decay: float = 0.0


MEANS = {"layers": 1, "phi": 0, "rho": 0, "psi": 1, "alpha": 0.0}
CELLS = {
    ("ed-hnn", "cora-cocitation"): Cell(80.31, 256, 500, 1e-3, 0.5, MEANS),
    ("ed-hnn", "cora-coauthorship"): Cell(83.97, 128, 500, 1e-3, 0.5, MEANS | {"classifier_layers": 2}),
    ("tf-hnn", "cora-cocitation"): Cell(79.47, 256, 30, 1e-3, 0.7, {"layers": 2, "alpha": 0.1}),
    ("tf-hnn", "cora-coauthorship"): Cell(84.19, 1024, 60, 1e-3, 0.7, {"layers": 2, "alpha": 0.3}),
    ("phenom-nn", "cora-cocitation"): Cell(
        78.97, 64, 1000, 5e-3, 0.7, {"lambda0": 0.0, "lambda1": 20.0, "step": 1.0}, 5e-4
    ),
    ("phenom-nn", "cora-coauthorship"): Cell(
        84.05, 64, 1000, 1e-2, 0.7, {"lambda0": 20.0, "lambda1": 80.0, "step": 0.1}, 5e-4
    ),
    ("sheaf-hyper-gnn", "cora-cocitation"): Cell(81.30, 512, 10, 1e-3, 0.5, {"layers": 3, "stalk": 4}),
}
"""Published: ED-HNN and SheafHyperGNN as their papers' tables quote them, TF-HNN and PhenomNN as DHG-Bench
does (last epoch, no selection). SheafHyperGNN's learning rate is not published; 1e-3 is the usual one."""


def accuracies(model: str, dataset: str, given: argparse.Namespace) -> list[float]:
    """Test accuracy in percent of each run."""
    cell, named, seeds = CELLS[model, dataset], NAMED[model], range(given.runs)
    h = named.prepare(load(dataset, given.data_dir)).to(given.device)
    found = []
    for seed in seeds:  # one by one: many runs at once would not share the smoothed features
        task = NodeClassification(h, [seed])

        def make(task: NodeClassification = task) -> nn.Module:
            return named.make(
                task.num_features,
                task.num_outputs,
                width=cell.width,
                dropout=cell.dropout,
                options=cell.options,
            )

        config = TrainConfig(
            epochs=cell.epochs, lr=cell.lr, weight_decay=cell.weight_decay, optimizer="adam", clip_norm=5.0
        )
        label = f"{model}, {dataset}, seed {seed}"
        found += fit(make, task, [seed], config, device=given.device, label=label).selected("validation")
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=sorted({m for m, _ in CELLS}))
    parser.add_argument("--datasets", nargs="+", choices=sorted({d for _, d in CELLS}))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=Path("results"))
    given = parser.parse_args(arguments)
    asked = {"--models": given.models or [], "--datasets": given.datasets or [], "--runs": [given.runs]}
    words = [str(word) for name, values in asked.items() if values for word in (name, *values)]
    command = shlex.join(["python", "paper/experiments/later_models.py", *words])  # not where the data lie
    there = {(r["model"], r["setting"]): r["runs"] for r in read_rows("later-models", given.out)}
    for (model, dataset), cell in CELLS.items():
        if model not in (given.models or [model]) or dataset not in (given.datasets or [dataset]):
            continue
        if there.get((model, dataset), 0) >= given.runs:
            continue
        found = accuracies(model, dataset, given)
        row = {
            "setting": dataset, "model": model, "selection": "validation", "metric": "accuracy",
            **summary(found), "paper": cell.published,
        }  # fmt: skip
        settings = {key: value for key, value in cell._asdict().items() if key != "published"}
        about = provenance(command, seeds=range(given.runs), settings=settings)
        write_rows("later-models", [row | about], given.out)
        print(f"{model:16} {dataset:18} {shown(row, 2)} (published {cell.published})", flush=True)


if __name__ == "__main__":
    main()
