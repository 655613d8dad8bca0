"""Tables 1 and 5 over several draws of the data: what a reader who draws the hypergraphs anew will see.

A draw is a training, a validation and a test set of its own; several seeds of initialisation and dropout are
trained on each. The spread over draws and the spread over seeds are kept apart. Each draw is tested on 200
hypergraphs, and on 20 as the paper did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.tasks.scores import accuracy
from ehnn.training import Result, fit
from ehnn_paper.experiment import Cell, Experiment, make_cell
from ehnn_paper.results import provenance

from .figure import draw_k_edge
from .recipes import EXPERIMENTS, SETTINGS
from .task import TRAIN_ORDERS, KEdge

DRAWS = 5
TEST = 200
TRIVIAL = "predict-the-mark"
"""The rule without training: a node is in a hyperedge of the marked order if it is marked itself."""
METRICS = {"accuracy": "test", "accuracy_20": "test/20"}
"""Metric of a row → metric of the history: on 200 test hypergraphs of each draw, and on 20."""


class DrawnKEdge(KEdge):
    """`KEdge` that is also tested on 20 hypergraphs, as many as in the paper."""

    @cached_property
    def small_test_batch(self) -> Hypergraph:
        """20 hypergraphs that are in no other part of any draw."""
        return replace(self, seed=self.seed + 1000, test=20).test_batch

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        """Accuracy in percent of each run, ``[runs]``; ``test/20`` is that on the 20 hypergraphs."""
        h = self.small_test_batch
        return super().evaluate(predict) | {"test/20": accuracy(predict(h), h.y)}


def task_of(setting: str, draw: int, device: str = "cpu") -> DrawnKEdge:
    """The task of draw 0, 1, …; no two draws share a hypergraph, nor does `KEdge` with its default seed."""
    return DrawnKEdge(setting, seed=draw + 1, test=TEST, device=device)


def train_cell(
    experiment: str,
    model: str,
    setting: str,
    *,
    seeds: Sequence[int],
    epochs: int,
    device: str,
    directory: Path | None,
    command: str,
    quiet: bool = False,
) -> Cell:
    """Train one model in one setting on every draw."""
    recipes = EXPERIMENTS[experiment]
    results, by_order = [], []
    for draw in range(DRAWS):
        task = task_of(setting, draw, device)
        folder = None if directory is None else directory / f"draw-{draw}"
        recipe = recipes[model]
        result = fit(
            recipe.make, task, seeds, recipe.config(epochs), directory=folder, device=device,
            label=f"{model}, {setting}, draw {draw + 1} of {DRAWS}", quiet=quiet,
        )  # fmt: skip
        result.runs.load(result.best)
        with torch.no_grad():
            by_order.append(task.accuracy_by_order(result.runs.forward))
        results.append(result)
    paper = recipes[model].paper[SETTINGS.index(setting)]
    about = provenance(command, seeds=seeds, settings=recipes[model].settings() | {"draws": DRAWS})
    rows = rows_of(model, setting, results, paper, about)
    orders = sorted({k for found in by_order for k in found})
    extra = {
        "orders": TRAIN_ORDERS[setting],
        "by_order": {k: [v for found in by_order if k in found for v in found[k].tolist()] for k in orders},
    }
    return make_cell(model, setting, _joined(results), rows, extra)


def rows_of(
    model: str, setting: str, results: Sequence[Result], paper: float | None, about: dict[str, Any]
) -> list[dict[str, Any]]:
    """Rows under both selection rules; ``std`` is over draws, ``…_std_over_seeds`` within a draw."""
    rows = []
    for metric, name in METRICS.items():
        for rule in ("validation", "test-best"):
            values = torch.tensor([_selected(result, name, rule) for result in results], dtype=torch.float64)
            same: dict[str, Any] = {
                "setting": setting,
                "model": model,
                "selection": rule,
                "runs": values.numel(),
            }
            same |= {"paper": paper if rule == "test-best" and metric == "accuracy_20" else None}
            same |= about
            spread = values.mean(1).std().item() if len(values) > 1 else None
            rows.append(same | {"metric": metric, "mean": values.mean().item(), "std": spread})
            if values.shape[1] > 1:
                within = values.std(1).mean().item()
                rows.append(same | {"metric": f"{metric}_std_over_seeds", "mean": within, "std": None})
    return rows


def _selected(result: Result, metric: str, rule: str) -> list[float]:
    """The test metric of each run, at its best validation epoch or at its own best."""
    history = {row["epoch"]: row[metric] for row in result.history}
    if rule == "test-best":
        return [max(values) for values in zip(*history.values(), strict=True)]
    return [history[epoch][run] for run, epoch in enumerate(result.best_epoch)]


def _joined(results: Sequence[Result]) -> Result:
    """One history with the runs of all draws side by side, for the figure."""
    keys = ("loss", "valid", "test")
    histories = zip(*(result.history for result in results), strict=True)
    joined = [
        {"epoch": rows[0]["epoch"]} | {key: [v for row in rows for v in row[key]] for key in keys}
        for rows in histories
    ]
    return Result(results[0].runs, joined)


def trivial_rows(setting: str, command: str) -> list[dict[str, Any]]:
    """The rows of the rule `TRIVIAL`, which has nothing to train or to select."""
    rows = []
    for metric, batch in (("accuracy", "test_batch"), ("accuracy_20", "small_test_batch")):
        values = torch.tensor([_by_mark(getattr(task_of(setting, draw), batch)) for draw in range(DRAWS)])
        rows.append({
            "setting": setting, "model": TRIVIAL, "selection": "none", "metric": metric,
            "mean": values.mean().item(), "std": values.std().item(), "runs": DRAWS, "paper": None,
            **provenance(command),
        })  # fmt: skip
    return rows


def _by_mark(h: Hypergraph) -> float:
    assert h.x is not None
    return float(accuracy(h.x.unsqueeze(0), h.y))


def _train(experiment: str, model: str, setting: str, *, command: str, **options: Any) -> Cell:
    if model == TRIVIAL:
        return {
            "model": model,
            "setting": setting,
            "rows": trivial_rows(setting, command),
            "curves": {},
            "extra": {},
        }
    return train_cell(experiment, model, setting, command=command, **options)


def _draw(cells: Sequence[Cell], path: Path) -> None:
    trained = [cell for cell in cells if cell["curves"]]
    if trained:  # the trivial rule has no curve
        draw_k_edge(trained, path)


def _describe(experiment: str, model: str, setting: str) -> str:
    return f"{EXPERIMENTS[experiment].get(model)} on {DRAWS} draws of {task_of(setting, 0)}"


def _experiment(name: str, title: str) -> Experiment:
    models = (TRIVIAL, *EXPERIMENTS[name])
    return Experiment(
        f"{name}-draws", title, models, SETTINGS, 500, partial(_train, name), partial(_describe, name), _draw
    )


K_EDGE = _experiment("k-edge", f"Table 1 over {DRAWS} draws of the data")
ABLATION = _experiment("ablation", f"Table 5 over {DRAWS} draws of the data")
