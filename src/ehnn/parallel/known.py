"""Labels of training nodes as inputs: a node sees those of others, never its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from ehnn.datasets.splits import PARTS
from ehnn.hypergraph import Hypergraph
from ehnn.ops.dropout.naive import Mask, uniform

from .shards import Shard
from .train import ShardNodes


@dataclass(frozen=True, eq=False)
class KnownLabels(ShardNodes):
    """`ShardNodes` with the labels of training nodes as further inputs.

    In every epoch a random part of the training labels is hidden, and the loss is that of the hidden ones.
    For validation and test all training labels are shown, and no other. Which are hidden is a hash of (seed,
    epoch, node), the same on any number of ranks.

    Args:
        h: as in `ShardNodes`. The features get a channel for each class, and one for "not shown".
        hidden: the part that is hidden.
        seed: of the parts.

    >>> import ehnn, torch
    >>> from ehnn.parallel import Ranks, partition, shard, with_parts
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2, 3]], x=torch.eye(4), y=torch.tensor([0, 1, 0, 1]))
    >>> h = with_parts(h, seed=0)
    >>> task = KnownLabels(shard(h, partition(h, 1, "contiguous"), Ranks()), hidden=0.5)  # one rank alone
    >>> task.num_features  # 4 features, 2 classes, "not shown"
    7
    """

    hidden: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.hidden <= 1:
            raise ValueError(f"hidden must be in (0, 1], got {self.hidden}")
        _ = self.classes  # a collective, now

    @cached_property
    def classes(self) -> int:
        """Classes on all ranks."""
        return self.num_outputs()

    @property
    def num_features(self) -> int:
        return super().num_features + self.classes + 1

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        """The shard with some training labels shown in ``x`` and the others alone in ``y[:, 0]``."""
        h, known = self.h, self.labels[:, 0]
        seed = torch.tensor(self.seed * 1_000_003 + epoch, device=h.device)
        draw = uniform(Mask(seed, self.hidden, h.node_ids, sum(h.node_counts)), known.shape)
        hide = draw < self.hidden
        targets = self.labels.clone()
        targets[:, 0] = torch.where(hide, known, -1)
        yield self._showing(torch.where(hide, -1, known)).replace(y=targets)

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        """``[1, n, classes] → [1]``: the cross entropy over the hidden labels of all ranks. A collective."""
        assert h.y is not None
        rows = (h.y[:, 0] >= 0).nonzero().squeeze(1)  # alone: the others would take memory
        count = self.h.ranks.sum(torch.tensor(rows.shape[0], device=rows.device)).clamp(min=1)
        losses = F.cross_entropy(logits[0].index_select(0, rows), h.y[rows, 0], reduction="none")
        share = losses.sum().unsqueeze(0) / count
        return share + (self.h.ranks.sum(share) - share.detach())

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        """Accuracy in percent over all ranks with all training labels shown, ``[1]`` each. A collective."""
        scores = super().evaluate(lambda _: predict(self.shown))
        return {part: scores[part] for part in PARTS if part in scores}

    @property
    def shown(self) -> Shard:
        """The shard with all training labels as inputs."""
        return self._showing(self.labels[:, 0])

    def _showing(self, labels: Tensor) -> Shard:
        x = self.h.features("nodes")
        own, place = x.shape[1], torch.where(labels >= 0, labels, self.classes)
        both = x.new_zeros(x.shape[0], own + self.classes + 1)  # one tensor: it may be the largest of a run
        both[:, :own] = x
        both.scatter_(1, (own + place).unsqueeze(1), 1.0)
        return self.h.replace(x=both)
