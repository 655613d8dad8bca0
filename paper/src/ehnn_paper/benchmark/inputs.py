"""What each input of the benchmark adds to each model, and what a hypergraph network adds to an MLP."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ehnn_paper.results import provenance, write_rows
from ehnn_paper.sweep import Trial, choose, sweep

from .settings import SHAPES, TRAININGS
from .table import compute

EXPERIMENT = "inputs"
MODELS = ("mlp", "hgnn", "all-set-transformer", "ehnn-mlp")
DATASETS = ("cora-cocitation", "cora-coauthorship", "house-1", "ntu2012")
INPUTS: dict[str, dict[str, Any]] = {
    "plain": {"standardise": True},
    "smoothed": {"standardise": True, "diffused": 2},
    "gate": {"gate": 8.0},
    "labels": {"standardise": True, "hidden": 0.5},
}
"""Standardised features; these and two means over co-members; features weighted by a test on training nodes;
standardised features and known labels of other training nodes."""


def trials(
    datasets: Sequence[str], models: Sequence[str], runs: int, epochs: int, first_seed: int
) -> list[Trial]:
    """One for each dataset, model and input: the second training of the benchmark, the first shape."""
    shared = {"runs": runs, "epochs": epochs, "first_seed": first_seed, "stack": {}, "pairs": None}
    training = {k: v for k, v in TRAININGS[1].items() if k != "inputs"}
    return [
        Trial(dataset, f"{model}, {name}", 0, {**training, **shared, **SHAPES[model][0], "inputs": inputs})
        for dataset in datasets
        for name, inputs in INPUTS.items()
        for model in models
    ]


def computed(device: str, data_dir: str, trial: Trial) -> dict[str, list[float]]:
    """`compute` of the model that a trial's name begins with."""
    model = trial.model.partition(",")[0]
    return compute(device, data_dir, Trial(trial.dataset, model, trial.choice, trial.settings))


def reproduce(
    datasets: Sequence[str],
    models: Sequence[str],
    *,
    data_dir: str,
    runs: int = 5,
    epochs: int = 200,
    first_seed: int = 700,
    device: str = "cpu",
    jobs: int = 1,
    minutes: float | None = None,
    out: Path = Path("results"),
    runs_dir: Path = Path("runs"),
    say: Callable[[str], None] = print,
) -> int:
    """Train what is missing and write the rows of what is complete; returns how many trials are missing."""
    asked = trials(datasets, models, runs, epochs, first_seed)
    folder = runs_dir / EXPERIMENT
    missing = sweep(asked, partial(computed, device, data_dir), folder, jobs=jobs, minutes=minutes, say=say)
    numbers = f"--runs {runs} --epochs {epochs} --first-seed {first_seed}"
    command = f"python paper/experiments/inputs.py {numbers}"
    seeds = range(first_seed, first_seed + runs)
    write_rows(EXPERIMENT, list(rows(asked, folder, command, seeds)), out)
    return missing


def rows(
    asked: Sequence[Trial], folder: Path, command: str, seeds: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Test accuracy at the epoch that validation chose; ``setting`` is dataset and input."""
    for dataset, name, chosen in choose(asked, folder):
        model, _, inputs = name.partition(", ")
        words = f"{command} --datasets {dataset} --models {model}"
        settings = dict(chosen.trials[0].settings)
        yield {
            "setting": f"{dataset}, {inputs}", "model": model,
            "selection": "validation", "metric": "accuracy",
            "mean": statistics.mean(chosen.values), "std": statistics.stdev(chosen.values),
            "runs": len(chosen.values), "paper": None,
            **provenance(words, seeds=seeds, settings=settings, runs=chosen.origins),
        }  # fmt: skip
