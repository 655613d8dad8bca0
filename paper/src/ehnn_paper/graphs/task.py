"""Hypergraph classification in folds: one run per fold, all side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from ehnn.estimators.features import Features
from ehnn.hypergraph import Hypergraph, batch
from ehnn.tasks.draws import generator_of

from .data import Labelled, parts_of

_TIE = 1e-4
"""Of equal validation accuracies (in percent) the smaller loss wins: small sets have many equal ones."""


@dataclass(frozen=True, eq=False)
class FoldedGraphs:
    """All runs see the same batches, and each learns and is scored on the hypergraphs of its own parts.

    The nodes have structural features (degrees, orders), which read no labels.

    Args:
        data: hypergraphs and labels.
        seed: of the folds and batches.
        prepare: changes a batch for the model, for example adds self-loops.
        batch_size: hypergraphs per step, of which a run learns from about 64 %.
        device: of the batches.
    """

    data: Labelled
    seed: int = 0
    prepare: Callable[[Hypergraph], Hypergraph] = lambda h: h
    batch_size: int = 64
    device: str = "cpu"

    @property
    def num_features(self) -> int:
        """Structural channels of a node."""
        assert self._batches[0].x is not None
        return self._batches[0].x.shape[1]

    @property
    def num_outputs(self) -> int:
        """Classes, or labels."""
        return self.data.num_outputs

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        return len(self._batches)

    @cached_property
    def _rows(self) -> list[Tensor]:
        generator = torch.Generator().manual_seed(self.seed)
        return list(torch.randperm(len(self.data.y), generator=generator).split(self.batch_size))

    @cached_property
    def _batches(self) -> list[Hypergraph]:
        members = [batch([self.data.members[i] for i in rows.tolist()]) for rows in self._rows]
        features = Features.learn(batch(members), "structural")
        return [self.prepare(features.apply(h)).to(self.device) for h in members]

    @cached_property
    def _known(self) -> dict[int, tuple[Tensor, Tensor]]:
        """Batch → labels, and the part that each hypergraph has in each run, ``[runs, members]``."""
        parts = parts_of(self.data.y, self.seed)
        return {
            id(h): (self.data.y[rows].to(self.device), parts[:, rows].to(self.device))
            for h, rows in zip(self._batches, self._rows, strict=True)
        }

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        """All batches, shuffled by (seed, epoch)."""
        for i in torch.randperm(self.steps, generator=generator_of(self.seed, epoch)).tolist():
            yield self._batches[i]

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        """``[runs, members, outputs] → [runs]``: cross entropy over each run's training hypergraphs."""
        y, part = self._known[id(h)]
        inside = (part == 0).to(logits.dtype)
        return (losses(logits, y) * inside).sum(1) / inside.sum(1).clamp(min=1)

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        """Accuracy in percent of each run; of several labels all must be right."""
        found = [(predict(h).clone(), *self._known[id(h)]) for h in self._batches]  # replays overwrite
        logits, part = torch.cat([f[0] for f in found], 1), torch.cat([f[2] for f in found], 1)
        y = torch.cat([f[1] for f in found])
        valid, test = ((part == k).double() for k in (1, 2))
        loss = (losses(logits, y) * valid).sum(1) / valid.sum(1)
        right = correct(logits, y).double()
        accuracies = [100 * (right * inside).sum(1) / inside.sum(1) for inside in (valid, test)]
        return {"valid": accuracies[0] - _TIE * loss / (1 + loss), "test": accuracies[1]}


def losses(logits: Tensor, y: Tensor) -> Tensor:
    """``[runs, n, c]`` and classes ``[n]`` or 0/1 labels ``[n, c]`` → ``[runs, n]``."""
    if y.dim() == 1:
        return F.cross_entropy(logits.movedim(-1, 1), y.expand(logits.shape[:2]), reduction="none")
    return F.binary_cross_entropy_with_logits(
        logits, y.to(logits.dtype).expand_as(logits), reduction="none"
    ).mean(-1)


def correct(logits: Tensor, y: Tensor) -> Tensor:
    """``[runs, n]``: whether the class, or all labels, are right."""
    return logits.argmax(-1) == y if y.dim() == 1 else ((logits > 0) == (y > 0)).all(-1)
