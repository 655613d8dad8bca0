"""Tables 1 and 5 over several draws of the data: what a reader who draws the hypergraphs anew will see.

A draw is a training, a validation and a test set of its own; several seeds of initialisation and dropout are
trained on each. The spread over draws and the spread over seeds are kept apart. Each draw is tested on 200
hypergraphs, and on 20 as the paper did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph, batch
from ehnn.tasks.draws import generator_of
from ehnn.tasks.scores import accuracy, cross_entropy
from ehnn.training import Result, fit
from ehnn_paper.experiment import Cell, Experiment, make_cell
from ehnn_paper.results import provenance

from .figure import draw_k_edge
from .recipes import SETTINGS, TABLE_1, TABLE_5
from .task import TRAIN_ORDERS, KEdge

DRAWS = 5
TEST = 200
TRIVIAL = "predict-the-mark"
"""The rule without training: a node is in a hyperedge of the marked order if it is marked itself."""
SCHEDULED = {
    f"{model}-cosine": replace(TABLE_1[model], schedule="cosine")
    for model in ("ehnn-mlp", "ehnn-transformer")
}
"""The paper's models with a learning rate that falls to zero: how much of a gap to the paper is training."""
RECIPES = TABLE_1 | TABLE_5 | SCHEDULED
METRICS = {"accuracy": "test", "accuracy_20": "test/20"}
"""Metric of a row → metric of the history: on 200 test hypergraphs of each draw, and on 20."""


@dataclass(frozen=True, eq=False)
class DrawnKEdge:
    """k-edge identification on several draws at once; run ``i`` is of draw ``i // seeds``.

    All runs see the disjoint union of the draws' batches, and each learns and is scored on the nodes of its
    own draw. The members of a batch do not see each other, so a run is the one it would be alone. A GPU needs
    hardly longer for five draws than for one.

    Args:
        draws: one task per draw; they differ in the seed alone.
        seeds: number of runs on each draw.
    """

    draws: Sequence[KEdge]
    seeds: int

    num_features = KEdge.num_features
    num_outputs = KEdge.num_outputs

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        """The training batches of an epoch, shuffled by (seed of the first draw, epoch)."""
        parts = self._partitioned[epoch % len(self._partitioned)]
        order = torch.randperm(len(parts), generator=generator_of(self.draws[0].seed, epoch))
        for i in order.tolist():
            yield parts[i]

    @cached_property
    def _partitioned(self) -> list[list[Hypergraph]]:
        """Batch i of a partition has batch i of that partition of every draw."""
        by_draw = zip(*(draw.partitioned for draw in self.draws), strict=True)
        return [[batch(parts) for parts in zip(*partition, strict=True)] for partition in by_draw]

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        """``[runs, n, 2] → [runs]``: cross entropy."""
        return cross_entropy(logits, self.targets(h))

    def targets(self, h: Hypergraph) -> Tensor:
        """``[runs, n]``: the labels of a run's own draw, -1 elsewhere; h has as many members of each draw."""
        assert h.y is not None
        run = torch.arange(len(self.draws) * self.seeds, device=h.device).unsqueeze(1)
        others = h.node_batch * len(self.draws) // h.num_members != run // self.seeds
        return h.y.expand(others.shape).masked_fill(others, -1)

    @cached_property
    def scored(self) -> dict[str, Hypergraph]:
        """The validation hypergraphs, the test hypergraphs, and 20 that are in no other part of any draw."""
        small = [replace(draw, seed=draw.seed + 1000, test=20) for draw in self.draws]
        return {
            "valid": batch([draw.valid_batch for draw in self.draws]),
            "test": batch([draw.test_batch for draw in self.draws]),
            "test/20": batch([draw.test_batch for draw in small]),
        }

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        """Accuracy in percent of each run, ``[runs]``; ``test/20`` is that on as many as in the paper."""
        return {name: accuracy(predict(h), self.targets(h)) for name, h in self.scored.items()}

    def accuracy_by_order(self, predict: Callable[[Hypergraph], Tensor]) -> dict[int, list[float]]:
        """Test accuracy in percent of the runs over the hypergraphs marked with each order."""
        found: dict[int, list[float]] = {}
        for i, draw in enumerate(self.draws):
            for k, values in draw.accuracy_by_order(predict).items():
                found.setdefault(k, []).extend(values[i * self.seeds : (i + 1) * self.seeds].tolist())
        return dict(sorted(found.items()))


def draw_of(setting: str, draw: int, device: str = "cpu") -> KEdge:
    """The task of draw 0, 1, …; no two draws share a hypergraph, nor does `KEdge` with its default seed."""
    return KEdge(setting, seed=draw + 1, test=TEST, device=device)


def train_cell(
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
    """Train one model in one setting on every draw: all draws at once on a GPU, one by one on a CPU."""
    recipe = RECIPES[model]
    together = DRAWS if torch.device(device).type == "cuda" else 1
    results = []
    by_order: dict[int, list[float]] = {}
    for first in range(0, DRAWS, together):
        numbers = range(first, min(first + together, DRAWS))
        task = DrawnKEdge([draw_of(setting, draw, device) for draw in numbers], len(seeds))
        folder = None if directory is None else directory / f"draws-{numbers[0]}-to-{numbers[-1]}"
        result = fit(
            recipe.make, task, [*seeds] * len(numbers), recipe.config(epochs), directory=folder,
            device=device, label=f"{model}, {setting}, {numbers[-1] + 1} of {DRAWS} draws", quiet=quiet,
        )  # fmt: skip
        result.runs.load(result.best)
        with torch.no_grad():
            for k, values in task.accuracy_by_order(result.runs.forward).items():
                by_order.setdefault(k, []).extend(values)
        results.append(result)
    paper = recipe.paper[SETTINGS.index(setting)]
    about = provenance(command, seeds=seeds, settings=recipe.settings() | {"draws": DRAWS})
    rows = rows_of(model, setting, results, len(seeds), paper, about)
    extra = {"orders": TRAIN_ORDERS[setting], "by_order": dict(sorted(by_order.items()))}
    cell = make_cell(model, setting, _joined(results), rows, extra)
    return cell | {"rows": rows + order_rows(cell)}


def rows_of(
    model: str,
    setting: str,
    results: Sequence[Result],
    seeds: int,
    paper: float | None,
    about: dict[str, Any],
) -> list[dict[str, Any]]:
    """Rows under both selection rules; ``std`` is over draws, ``…_std_over_seeds`` within a draw."""
    rows = []
    for metric, name in METRICS.items():
        for rule in ("validation", "test-best"):
            found = [value for result in results for value in _selected(result, name, rule)]
            values = torch.tensor(found, dtype=torch.float64).reshape(-1, seeds)
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


def order_rows(cell: Cell) -> list[dict[str, Any]]:
    """Mean accuracy over the marked orders of the training data, and over those that were never seen.

    Orders that are marked in every draw count, each alike; parameters are those that validation chose.
    """
    accuracy = next(r for r in cell["rows"] if (r["metric"], r["selection"]) == ("accuracy", "validation"))
    everywhere = {int(k): v for k, v in cell["extra"]["by_order"].items() if len(v) == accuracy["runs"]}
    by_order = {k: torch.tensor(v, dtype=torch.float64) for k, v in everywhere.items()}
    rows = []
    for name, seen in (("accuracy_seen_orders", True), ("accuracy_unseen_orders", False)):
        chosen = [values for k, values in by_order.items() if (k in cell["extra"]["orders"]) == seen]
        if chosen:
            draws = torch.stack(chosen).mean(0).reshape(-1, len(accuracy["seeds"])).mean(1)
            spread = draws.std().item() if len(draws) > 1 else None
            rows.append(accuracy | {"metric": name, "mean": draws.mean().item(), "std": spread})
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
    tasks = [DrawnKEdge([draw_of(setting, draw)], 1) for draw in range(DRAWS)]
    for metric, part in METRICS.items():
        values = torch.tensor([_by_mark(task.scored[part]) for task in tasks])
        rows.append({
            "setting": setting, "model": TRIVIAL, "selection": "none", "metric": metric,
            "mean": values.mean().item(), "std": values.std().item(), "runs": DRAWS, "paper": None,
            **provenance(command),
        })  # fmt: skip
    return rows


def _by_mark(h: Hypergraph) -> float:
    assert h.x is not None
    return float(accuracy(h.x.unsqueeze(0), h.y))


def _train(model: str, setting: str, *, command: str, **options: Any) -> Cell:
    if model == TRIVIAL:
        return {
            "model": model,
            "setting": setting,
            "rows": trivial_rows(setting, command),
            "curves": {},
            "extra": {},
        }
    return train_cell(model, setting, command=command, **options)


def _draw(cells: Sequence[Cell], path: Path) -> None:
    trained = [cell for cell in cells if cell["curves"]]
    if trained:  # the trivial rule has no curve
        draw_k_edge(trained, path)


def _describe(model: str, setting: str) -> str:
    return f"{RECIPES.get(model)} on {DRAWS} draws of {draw_of(setting, 0)}"


def _experiment(name: str, title: str, models: tuple[str, ...]) -> Experiment:
    return Experiment(f"{name}-draws", title, models, SETTINGS, 500, _train, _describe, _draw)


K_EDGE = _experiment("k-edge", f"Table 1 over {DRAWS} draws of the data", (TRIVIAL, *TABLE_1, *SCHEDULED))
ABLATION = _experiment(
    "ablation",
    f"Table 5 over {DRAWS} draws of the data, without the rows that Table 1 has",
    tuple(model for model in TABLE_5 if model not in TABLE_1),
)
