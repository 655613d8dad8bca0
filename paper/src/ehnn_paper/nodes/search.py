"""Compare settings of node classification on validation nodes alone.

The best validation accuracy over 500 epochs flatters whatever fluctuates most. Here the validation nodes of a
run are halved: one half chooses the epoch, the other is scored, and both ways are averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.tasks.node_classification import NodeClassification
from ehnn.tasks.scores import accuracy
from ehnn.training import fit

from .config import find_model, make_model
from .runs import make_task
from .settings import Settings

FIRST_SEED = 1_000_000
"""Splits and initialisations of a search are not those of the reported runs, which count from 0."""


@dataclass(frozen=True, eq=False)
class Halved:
    """A task whose validation nodes are scored in two halves, ``first`` and ``second``; test nodes never."""

    task: NodeClassification

    def batches(self, epoch: int) -> Iterable[Hypergraph]:
        """Those of the task."""
        return self.task.batches(epoch)

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        """That of the task."""
        return self.task.loss(logits, h)

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        """Accuracy in percent of each run on all of its validation nodes and on each half."""
        logits = predict(self.task.evaluated)
        first, second = self.halves
        return {
            "valid": accuracy(logits, self.task.valid),
            "first": accuracy(logits, first),
            "second": accuracy(logits, second),
        }

    @cached_property
    def halves(self) -> tuple[Tensor, Tensor]:
        """``[runs, n]`` labels, -1 elsewhere: every other validation node of a run, and the rest."""
        valid = self.task.valid
        odd = ((valid >= 0).cumsum(1) % 2).bool()
        return valid.masked_fill(~odd, -1), valid.masked_fill(odd, -1)


def held_out(history: Sequence[Mapping[str, Any]]) -> float:
    """Mean over runs of the accuracy of one half at the best epoch (of equals the last) of the other.

    >>> held_out([{"first": [90.0], "second": [60.0]}, {"first": [80.0], "second": [70.0]}])
    70.0
    """
    first = torch.tensor([row["first"] for row in history], dtype=torch.float64)
    second = torch.tensor([row["second"] for row in history], dtype=torch.float64)
    return (_at_best(second, first) + _at_best(first, second)) / 2


def _at_best(scored: Tensor, chosen: Tensor) -> float:
    """``[epochs, runs]`` twice."""
    epoch = chosen.shape[0] - 1 - chosen.flip(0).argmax(0)
    return float(scored.gather(0, epoch.unsqueeze(0)).mean())


def compare(
    h: Hypergraph,
    model: str,
    settings: Settings,
    *,
    runs: int,
    epochs: int,
    device: str = "cpu",
    first_seed: int = FIRST_SEED,
) -> dict[str, float]:
    """``held_out`` accuracy, and the mean ``best`` validation accuracy, of ``runs`` runs at once."""
    h = find_model(model).prepare(h).to(device)
    seeds = range(first_seed, first_seed + runs)
    task = make_task(h, model, seeds, settings, score_test=False)
    make = partial(make_model, model, settings, task.num_features, task.num_outputs)
    config = settings.train_config(epochs, model)
    result = fit(make, Halved(task), seeds, config, device=device, quiet=True)
    return {"held_out": held_out(result.history), "best": sum(result.best_valid) / runs}
