"""``ehnn reproduce graphs``: hypergraph classification in five folds, epoch and setting chosen inside them.

A fifth of the hypergraphs is tested in each fold. A fifth of the others chooses the epoch and, for each fold
by itself, the setting. Networks read structural features of the nodes and have the same settings to choose
from. ``sizes`` is logistic regression on counts, ``default`` is `ehnn.HypergraphClassifier()` as it comes.

The published figures are those of k-HNN's paper. Its code takes each fold's best *test* epoch and has no
validation set, so they are an upper bound of what this protocol would give.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ehnn.estimators import HypergraphClassifier
from ehnn.estimators.models import NetworkSpec
from ehnn.estimators.portfolio.graph_table import GraphTable
from ehnn.training import TrainConfig, fit
from ehnn_paper.digest import digest
from ehnn_paper.experiment import write_each_unless_fuller
from ehnn_paper.results import provenance, summary
from ehnn_paper.sweep import Found, Trial, choose, on_data, sweep

from .data import FOLDS, Labelled, parts_of, read_graphs
from .task import FoldedGraphs, correct

EXPERIMENT = "graphs"
NETWORKS = ("ehnn-mlp", "ehnn-transformer", "all-set-transformer", "ed-hnn", "hnhn", "mlp")
DEFAULT, SIZES = "hypergraph-classifier", "lr-sizes"
MODELS = (*NETWORKS, DEFAULT, SIZES)
CHOICES: tuple[dict[str, Any], ...] = (
    {"lr": 1e-3, "dropout": 0.0, "weight_decay": 0.0},
    {"lr": 3e-3, "dropout": 0.3, "weight_decay": 1e-4},
    {"lr": 1e-3, "dropout": 0.3, "weight_decay": 1e-4},
    {"lr": 3e-3, "dropout": 0.0, "weight_decay": 0.0},
)
"""What every network may choose from."""
PENALTIES = (0.01, 1.0, 100.0)
SHARED = {"width": 64, "batch_size": 32, "steps": 480, "epochs": 60}
"""About so many steps, in at most so many epochs."""
PUBLISHED = {
    "imdb-dir-form": {"mlp": 62.97, "hnhn": 67.10, "all-set-transformer": 66.76, "ed-hnn": 66.18},
    "imdb-dir-genre": {"mlp": 71.62, "hnhn": 79.30, "all-set-transformer": 79.31, "ed-hnn": 74.65},
    "imdb-wri-form": {"mlp": 52.94, "hnhn": 55.29, "all-set-transformer": 52.67, "ed-hnn": 50.07},
    "imdb-wri-genre": {"mlp": 34.73, "hnhn": 44.91, "all-set-transformer": 54.09, "ed-hnn": 35.07},
    "steam-player": {"mlp": 56.30, "hnhn": 58.48, "all-set-transformer": 61.87, "ed-hnn": 58.35},
}
"""Accuracy in percent in k-HNN's paper, at each fold's best test epoch."""


def trials(datasets: Sequence[str], models: Sequence[str], choices: int, seed: int) -> list[Trial]:
    """All of them, first settings first."""
    found = []
    for number in range(choices):
        for model in models:
            for dataset in datasets:
                if model in NETWORKS:
                    settings = SHARED | CHOICES[number] | {"folds": FOLDS, "seed": seed}
                elif number == 0:
                    settings = {"folds": FOLDS, "seed": seed} | (
                        {"penalties": PENALTIES} if model == SIZES else {}
                    )
                else:
                    continue
                found.append(Trial(dataset, model, number, settings))
    return found


def _file(dataset: str, data_dir: str) -> Path:
    return Path(data_dir) / "graphs" / f"{dataset}.npz"


@cache
def _data(dataset: str, data_dir: str) -> Labelled:
    return read_graphs(_file(dataset, data_dir))


def compute(device: str, data_dir: str, trial: Trial) -> Found:
    """Validation and test accuracy of each fold, and the seconds of a fold."""
    data, settings = _data(trial.dataset, data_dir), trial.settings
    if trial.model == DEFAULT:
        return _by_fold(data, settings["seed"], partial(_default, settings["seed"]))
    if trial.model == SIZES:
        return _by_fold(data, settings["seed"], partial(_logistic, settings["penalties"]))
    start = time.monotonic()
    plan = NetworkSpec(trial.model, settings["width"], settings["dropout"])
    task = FoldedGraphs(data, settings["seed"], plan.prepare, settings["batch_size"], device)
    epochs = min(settings["epochs"], math.ceil(settings["steps"] / task.steps))
    config = TrainConfig(
        epochs=epochs, lr=settings["lr"], weight_decay=settings["weight_decay"], schedule="cosine",
        evaluate_every=2,
    )  # fmt: skip
    make = partial(plan.hypergraphs, task.num_features, task.num_outputs, False, None)
    seeds = [settings["seed"] + fold for fold in range(FOLDS)]
    result = fit(make, task, seeds, config, device=device, quiet=True)
    seconds = (time.monotonic() - start) / FOLDS
    return {"valid": result.best_valid, "test": result.selected("validation"), "seconds": [seconds] * FOLDS}


def _by_fold(data: Labelled, seed: int, scores: Callable[..., tuple[float, torch.Tensor]]) -> Found:
    """Of a method that is fitted fold by fold: ``scores(data, train, valid) -> validation, logits``."""
    found: Found = {"valid": [], "test": [], "seconds": []}
    for part in parts_of(data.y, seed):
        start = time.monotonic()
        valid, logits = scores(data, *((part == k).nonzero().squeeze(1) for k in (0, 1)))
        right = correct(logits.unsqueeze(0), data.y)[0]
        found["valid"].append(valid)
        found["test"].append(100 * right[part == 2].double().mean().item())
        found["seconds"].append(time.monotonic() - start)
    return found


def _default(
    seed: int, data: Labelled, train: torch.Tensor, valid: torch.Tensor
) -> tuple[float, torch.Tensor]:
    """It holds out labels of its own, so it is given training and validation part."""
    rows = torch.cat([train, valid]).tolist()
    model = HypergraphClassifier(random_state=seed, device="cpu")
    model.fit([data.members[i] for i in rows], data.y[rows].numpy())
    predicted = torch.from_numpy(np.asarray(model.predict(data.members)).astype(np.int64))
    logits = (
        2.0 * predicted - 1 if data.y.dim() == 2 else torch.nn.functional.one_hot(predicted, data.num_outputs)
    )
    return 0.0, logits.double()


def _logistic(
    penalties: Sequence[float], data: Labelled, train: torch.Tensor, valid: torch.Tensor
) -> tuple[float, torch.Tensor]:
    """Logistic regression on numbers of nodes, hyperedges and incidences, their quotients and maxima."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = GraphTable(data.members).matrix(("sizes",))
    columns = data.y.T.numpy() if data.y.dim() == 2 else [data.y.numpy()]

    def fitted(penalty: float) -> torch.Tensor:
        found = []
        for y in columns:
            model = make_pipeline(StandardScaler(), LogisticRegression(C=penalty, max_iter=500))
            model.fit(x[train.numpy()], y[train.numpy()])
            decided = model.decision_function(x)
            found.append(np.stack([-decided, decided], 1) if decided.ndim == 1 else decided)
        if data.y.dim() == 1:
            return torch.from_numpy(found[0])
        return torch.from_numpy(np.stack([f[:, 1] for f in found], 1))

    tried = [fitted(penalty) for penalty in penalties]
    accuracies = [100 * correct(t.unsqueeze(0), data.y)[0, valid].double().mean().item() for t in tried]
    best = int(np.argmax(accuracies))
    return accuracies[best], tried[best]


def reproduce(
    datasets: Sequence[str],
    models: Sequence[str],
    *,
    data_dir: str,
    choices: int = len(CHOICES),
    seed: int = 0,
    device: str = "cpu",
    jobs: int = 1,
    minutes: float | None = None,
    out: Path = Path("results"),
    runs_dir: Path = Path("runs"),
    say: Callable[[str], None] = print,
) -> int:
    """Train what is missing and write the rows of what is complete; returns how many trials are missing."""
    if not 1 <= choices <= len(CHOICES):
        raise ValueError(f"choices must be from 1 to {len(CHOICES)}, got {choices}")
    asked = on_data(trials(datasets, models, choices, seed), lambda dataset: digest(_file(dataset, data_dir)))
    missing = sweep(
        asked, partial(compute, device, data_dir), runs_dir / EXPERIMENT, jobs=jobs, minutes=minutes, say=say
    )
    command = f"ehnn reproduce graphs --choices {choices} --first-seed {seed}"
    write_each_unless_fuller(EXPERIMENT, rows(asked, runs_dir / EXPERIMENT, command, seed), out, say)
    return missing


def rows(asked: Sequence[Trial], folder: Path, command: str, seed: int) -> Iterator[dict[str, Any]]:
    """Accuracy of every model and dataset, and the seconds that a fold takes."""
    for dataset, model, chosen in choose(asked, folder):
        seconds = next(iter(choose(chosen.trials, folder, metric="seconds")))[2].values
        seeds = [seed + fold for fold in range(FOLDS)]
        words = f"{command} --datasets {dataset} --models {model}"
        about = provenance(words, seeds=seeds, settings=chosen.settings(), runs=chosen.origins)
        same = {"setting": dataset, "model": model}
        for metric, values in (("accuracy", chosen.values), ("seconds", seconds)):
            published = PUBLISHED.get(dataset, {}).get(model) if metric == "accuracy" else None
            yield same | {
                "selection": "validation" if metric == "accuracy" else "none", "metric": metric,
                **summary(values), "paper": published, **about,
            }  # fmt: skip
