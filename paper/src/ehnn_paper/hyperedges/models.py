"""The models of the table of hyperedge prediction, their settings, and its cells."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch

import ehnn
from ehnn.tasks.hyperedges import co_membership, common_neighbours
from ehnn.tasks.hyperedges.affinity import RANKS, Affinity
from ehnn.tasks.hyperedges.evidence import EVIDENCE, evidence
from ehnn.tasks.hyperedges.scoring import concatenate
from ehnn.tasks.hyperedges.split import MIN_ORDER

from .data import GIVEN, measure, problem


def affinity(known: ehnn.Hypergraph, candidates: ehnn.Hypergraph) -> torch.Tensor:
    """How much more often its nodes meet than degrees say, by the 16 strongest patterns."""
    return Affinity.of(known)(candidates)[:, RANKS.index(16)].double()


def mean_degree(known: ehnn.Hypergraph, candidates: ehnn.Hypergraph) -> torch.Tensor:
    """What degrees alone tell: the mean of log(1 + degree) over the nodes of a candidate."""
    return evidence(known, candidates)[:, EVIDENCE.index("mean degree")]


def size(known: ehnn.Hypergraph, candidates: ehnn.Hypergraph) -> torch.Tensor:
    """What sizes alone tell: nothing, where every negative is as large as its real hyperedge."""
    return candidates.orders.double()


HEURISTICS = {
    "size": size,
    "mean-degree": mean_degree,
    "common-neighbours": common_neighbours,
    "co-membership": co_membership,
    "affinity": affinity,
}
TRAINED = ("ehnn-mlp", "ehnn-transformer", "all-deep-sets", "all-set-transformer")
NETWORK, DEFAULT = "hyperedge-predictor", "hyperedge-predictor-auto"
ESTIMATORS = {NETWORK: {"model": "ehnn-mlp"}, DEFAULT: {}}
"""Arguments of `ehnn.HyperedgePredictor`; nothing but the epoch is chosen by the table."""
GRID = [{"lr": lr, "dropout": dropout} for lr, dropout in product((1e-3, 3e-3), (0.0, 0.3))]
WITHOUT_GIVEN = [setting | {"features": "structural"} for setting in GRID]


@dataclass(frozen=True)
class Cell:
    """One model with one setting on one split.

    ``choice`` numbers it among the dataset's `choices`; ``data`` is the digest of the data.
    """

    dataset: str
    hyperedges: int | None
    model: str
    choice: int
    seed: int
    candidates: int = 500
    epochs: int | None = None
    smallest: int = MIN_ORDER
    data: str = ""

    def path(self, out: Path) -> Path:
        """Where its figures are kept."""
        part = f"-{self.hyperedges}" if self.hyperedges else ""
        part += f"-from-{self.smallest}" if self.smallest != MIN_ORDER else ""
        tried = f"-{self.choice}" if self.model in TRAINED else ""
        return out / f"{self.dataset}{part}" / f"{self.model}{tried}-seed-{self.seed}.json"


def choices(dataset: str) -> list[dict[str, Any]]:
    """The settings that each trained model has; features of the dataset's own can be left aside."""
    return GRID + WITHOUT_GIVEN if dataset in GIVEN else GRID


def compute(cell: Cell, device: str, data_dir: str | None) -> dict[str, Any]:
    """Metrics in percent on what was held out, the validation metric, and seconds to fit."""
    asked = (cell.dataset, cell.hyperedges, cell.seed, cell.candidates, cell.smallest)
    known, parts = problem(*asked, data_dir)
    everything = parts[0]
    for part in parts[1:]:
        everything = concatenate(everything, part)
    if cell.model in HEURISTICS:
        return measure(HEURISTICS[cell.model](known, everything), parts[0])
    start = time.monotonic()
    given: dict[str, Any] = {"random_state": cell.seed, "device": device}
    given |= {"epochs": cell.epochs} if cell.epochs else {}
    if cell.model in ESTIMATORS:
        given |= ESTIMATORS[cell.model]
    else:
        given |= {"model": cell.model, **choices(cell.dataset)[cell.choice]}
    model = ehnn.HyperedgePredictor(**given).fit(known)
    valid = model.history_[model.best_epoch_ - 1]["valid"]
    if cell.model == DEFAULT:
        valid = 100 * model.leaderboard_[-1]["auroc"]
    shown = {"seconds": time.monotonic() - start, "valid": valid}
    return shown | measure(torch.from_numpy(model.decision_function(everything)), parts[0])
