"""The time of each epoch of `ehnn.training.fit`, by a task that looks at the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.training import Task, TrainConfig, fit


class Clocked:
    """A task that notes when each epoch begins. An epoch ends by reading its loss, so nothing is pending."""

    def __init__(self, task: Task) -> None:
        self.task, self.starts = task, list[float]()

    def batches(self, epoch: int) -> Iterable[Hypergraph]:
        self.starts.append(time.perf_counter())
        return self.task.batches(epoch)

    def open(self, batch: Any) -> Any:
        return getattr(self.task, "open", lambda same: same)(batch)

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        return self.task.loss(logits, h)

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        return self.task.evaluate(predict)


def epoch_seconds(
    make: Callable[[], nn.Module], task: Task, config: TrainConfig, device: str, **options: Any
) -> list[float]:
    """``[config.epochs]`` seconds: a training pass and an evaluation each, one run with seed 0."""
    clocked = Clocked(task)
    fit(make, clocked, [0], config, device=device, quiet=True, **options)
    ends = [*clocked.starts[1:], time.perf_counter()]
    return [b - a for a, b in zip(clocked.starts, ends, strict=True)]
