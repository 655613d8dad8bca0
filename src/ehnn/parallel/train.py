"""Training on the shards of one hypergraph: the loop of `ehnn.training`, on every rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch.nn.functional as F
from torch import Tensor, nn

from ehnn.datasets.splits import PARTS
from ehnn.hypergraph import Hypergraph
from ehnn.training import Result, TrainConfig
from ehnn.training.loop import _Trainer

from .gradients import replicated
from .masks import number_rows
from .shards import Shard


@dataclass(frozen=True, eq=False)
class ShardNodes:
    """Node classification on one rank; a task for `fit_shard`.

    Args:
        h: a shard whose ``y [num_nodes, 3]`` has the label of each node in the column of its part (training,
            validation, test) and −1 in the others.

    >>> import ehnn, torch
    >>> from ehnn.parallel import Ranks, partition, shard, with_parts
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2, 3]], x=torch.eye(4), y=torch.tensor([0, 1, 0, 1]))
    >>> h = with_parts(h, seed=0)
    >>> task = ShardNodes(shard(h, partition(h, 1, "contiguous"), Ranks()))  # one rank alone
    >>> len(list(task.batches(0)))
    1
    """

    h: Shard
    counts: Tensor = field(init=False)
    """``[3]`` nodes of each part on all ranks."""

    def __post_init__(self) -> None:
        y = self.h.y
        if y is None or y.dim() != 2 or y.shape[1] != len(PARTS):
            raise ValueError(
                f"y of a shard must have the columns {PARTS}, got {None if y is None else y.shape}"
            )
        counts = self.h.ranks.sum((y >= 0).sum(0))
        empty = [part for part, count in zip(PARTS, counts.tolist(), strict=True) if not count]
        if empty:
            raise ValueError(f"no node of any rank is in the part {empty[0]!r}")
        object.__setattr__(self, "counts", counts)

    @property
    def num_features(self) -> int:
        return self.h.features("nodes").shape[1]

    @property
    def labels(self) -> Tensor:
        assert self.h.y is not None
        return self.h.y

    def num_outputs(self) -> int:
        """Classes on all ranks. A collective."""
        largest = self.labels.max() if self.labels.numel() else self.labels.new_tensor(-1)
        return int(self.h.ranks.max(largest)) + 1

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        """The shard itself."""
        yield self.h

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        """``[1, n, classes] → [1]``: the cross entropy over the training nodes of all ranks. A collective.

        Its gradient is that of the share which this rank's nodes have in it.
        """
        losses = F.cross_entropy(logits[0], self.labels[:, 0], ignore_index=-1, reduction="none")
        share = losses.sum().unsqueeze(0) / self.counts[0]
        return share + (self.h.ranks.sum(share) - share.detach())

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        """Accuracy in percent over all ranks, ``[1]`` each. A collective."""
        found = predict(self.h)[0].argmax(-1)
        right = self.h.ranks.sum((found.unsqueeze(1) == self.labels).sum(0))
        percent = 100 * right.double() / self.counts
        return {part: percent[i : i + 1] for i, part in enumerate(PARTS) if i}


def fit_shard(
    make: Callable[[], nn.Module],
    task: ShardNodes,
    seed: int,
    config: TrainConfig | None = None,
    *,
    directory: Path | str | None = None,
    label: str = "training",
    quiet: bool = False,
) -> Result:
    """`ehnn.training.fit` with one seed on the shards of a hypergraph: the same curve on any number of ranks.

    All ranks call it with the same arguments: ``make``, ``config``, ``label`` and ``quiet`` are those of
    `fit`, and ``task`` is the shard with its labels. Parameters, optimiser and metrics are the same on all
    ranks, so rank 0 alone shows progress and writes ``metrics.jsonl`` and a complete checkpoint. Every rank
    reads the checkpoint when it starts, so all hosts must see ``directory``. Any number of ranks, and `fit`,
    can continue from a checkpoint of any number of ranks.

    >>> import ehnn, torch
    >>> from ehnn.parallel import Ranks, partition, shard, with_parts
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2, 3]], x=torch.eye(4), y=torch.tensor([0, 1, 0, 1]))
    >>> h = with_parts(h, seed=0)
    >>> task = ShardNodes(shard(h, partition(h, 1, "contiguous"), Ranks()))  # one rank alone
    >>> make = lambda: ehnn.nn.Stack(4, 2, ehnn.nn.EHNNMLP)
    >>> len(fit_shard(make, task, 0, TrainConfig(epochs=2), quiet=True).history)
    2
    """
    trainer = _RankTrainer(make, task, seed, config or TrainConfig(), directory)
    return trainer.run(label, quiet or task.h.ranks.rank > 0)


class _RankTrainer(_Trainer):
    """The trainer of one rank: gradients are summed over ranks, and files are written by rank 0 alone."""

    def __init__(
        self,
        make: Callable[[], nn.Module],
        task: ShardNodes,
        seed: int,
        config: TrainConfig,
        directory: Path | str | None,
    ) -> None:
        for name in ("amp", "compile"):
            if getattr(config, name):
                raise ValueError(f"{name}=True is not available on shards")
        self.ranks = task.h.ranks
        self._read_from = None if directory is None else Path(directory)
        writes = directory if self.ranks.rank == 0 else None
        super().__init__(make, task, [seed], config, writes, task.h.device)
        self._train_step, self._predict = self._step, self._forward  # no recorded CUDA graphs
        self._numbering = number_rows(self.result.runs.model)

    def close(self) -> None:
        super().close()
        self._numbering.remove()

    def _forward(self, h: Hypergraph, step: Tensor | None = None) -> Tensor:
        if step is None:
            return super()._forward(h)
        runs = self.result.runs
        return runs.forward(h, step=step, parameters=replicated(runs.parameters, self.ranks))

    def _resume(self) -> None:
        """Every rank reads the checkpoint that rank 0 wrote."""
        writes, self.directory = self.directory, self._read_from
        try:
            self.ranks.together(super()._resume)
        finally:
            self.directory = writes
        epochs = self.ranks.counts(self.epoch, self.device)
        if len(set(epochs)) > 1:
            raise ValueError(
                f"ranks found checkpoints of different epochs {epochs}: every host must see {self._read_from}"
            )

    def _rewrite_metrics(self) -> None:
        if self.ranks.rank == 0:
            super()._rewrite_metrics()
