"""A task that is over in a second: tell the nodes of a large hyperedge from the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor, nn

from ehnn import Hypergraph
from ehnn.nn import EHNNMLP, Block, Stack
from ehnn.tasks.scores import accuracy, cross_entropy
from ehnn.testing import random_hypergraph
from ehnn.training import TrainConfig, fit


def large_edge_hypergraph(seed: int) -> Hypergraph:
    """12 nodes in hyperedges of orders 2 to 5; ``y`` says which are in one of order at least 4."""
    h = random_hypergraph(12, 6, (2, 5), seed=seed, d_node=3)
    inside = [edge for edge in h.edges() if len(edge) >= 4]
    y = torch.zeros(h.num_nodes, dtype=torch.long)
    y[torch.tensor(sorted({v for edge in inside for v in edge}), dtype=torch.long)] = 1
    return h.replace(y=y)


class Tiny:
    """Three training hypergraphs, one to validate, one to test."""

    def __init__(self) -> None:
        self.train = [large_edge_hypergraph(seed) for seed in range(3)]
        self.valid, self.test = large_edge_hypergraph(3), large_edge_hypergraph(4)

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        generator = torch.Generator().manual_seed(epoch)
        for i in torch.randperm(len(self.train), generator=generator).tolist():
            yield self.train[i]

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        return cross_entropy(logits, h.y)

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        return {k: accuracy(predict(h), h.y) for k, h in (("valid", self.valid), ("test", self.test))}


class Scripted(Tiny):
    """Metrics that follow a script, whatever the models do: ``script[epoch - 1]`` is (valid, test)."""

    def __init__(self, script: list[tuple[list[float], list[float]]]) -> None:
        super().__init__()
        self.script, self.calls = script, 0

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        valid, test = self.script[self.calls]
        self.calls += 1
        return {"valid": torch.tensor(valid), "test": torch.tensor(test)}


def make(dropout: float = 0.0, width: int = 8) -> nn.Module:
    return Stack(3, 2, Block(partial(EHNNMLP, dropout=dropout), dropout=dropout), width=width)


make_with_dropout = partial(make, 0.3)


def train(make_model: Callable[[], nn.Module] = make, task: Tiny | None = None, seeds=(0,), **options):
    config = TrainConfig(**({"epochs": 5, "lr": 0.01} | options))
    return fit(make_model, task or Tiny(), seeds, config, quiet=True)
