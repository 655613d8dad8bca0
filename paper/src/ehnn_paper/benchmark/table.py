"""``ehnn reproduce benchmark``: node classification with modern competitors under one protocol.

Each run has a random 50/25/25 split of its own. Every model trains as many settings (`settings_of`) on the
same splits in the same loop, and a run takes the setting and the epoch that are best on its validation nodes.
Rows with the selection ``last`` follow DHG-Bench: the last epoch, and the setting that is best in validation
there. Its splits have the same sizes; they are drawn by other random numbers.

``node-classifier`` is `ehnn.NodeClassifier()` with nothing set, which compares its members on the validation
nodes and trains on the training nodes alone. It averages several models, so it has no part in the ranks of
the others; a row of its own has the rank that it would have among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ehnn.estimators import NodeClassifier
from ehnn.hypergraph import Hypergraph
from ehnn.nn import pairs_path
from ehnn.nn.named import NAMED, Named
from ehnn.tasks.node_classification import NodeClassification
from ehnn.training import TrainConfig, fit
from ehnn_paper.experiment import write_each_unless_fuller
from ehnn_paper.nodes.inputs import PreparedNodes
from ehnn_paper.results import provenance, read_rows, summary, write_rows
from ehnn_paper.sweep import Found, Trial, choose, on_data, sweep

from .data import NOT_RANKED, digest_of, labelled
from .figure import draw_ranks
from .ranks import ranks_of
from .settings import settings_of

EXPERIMENT = "benchmark"
DEFAULT = "node-classifier"
TOGETHER = 2_000_000
"""Incidences of all runs that are trained side by side on a GPU.

On a CPU runs are trained one after another: side by side their rows do not fit into the cache. On the primary
school ten runs took 1.3 (HGNN) to 10 times (ED-HNN) as long side by side.
"""
RULES = {"validation": ("valid", "test"), "last": ("valid_last", "test_last")}
"""Selection of a row → what chooses the setting, and what is reported."""
_QUOTED = {
    "cora-cocitation": {"ed-hnn": 80.31, "sheaf-hyper-gnn": 81.30, "hgnn": 79.39, "uni-gcn-ii": 78.81},
    "cora-coauthorship": {"ed-hnn": 83.97, "sheaf-hyper-gnn": 85.52, "hgnn": 82.64, "uni-gcn-ii": 83.60},
    "congress-bills": {"ed-hnn": 95.00, "sheaf-hyper-gnn": 91.81, "heal-hgnn": 93.45, "hgnn": 91.26},
    "house-1": {"ed-hnn": 72.45, "sheaf-hyper-gnn": 73.84, "heal-hgnn": 77.18, "hgnn": 61.39},
}
_DHG_BENCH = {
    "cora-cocitation": {"mlp": 75.33, "hgnn": 77.90, "uni-gcn-ii": 79.41, "all-set-transformer": 78.02,
                        "ed-hnn": 78.58, "phenom-nn": 78.97, "tf-hnn": 79.47},
    "cora-coauthorship": {"mlp": 75.57, "hgnn": 82.84, "uni-gcn-ii": 83.49, "all-set-transformer": 82.95,
                          "ed-hnn": 82.98, "phenom-nn": 84.05, "tf-hnn": 84.19},
    "ntu2012": {"mlp": 88.59, "hgnn": 90.13, "uni-gcn-ii": 89.86, "all-set-transformer": 90.17,
                "ed-hnn": 91.45, "phenom-nn": 88.78, "tf-hnn": 91.69},
}  # fmt: skip
PUBLISHED = {"validation": _QUOTED, "last": _DHG_BENCH}
"""Accuracy in percent, 50/25/25 splits: 10 runs and the epoch chosen on validation, as papers quote it; the
last epoch, from DHG-Bench."""


def trials(
    datasets: Sequence[str], models: Sequence[str], choices: int, runs: int, epochs: int, first_seed: int
) -> list[Trial]:
    """All of them, first settings first."""
    shared = {"runs": runs, "epochs": epochs, "first_seed": first_seed}
    return [
        Trial(dataset, model, number, shared if model == DEFAULT else settings_of(model, number) | shared)
        for number in range(choices)
        for dataset in datasets
        for model in models
        if number == 0 or model != DEFAULT
    ]


def compute(device: str, data_dir: str, trial: Trial) -> Found:
    """Accuracies in percent of all runs of a trial."""
    if trial.model == DEFAULT:
        return _default(labelled(trial.dataset, data_dir), trial.settings)
    s, named = trial.settings, NAMED[trial.model]
    h = named.prepare(labelled(trial.dataset, data_dir)).to(device)
    found: Found = {name: [] for rule in RULES.values() for name in rule}
    together = 1 if torch.device(device).type == "cpu" else max(1, TOGETHER // h.num_incidences)
    for first in range(0, s["runs"], together):
        seeds = range(s["first_seed"] + first, s["first_seed"] + min(first + together, s["runs"]))
        for name, values in _train(h, named, s, seeds, device).items():
            found[name] += values
    return found


def _default(h: Hypergraph, s: Mapping[str, Any]) -> Found:
    """`NodeClassifier()` on the same splits: training labels to learn, validation labels to compare."""
    seeds = range(s["first_seed"], s["first_seed"] + s["runs"])
    task = NodeClassification(h, seeds)
    found: Found = {"valid": [], "test": []}
    for seed, train, valid, test in zip(seeds, task.train, task.valid, task.test, strict=True):
        known = torch.maximum(train, valid)
        y = [None if label < 0 else label for label in known.tolist()]
        model = NodeClassifier(random_state=seed)
        model.fit(h.replace(y=None), y, validation=(valid >= 0).numpy())
        asked = (test >= 0).numpy()
        right = model.predict(h)[asked] == test.numpy()[asked]
        found["valid"].append(100 * model.leaderboard_[-1]["accuracy"])
        found["test"].append(100 * float(right.mean()))
    return found


def _train(h: Hypergraph, named: Named, s: Mapping[str, Any], seeds: Sequence[int], device: str) -> Found:
    """The runs of these seeds, side by side."""
    task = PreparedNodes(h, seeds, **s["inputs"])
    make = partial(
        named.make, task.num_features, task.num_outputs, width=s["width"], dropout=s["dropout"],
        path=None if s["pairs"] is None else pairs_path(s["pairs"]), options=s["options"],
        stack=s["stack"] or None,
    )  # fmt: skip
    config = TrainConfig(
        epochs=s["epochs"], lr=s["lr"], weight_decay=s["weight_decay"], evaluate_every=5, **s["train"]
    )
    result = fit(make, task, seeds, config, device=device, quiet=True)
    last = result.history[-1]
    return {
        "valid": result.best_valid, "test": result.selected("validation"),
        "valid_last": last["valid"], "test_last": last["test"],
    }  # fmt: skip


def reproduce(
    datasets: Sequence[str],
    models: Sequence[str],
    *,
    data_dir: str,
    choices: int = 3,
    runs: int = 10,
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
    asked = trials(datasets, models, choices, runs, epochs, first_seed)
    asked = on_data(asked, partial(digest_of, data_dir))
    folder = runs_dir / EXPERIMENT
    missing = sweep(asked, partial(compute, device, data_dir), folder, jobs=jobs, minutes=minutes, say=say)
    numbers = {"choices": choices, "runs": runs, "epochs": epochs, "first-seed": first_seed}
    command = " ".join(["ehnn reproduce benchmark", *(f"--{name} {n}" for name, n in numbers.items())])
    seeds = range(first_seed, first_seed + runs)
    write_each_unless_fuller(EXPERIMENT, rows(asked, folder, command, seeds), out, say)
    write_rows(EXPERIMENT, rank_rows(read_rows(EXPERIMENT, out), command), out)
    draw(out, say)
    return missing


def rows(
    asked: Sequence[Trial], folder: Path, command: str, seeds: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Accuracy of every model and dataset under both rules."""
    for rule, (by, metric) in RULES.items():
        judged = asked if rule == "validation" else [t for t in asked if t.model != DEFAULT]
        for dataset, model, chosen in choose(judged, folder, by, metric):
            words = f"{command} --datasets {dataset} --models {model}"
            published = PUBLISHED[rule].get(dataset, {}).get(model)
            yield {
                "setting": dataset, "model": model, "selection": rule, "metric": "accuracy",
                **summary(chosen.values), "paper": published,
                **provenance(words, seeds=seeds, settings=chosen.settings(), runs=chosen.origins),
            }  # fmt: skip


def accuracies(found: Sequence[Mapping[str, Any]], rule: str = "validation") -> dict[str, dict[str, float]]:
    """``{model: {dataset: accuracy}}`` of the datasets that count in ranks."""
    table: dict[str, dict[str, float]] = {}
    for row in found:
        if (row["metric"], row["selection"]) == ("accuracy", rule) and row["setting"] not in NOT_RANKED:
            table.setdefault(row["model"], {})[row["setting"]] = row["mean"]
    return table


def rank_rows(found: Sequence[Mapping[str, Any]], command: str) -> list[dict[str, Any]]:
    """The average rank of each model; ``settings`` has the critical difference."""
    made = []
    for rule in RULES:
        everything = accuracies(found, rule)
        networks = {model: row for model, row in everything.items() if model != DEFAULT}
        for table, shown in ((networks, set(networks)), (everything, {DEFAULT} & set(everything))):
            if len(table) < 2 or not shown or not set.intersection(*(set(row) for row in table.values())):
                continue
            ranks = ranks_of(table)
            told = {"friedman_p": ranks.p, "critical_difference": ranks.difference}
            about = provenance(command, settings=told, runs=[r for r in found if r["metric"] == "accuracy"])
            made += [
                {
                    "setting": "datasets that count", "model": model, "selection": rule, "metric": "rank",
                    "mean": average, "std": None, "runs": ranks.datasets, "paper": None, **about,
                }
                for model, average in ranks.average.items() if model in shown
            ]  # fmt: skip
    return made


def draw(out: Path, say: Callable[[str], None]) -> None:
    """The figure of the ranks, where there are some."""
    found = [
        r
        for r in read_rows(EXPERIMENT, out)
        if (r["metric"], r["selection"]) == ("rank", "validation") and r["model"] != DEFAULT
    ]
    if found:
        try:
            difference = found[0]["settings"]["critical_difference"]
            draw_ranks({r["model"]: r["mean"] for r in found}, difference, out / f"{EXPERIMENT}.png")
        except ImportError as error:
            say(f"No figure: {error}")
