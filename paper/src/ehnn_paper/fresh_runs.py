"""How rows of each table are trained again, with fresh seeds."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ehnn.datasets import load
from ehnn.training import fit

from .benchmark import table as _benchmark
from .edge_labels import data as _edge_data
from .edge_labels import models as _edge_models
from .graphs import table as _graphs
from .hyperedges import models as _hyperedges
from .k_edge.draws import RECIPES, DrawnKEdge, draw_of
from .k_edge.recipes import SETTINGS
from .matching.recipes import BENCHMARKS
from .matching.script import parse
from .matching.table import scores_of
from .nodes.config import find_model, settings_of
from .nodes.runs import train
from .nodes.table import EPOCHS
from .reactions import direction_table as _direction
from .reactions import missing_table as _missing
from .reactions.data import load_reactions
from .reactions.missing import load_network
from .results import steps_of
from .sweep import Found, Trial

FIRST_SEED = 500_000
"""Seeds that neither published rows nor searches have."""


@dataclass(frozen=True)
class Again:
    """How rows of a table are trained again.

    Attributes:
        cheap: datasets whose models train in minutes on a CPU.
        cheap_models: the only ones that do, or empty: all.
        fresh: ``(row, runs, device, data_dir)`` → test metric in percent of runs with fresh seeds.
        metric, selection: of the rows.
        rows: the file of the rows, where it does not have the name of the table.
    """

    cheap: tuple[str, ...]
    fresh: Callable[[Mapping[str, Any], int, str, str | None], list[float]]
    metric: str = "accuracy"
    selection: tuple[str, ...] = ("validation",)
    rows: str | None = None
    cheap_models: tuple[str, ...] = ()


def _nodes(row: Mapping[str, Any], runs: int, device: str, data_dir: str | None) -> list[float]:
    dataset, model = row["setting"], row["model"]
    settings, seeds = settings_of(model, dataset), list(range(FIRST_SEED, FIRST_SEED + runs))
    h = find_model(model).prepare(load(dataset, data_dir)).to(device)
    config = settings.train_config(EPOCHS, model)
    return [
        record["test"] for record in train(h, dataset, model, settings, config, None, device, False, seeds)
    ]


def _of_k_edge(row: Mapping[str, Any], runs: int, device: str, data_dir: str | None) -> list[float]:
    """Each run on a draw of the data of its own, so ``runs`` draws."""
    found = []
    for seed in range(FIRST_SEED, FIRST_SEED + runs):
        task = DrawnKEdge([draw_of(row["setting"], seed, device)], 1)
        recipe, epochs = RECIPES[row["model"]], steps_of(row["command"])
        result = fit(recipe.make, task, [seed], recipe.config(epochs), device=device, quiet=True)
        found += result.selected("validation")
    return found


def _of_benchmark(row: Mapping[str, Any], runs: int, device: str, data_dir: str | None) -> list[float]:
    changed = {"runs": runs, "first_seed": FIRST_SEED}
    return _searched(row, changed, lambda trial: _benchmark.compute(device, _folder(data_dir), trial))


def _of_graphs(row: Mapping[str, Any], runs: int, device: str, data_dir: str | None) -> list[float]:
    """Five folds, whatever ``runs`` is."""
    return _searched(
        row, {"seed": FIRST_SEED}, lambda trial: _graphs.compute(device, _folder(data_dir), trial)
    )


def _of_edge_labels(row: Mapping[str, Any], runs: int, device: str, data_dir: str | None) -> list[float]:
    def accuracy(seed: int) -> float:
        data = _edge_data.load(row["setting"], seed, data_dir)
        return float(_edge_models.measure(row["model"], data, seed, device)["accuracy"])

    return [accuracy(seed) for seed in range(FIRST_SEED, FIRST_SEED + runs)]


def _of_hyperedges(row: Mapping[str, Any], runs: int, device: str, data_dir: str | None) -> list[float]:
    """Each run takes the setting of the table that is best on its validation hyperedges."""
    dataset, model = row["setting"], row["model"]
    count = len(_hyperedges.choices(dataset)) if model in _hyperedges.TRAINED else 1
    found = []
    for seed in range(FIRST_SEED, FIRST_SEED + runs):
        cells = [_hyperedges.Cell(dataset, None, model, choice, seed) for choice in range(count)]
        tried = [_hyperedges.compute(cell, device, data_dir) for cell in cells]
        found.append(max(tried, key=lambda one: one["valid"])[row["metric"]])
    return found


def _of_directions(row: Mapping[str, Any], runs: int, device: str, data_dir: str | None) -> list[float]:
    """Other folds than those of the table, at most five."""
    reactions = load_reactions(row["setting"].removeprefix("direction, "), data_dir)
    return [
        _direction.measure(row["model"], reactions, split, FIRST_SEED)["accuracy"]
        for split in range(min(runs, _direction.SPLITS))
    ]


def _of_missing_reactions(
    row: Mapping[str, Any], runs: int, device: str, data_dir: str | None
) -> list[float]:
    """Other folds and negatives than those of the table, at most five."""
    kind, name = row["setting"].split(", ")
    network = load_network(name, data_dir)
    return [
        _missing.measure(kind, row["model"], network, split, FIRST_SEED)[row["metric"]]
        for split in range(min(runs, _missing.FOLDS))
    ]


def _of_matching(row: Mapping[str, Any], runs: int, device: str, data_dir: str | None) -> list[float]:
    """As the row's command says, with other training pairs and parameters; the test pairs are the same."""
    benchmark = BENCHMARKS[row["experiment"]]
    (model,), setup = parse(benchmark, shlex.split(row["command"])[2:])
    setup = replace(setup, device=device, data_dir=data_dir, minutes=None)  # the row's runs were whole
    with TemporaryDirectory() as folder:
        seeds = range(FIRST_SEED, FIRST_SEED + runs)
        found = scores_of(benchmark, model, setup, seeds, Path(folder))
    return [scores[row["selection"]][row["setting"]] for scores in found]


def _searched(
    row: Mapping[str, Any], changed: Mapping[str, Any], compute: Callable[[Trial], Found]
) -> list[float]:
    """Every setting of the row with ``changed`` values; each run takes that of its best validation."""
    tried = [
        compute(Trial(row["setting"], row["model"], int(number), {**settings, **changed}))
        for number, settings in row["settings"]["search"].items()
    ]
    by_run = zip(*(found["valid"] for found in tried), strict=True)
    best = [values.index(max(values)) for values in by_run]
    return [tried[i]["test"][run] for run, i in enumerate(best)]


def _folder(data_dir: str | None) -> str:
    found = data_dir or os.environ.get("EHNN_DATA")
    if not found:
        raise ValueError("the data folder is needed: --data-dir DIR, or EHNN_DATA=DIR")
    return found


_CHEAP_MATCHERS = ("ehnn-mlp+", "ehnn-transformer+", "nhgm-v2+")
TABLES: dict[str, Again] = {
    "nodes": Again(("zoo", "house-1", "house-0.6"), _nodes),
    "k-edge-draws": Again(SETTINGS, _of_k_edge),
    "benchmark": Again(("zoo", "house-1"), _of_benchmark),
    "graphs": Again(("imdb-wri-form", "imdb-wri-genre", "imdb-wri-genre-m"), _of_graphs),
    "edge-labels": Again(("iAB_RBC_283", "iAF692", "iHN637"), _of_edge_labels),
    "hyperedges": Again(("house-committees",), _of_hyperedges, "auroc-hard"),
    "reactions": Again(("direction, iAB_RBC_283", "direction, iIT341"), _of_directions),
    "missing-reactions": Again(
        tuple(f"{kind}, {name}" for kind in ("pool", "swapped") for name in ("iAB_RBC_283", "iIT341")),
        _of_missing_reactions, "auroc", ("none",), "reactions",
    ),
    "willow": Again(
        ("mean",), _of_matching, "f1", ("validation", "last"), cheap_models=_CHEAP_MATCHERS,
    ),
    "voc": Again((), _of_matching, "f1", ("validation", "last")),
}  # fmt: skip
