"""Node classification: one hypergraph, some labels, many random splits in one computation (section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ehnn.datasets import random_split
from ehnn.hypergraph import Hypergraph

from .scores import accuracy, cross_entropy

FRACTIONS = (0.5, 0.25, 0.25)


@dataclass(frozen=True, eq=False)
class NodeClassification:
    """The task: a full-batch hypergraph and, for each run, a random split of its labelled nodes.

    Run r splits with ``seeds[r]`` alone, so its split does not depend on the runs beside it. All runs see
    the same features; where these carry noise (House, Walmart), it is one draw per dataset, as in the
    AllSet benchmark, and not one per run.

    Every epoch yields the same Hypergraph object and nothing here reads a tensor's values after
    construction, so `fit` records a whole training step once on a GPU and replays it.

    Args:
        h: a hypergraph with ``x [n, d]`` and ``y [n]``, integer classes from 0; negative: no label.
        seeds: one per run.
        fractions: of training, validation and test nodes; no part may be empty.
        score_test: False never looks at the test nodes, for a search of hyperparameters.

    >>> y = torch.tensor([0, 1, 0, 1, 0, 1, 0, -1])
    >>> h = Hypergraph.from_edges([[0, 2, 4, 6], [1, 3, 5, 7]], x=torch.eye(8), y=y)
    >>> task = NodeClassification(h, seeds=range(3))
    >>> task.train.shape, (task.train >= 0).sum(1).tolist(), (task.test >= 0).sum(1).tolist()
    (torch.Size([3, 8]), [3, 3, 3], [3, 3, 3])
    """

    h: Hypergraph
    seeds: Sequence[int] = (0,)
    fractions: Sequence[float] = FRACTIONS
    score_test: bool = True

    def __post_init__(self) -> None:
        if not len(self.seeds):
            raise ValueError("seeds must name at least one run, got none")
        if self.h.x is None:
            raise ValueError(f"the hypergraph must have node features x, got none: {self.h}")
        _check_labels(self.h.y)
        _ = self._labels, self.num_outputs  # a split that cannot be made is an error now, not in epoch 1

    @property
    def num_features(self) -> int:
        """Channels of the node features."""
        assert self.h.x is not None
        return self.h.x.shape[1]

    @cached_property
    def num_outputs(self) -> int:
        """Classes: one more than the largest label."""
        assert self.h.y is not None
        return int(self.h.y.max()) + 1

    @property
    def train(self) -> Tensor:
        """``[runs, n]`` labels of the training nodes of each run, -1 elsewhere."""
        return self._labels[0]

    @property
    def valid(self) -> Tensor:
        """``[runs, n]`` labels of the validation nodes of each run, -1 elsewhere."""
        return self._labels[1]

    @property
    def test(self) -> Tensor:
        """``[runs, n]`` labels of the test nodes of each run, -1 elsewhere."""
        return self._labels[2]

    @cached_property
    def _labels(self) -> Tensor:
        """``[3, runs, n]``."""
        assert self.h.y is not None
        y = self.h.y.cpu().long()
        labels = torch.full((3, len(self.seeds), y.shape[0]), -1)
        for r, seed in enumerate(self.seeds):
            for part, nodes in enumerate(random_split(y, self.fractions, seed=seed)):
                labels[part, r, nodes] = y[nodes]
        return labels.to(self.h.device)

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        """The hypergraph itself, the same object in every epoch."""
        yield self.h

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        """``[runs, n, classes] → [runs]``: cross entropy over each run's training nodes."""
        return cross_entropy(logits, self.train)

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        """Accuracy in percent of each run, ``[runs]``, on its validation and its test nodes."""
        logits = predict(self.evaluated)
        scores = {"valid": accuracy(logits, self.valid)}
        return scores | {"test": accuracy(logits, self.test)} if self.score_test else scores

    @property
    def evaluated(self) -> Hypergraph:
        """The hypergraph on which the models are scored."""
        return self.h


def _check_labels(y: Tensor | None) -> None:
    if y is None:
        raise ValueError("the hypergraph must have node labels y, got none")
    if y.dim() != 1 or y.is_floating_point() or y.is_complex() or y.dtype == torch.bool:
        raise ValueError(f"y must be one integer class per node, got {y.dtype} of shape {list(y.shape)}")
    if not bool((y >= 0).any()):
        raise ValueError(f"not one of the {y.shape[0]} nodes has a label (all of y is negative)")
