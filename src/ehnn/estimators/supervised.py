"""Training on labelled rows: the task, and the part of the labels that selects the epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.pairs import starts
from ehnn.parallel.sampling import Sample, sample, seed_batches
from ehnn.tasks.draws import generator_of

from .targets import Classes, Targets

Batches = Sequence[tuple[Hypergraph, Tensor]]
_TIE = 1e-4
"""Of equal validation metrics (in percent) the smaller loss wins: on few rows many epochs are equal, and the
first of them is long before the model is good."""
BATCH, STEPS, CHECKS = 1024, 32, 8
"""Of samples: nodes with labels in a batch, batches in an epoch, and batches that are validated."""


class Supervised:
    """A `Task`: batches with a target for each row of the output; missing targets do not count.

    Args:
        train, valid: (batch, encoded targets); without ``valid`` the last epoch is the best.
        targets: the loss and the metric.
        seed: of the order of the batches.
        weights: ``[rows]`` of each batch of ``train``.
        valid_weights: of each batch of ``valid``.
    """

    def __init__(
        self, train: Batches, valid: Batches, targets: Targets, seed: int = 0,
        weights: Sequence[Tensor] | None = None, valid_weights: Sequence[Tensor] | None = None,
    ) -> None:  # fmt: skip
        self.train, self.valid, self.targets, self.seed = train, valid, targets, seed
        self.valid_weight = torch.cat(list(valid_weights)) if valid_weights else None
        self._target = {id(h): target for h, target in train}
        self._weight = {id(h): w for (h, _), w in zip(train, weights or [], strict=bool(weights))}

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        generator = generator_of(self.seed, epoch)
        for i in torch.randperm(len(self.train), generator=generator).tolist():
            yield self.train[i][0]

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        target = self._target[id(h)]
        _check_rows(logits, target, self.targets.num_outputs)
        return self.targets.loss(logits, target, self._weight.get(id(h)))

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        if not self.valid:
            return {}
        # A replayed prediction is overwritten by the next one, so each is copied.
        logits = torch.cat([predict(h).clone() for h, _ in self.valid], 1)
        return _valid(self.targets, logits, torch.cat([t for _, t in self.valid]), self.valid_weight)


class SampledRows:
    """A `Task`: mini-batches around labelled nodes of one large hypergraph. **Approximate**; see `sample`.

    An epoch has at most `STEPS` batches, so that it does not grow with the hypergraph; `CHECKS` batches of
    validation nodes are sampled in the same way.

    Args:
        h: the hypergraph.
        train, valid: ``[num_nodes, …]`` encoded targets; without a label in ``valid`` the last epoch is best.
        targets: the loss and the metric.
        seed: of batches and draws.
        weight: ``[num_nodes]``, or None.
        fan_out: of `sample`; see `fan_out_of`.
    """

    def __init__(
        self, h: Hypergraph, train: Tensor, valid: Tensor, targets: Targets, seed: int, weight: Tensor | None,
        fan_out: Sequence[tuple[int, int]],
    ) -> None:  # fmt: skip
        self.h, self.target, self.valid, self.targets, self.seed = h, train, valid, targets, seed
        self.weight, self.fan_out = weight, fan_out
        self.seeds = targets.labelled(train).nonzero().squeeze(1)
        self.checked = targets.labelled(valid).nonzero().squeeze(1)

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        generator = generator_of(self.seed, epoch, self.h.device)
        for rows in islice(seed_batches(self.seeds, BATCH, self.seed, epoch), STEPS):
            yield sample(self.h, rows, self.fan_out, generator)

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        assert isinstance(h, Sample)
        rows = h.node_ids[: h.num_seeds]
        weight = None if self.weight is None else self.weight[rows]
        return self.targets.loss(logits[:, : h.num_seeds], self.target[rows], weight)

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        if not len(self.checked):
            return {}
        generator = generator_of(self.seed, 0, self.h.device)  # the same samples in every epoch
        rows = list(islice(seed_batches(self.checked, BATCH, self.seed, 0), CHECKS))
        parts = [predict(sample(self.h, r, self.fan_out, generator))[:, : len(r)] for r in rows]
        chosen = torch.cat(rows)
        weight = None if self.weight is None else self.weight[chosen]
        return _valid(self.targets, torch.cat(parts, 1), self.valid[chosen], weight)


def fan_out_of(pairs: int, edge_features: bool) -> list[tuple[int, int]]:
    """Draws for so many pairs of layers nodes → all → nodes, so that a sample has some 10⁵ nodes.

    Features of hyperedges are read in one more layer, which needs no further nodes.
    """
    return [(8, 16) if pairs == 1 else (4, 4)] * pairs + [(4, 1)] * edge_features


def _valid(targets: Targets, logits: Tensor, target: Tensor, weight: Tensor | None) -> dict[str, Tensor]:
    """The validation metric; of equal ones the smaller loss is better."""
    loss = targets.loss(logits, target, weight)
    return {"valid": targets.metric(logits, target, weight) - _TIE * loss / (1 + loss)}


def _check_rows(logits: Tensor, target: Tensor, outputs: int) -> None:
    wanted = [target.shape[0], outputs]
    if list(logits.shape[1:]) != wanted:
        raise ValueError(f"the model must give {wanted} (rows, outputs), got {list(logits.shape[1:])}")


def train_and_valid(
    targets: Targets, target: Tensor, judging: np.ndarray | None, fraction: float, seed: int
) -> tuple[Tensor, Tensor]:
    """Boolean rows (train, valid) of labels: valid are ``judging``, or what `hold_out` draws."""
    if judging is None:
        return hold_out(targets, target, fraction, seed)
    labelled, chosen = targets.labelled(target), torch.from_numpy(judging)
    return labelled & ~chosen, labelled & chosen


def hold_out(targets: Targets, target: Tensor, fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Boolean rows (train, valid) among the labelled ones: random, and within each class for classes.

    At least one row of each class, and one in all, stays for training.
    """
    rows = targets.labelled(target)
    groups = target if isinstance(targets, Classes) else torch.zeros_like(rows, dtype=torch.int64)
    generator = torch.Generator().manual_seed(seed % 2**63)
    order = torch.randperm(rows.shape[0], generator=generator)
    order = order[rows[order]]
    order = order[torch.sort(groups[order], stable=True).indices]
    counts = torch.bincount(groups[order])
    start = starts(counts)[groups[order]]
    place = torch.arange(order.shape[0]) - start  # of the row within its class
    share = (fraction * counts.double()).round().clamp(max=(counts - 1).clamp(min=0))
    valid = torch.zeros_like(rows)
    valid[order] = place < share[groups[order]]
    return rows & ~valid, valid
