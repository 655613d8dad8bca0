"""The interface of a task, and the result of a training."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from .runs import Runs


class Task(Protocol):
    """Data, loss and metric. All metrics are per run; larger is better.

    A batch with an attribute ``run_x`` ``[runs, rows, d]`` gives each run features of its own.

    A batch may be anything that the model takes in place of a Hypergraph. A task may have a method
    ``open(batch)``: what it makes of a training batch is given to the model and to ``loss``, as part of the
    step that is recorded on a GPU (see `ehnn.training.replay` for batches that occur once). Further
    metrics, named with a slash such as ``"test/duck"``, are kept in the history.

    >>> class MeanOfNodes:  # learn to give every node 1
    ...     def __init__(self, h): self.h = h
    ...     def batches(self, epoch): return [self.h]
    ...     def loss(self, out, h): return (out - 1).pow(2).mean((1, 2))  # [runs, num_nodes, d] to [runs]
    ...     def evaluate(self, predict):
    ...         score = -self.loss(predict(self.h), self.h).double()
    ...         return {"valid": score, "test": score}
    """

    def batches(self, epoch: int, /) -> Iterable[Any]:
        """The training batches of an epoch; a function of the task and the epoch alone."""

    def loss(self, logits: Tensor, h: Any, /) -> Tensor:
        """``[runs, rows, channels] → [runs]``."""

    def evaluate(self, predict: Callable[[Any], Tensor], /) -> dict[str, Tensor]:
        """``{"valid": [runs], "test": [runs]}`` of ``predict: h → [runs, rows, channels]``.

        Without ``valid``, where nothing is held out, the last epoch is the one that is kept.
        """


def out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out: on a CPU that is a RuntimeError of the allocator."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "allocate memory" in str(error)


class NotFiniteError(RuntimeError):
    """The loss of a run is not finite; the last good checkpoint is kept."""


@dataclass
class Result:
    """The result of `fit`.

    Attributes:
        runs: the models, with the parameters of the last epoch (not averaged).
        history: one entry per evaluated epoch: ``epoch``, ``loss``, ``valid``, ``test`` (lists over runs).
        best: parameters of each run (averaged, with ``ema``) at its best validation metric, stacked; of a
            single run also the buffers of its state dict.
        best_valid: the best validation metric of each run.
        best_epoch: the epoch of each.

    >>> from ehnn import Hypergraph, nn, tasks, training
    >>> y = torch.tensor([0, 1] * 4)
    >>> h = Hypergraph.from_edges([[0, 2], [1, 3]], num_nodes=8, x=torch.eye(8), y=y)
    >>> model = lambda: nn.baselines.MLP(8, 2)
    >>> config = training.TrainConfig(epochs=2)
    >>> result = training.fit(model, tasks.NodeClassification(h), [0], config, quiet=True)
    >>> len(result.history), len(result.selected())
    (2, 1)
    """

    runs: Runs
    history: list[dict[str, Any]] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)
    best_valid: list[float] = field(default_factory=list)
    best_epoch: list[int] = field(default_factory=list)

    def selected(self, rule: str = "validation") -> list[float]:
        """Test metric of each run: at its best validation epoch, or (``"test-best"``) the best of all."""
        if any("test" not in row for row in self.history):
            raise ValueError("not every evaluated epoch has a test metric; see best_valid")
        tests = torch.tensor([row["test"] for row in self.history], dtype=torch.float64)
        if rule == "test-best":
            return tests.amax(0).tolist()
        if rule != "validation":
            raise ValueError(f"rule must be 'validation' or 'test-best', got {rule!r}")
        epochs = [row["epoch"] for row in self.history]
        return [tests[epochs.index(e), r].item() for r, e in enumerate(self.best_epoch)]
