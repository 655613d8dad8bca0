"""What each input of the benchmark adds to each model, and what a hypergraph network adds to an MLP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ehnn_paper.results import provenance, summary, write_rows
from ehnn_paper.sweep import Trial, choose, on_data, sweep

from .data import digest_of
from .settings import SHAPES, TRAININGS
from .table import compute

EXPERIMENT = "inputs"
FOLDER = Path("runs") / EXPERIMENT
"""Of the finished trials."""
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


def reproduce(asked: Sequence[Trial], data_dir: str, device: str, out: Path, **sweeping: Any) -> int:
    """Train what is missing and write the rows of what is complete; returns how many trials are missing.

    ``sweeping``: further arguments of `sweep`.
    """
    asked = on_data(asked, partial(digest_of, data_dir))
    missing = sweep(asked, partial(computed, device, data_dir), FOLDER, **sweeping)
    write_rows(EXPERIMENT, list(rows(asked)), out)
    return missing


def rows(asked: Sequence[Trial]) -> Iterator[dict[str, Any]]:
    """Test accuracy at the epoch that validation chose; ``setting`` is dataset and input."""
    for dataset, name, chosen in choose(asked, FOLDER):
        model, _, inputs = name.partition(", ")
        settings = dict(chosen.trials[0].settings)
        runs, first = settings["runs"], settings["first_seed"]
        numbers = f"--runs {runs} --epochs {settings['epochs']} --first-seed {first}"
        words = f"python paper/experiments/inputs.py {numbers} --datasets {dataset} --models {model}"
        yield {
            "setting": f"{dataset}, {inputs}", "model": model,
            "selection": "validation", "metric": "accuracy",
            **summary(chosen.values), "paper": None,
            **provenance(
                words, seeds=range(first, first + runs), settings=settings, runs=chosen.origins
            ),
        }  # fmt: skip
