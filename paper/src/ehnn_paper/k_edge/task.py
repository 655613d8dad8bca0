"""k-edge identification (section 4.1 of the paper): find the nodes whose hyperedges have the marked order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from ehnn.hypergraph import Hypergraph, batch
from ehnn.tasks.draws import generator_of
from ehnn.tasks.scores import accuracy, cross_entropy

ORDERS = tuple(range(2, 11))
TRAIN_ORDERS = {
    "seen": ORDERS,
    "interpolation": (2, 3, 4, 8, 9, 10),
    "extrapolation": (2, 3, 4, 5, 6, 7),
}
_STREAMS = {"seen": 4, "interpolation": 13, "extrapolation": 14}
"""Part of the seed of the data: each setting has hypergraphs of its own, also to test on."""


def k_edge_hypergraphs(
    count: int, orders: Sequence[int], generator: torch.Generator, num_nodes: int = 100, num_edges: int = 10
) -> list[Hypergraph]:
    """``count`` random hypergraphs with a marked hyperedge.

    Each has ``num_edges`` hyperedges of random orders over ``num_nodes`` nodes and one more, the last,
    whose order is drawn from theirs: its nodes are marked. Nodes in no hyperedge are dropped.
    ``x [n, 2]`` is one-hot in the mark; ``y [n]`` is 1 for nodes in a hyperedge of the marked order.
    """
    if max(orders) > num_nodes:
        raise ValueError(f"orders must not exceed num_nodes={num_nodes}, got {max(orders)}")
    choices = torch.tensor(list(orders))
    size = choices[torch.randint(len(choices), (count, num_edges), generator=generator)]
    same = torch.randint(num_edges, (count, 1), generator=generator)
    size = torch.cat([size, size.gather(1, same)], 1)
    rank = torch.rand(count, num_edges + 1, num_nodes, generator=generator).argsort(-1).argsort(-1)
    inside = rank < size.unsqueeze(-1)
    return [_marked(inside[i], size[i]) for i in range(count)]


def _marked(inside: Tensor, size: Tensor) -> Hypergraph:
    """The hypergraph of a ``[hyperedges, nodes]`` membership whose last hyperedge is marked."""
    used = inside.any(0)
    inside = inside[:, used]
    mark = inside[-1].long()
    target = inside[size == size[-1]].any(0).long()
    return Hypergraph.from_incidence(inside.T, x=F.one_hot(mark, 2).float(), y=target)


@dataclass(frozen=True)
class KEdge:
    """The task: training, validation and test hypergraphs of one setting.

    Training and validation hypergraphs have the orders of the setting; test hypergraphs have all
    orders from 2 to 10, so ``"interpolation"`` and ``"extrapolation"`` test on orders never seen, not
    even in validation. No two settings share a hypergraph.

    Args:
        setting: ``"seen"``, ``"interpolation"`` or ``"extrapolation"``.
        seed: of the data.
        train, valid, test: numbers of hypergraphs.
        batch_size: hypergraphs per training step.
        partitions: ways in which the training hypergraphs are grouped into batches; the epochs take
            them in turn, in shuffled order. Few enough to prepare each batch once.
    """

    setting: str = "seen"
    seed: int = 0
    train: int = 100
    valid: int = 20
    test: int = 20
    batch_size: int = 8
    partitions: int = 4
    device: str = "cpu"

    num_features = 2
    num_outputs = 2

    def __post_init__(self) -> None:
        if self.setting not in TRAIN_ORDERS:
            raise ValueError(f"setting must be one of {tuple(TRAIN_ORDERS)}, got {self.setting!r}")

    @cached_property
    def members(self) -> list[Hypergraph]:
        """The training hypergraphs."""
        return self._draw(self.train, TRAIN_ORDERS[self.setting], 0)

    @cached_property
    def valid_batch(self) -> Hypergraph:
        return batch(self._draw(self.valid, TRAIN_ORDERS[self.setting], 1)).to(self.device)

    @cached_property
    def test_batch(self) -> Hypergraph:
        return batch(self._draw(self.test, ORDERS, 2)).to(self.device)

    def _draw(self, count: int, orders: Sequence[int], part: int) -> list[Hypergraph]:
        generator = generator_of(3 * self.seed + part, _STREAMS[self.setting])
        return k_edge_hypergraphs(count, orders, generator)

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        """The training batches of an epoch, shuffled by (seed, epoch)."""
        generator = generator_of(self.seed, epoch)
        batches = self.partitioned[epoch % self.partitions]
        for i in torch.randperm(len(batches), generator=generator).tolist():
            yield batches[i]

    @cached_property
    def partitioned(self) -> list[list[Hypergraph]]:
        """The training batches of each partition."""
        generator = torch.Generator().manual_seed(self.seed)
        orders = [torch.randperm(self.train, generator=generator) for _ in range(self.partitions)]
        return [[self._batch(part.tolist()) for part in order.split(self.batch_size)] for order in orders]

    def _batch(self, numbers: list[int]) -> Hypergraph:
        return batch([self.members[i] for i in numbers]).to(self.device)

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        """``[runs, n, 2] → [runs]``: cross entropy."""
        return cross_entropy(logits, h.y)

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        """Accuracy in percent of each run, ``[runs]``, on validation and test hypergraphs."""
        return {
            "valid": accuracy(predict(self.valid_batch), self.valid_batch.y),
            "test": accuracy(predict(self.test_batch), self.test_batch.y),
        }

    def accuracy_by_order(self, predict: Callable[[Hypergraph], Tensor]) -> dict[int, Tensor]:
        """Test accuracy in percent of each run over the hypergraphs marked with each order."""
        h = self.test_batch
        last = torch.bincount(h.edge_batch, minlength=h.num_members).cumsum(0) - 1
        marked = h.orders[last][h.node_batch]
        assert h.y is not None
        right = predict(h).argmax(-1).eq(h.y).double()
        return {k: 100 * right[:, marked == k].mean(-1) for k in ORDERS if bool((marked == k).any())}
