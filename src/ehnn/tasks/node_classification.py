"""Node classification: one hypergraph, some labels, many random splits in one computation (section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import torch
from torch import Tensor

from ehnn.datasets import random_split
from ehnn.hypergraph import Hypergraph
from ehnn.nn.baselines.han_sampling import Sample, sample_blocks

from .draws import generator_of
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
        """What the models see when they are scored."""
        return self.h


@dataclass(frozen=True, eq=False, repr=False)
class SampledHypergraph(Hypergraph):
    """A hypergraph with a minibatch of it: a model returns a row for each of ``sample.nodes``."""

    sample: Sample | None = None


@dataclass(frozen=True, eq=False)
class SampledNodeClassification(NodeClassification):
    """Node classification by minibatches with sampled neighbours (HAN's minibatch form).

    A training batch is a random part of the labelled nodes, new in every epoch and shared by the runs;
    a run counts those of them that are in its own training part. Validation and test use one sample
    of neighbours of all nodes, drawn once. Batches do not come back: train with ``cuda_graph=False``.

    Args:
        batch_size: nodes per training batch.
        fanout: random walks per node, metapath and layer.
        metapaths, layers: of the model.
        sample_seed: of the batches and walks.

    >>> y = torch.tensor([0, 1, 0, 1, 0, 1, 0, 1])
    >>> h = Hypergraph.from_edges([[0, 2, 4, 6], [1, 3, 5, 7]], x=torch.eye(8), y=y)
    >>> task = SampledNodeClassification(h, batch_size=4, fanout=2)
    >>> [batch.sample.nodes.shape[0] for batch in task.batches(epoch=0)]
    [4, 4]
    """

    batch_size: int = 512
    fanout: int = 20
    metapaths: Sequence[int] = (1,)
    layers: int = 1
    sample_seed: int = 0

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        """Sampled training batches, a function of (sample_seed, epoch)."""
        assert self.h.y is not None
        generator = generator_of(self.sample_seed, epoch + 1)
        labelled = (self.h.y.cpu() >= 0).nonzero().squeeze(1)
        order = labelled[torch.randperm(labelled.shape[0], generator=generator)]
        for nodes in order.split(self.batch_size):
            yield self._sampled(nodes, generator)

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        """``[runs, batch, classes] → [runs]``: cross entropy over the training nodes in the batch."""
        assert isinstance(h, SampledHypergraph)
        assert h.sample is not None
        return cross_entropy(logits, self.train.index_select(1, h.sample.nodes))

    @cached_property
    def evaluated(self) -> Hypergraph:
        """All nodes with one sample of neighbours."""
        generator = generator_of(self.sample_seed)
        return self._sampled(torch.arange(self.h.num_nodes), generator)

    def _sampled(self, nodes: Tensor, generator: torch.Generator) -> SampledHypergraph:
        sample = sample_blocks(self.h, nodes, self.metapaths, self.layers, self.fanout, generator)
        return SampledHypergraph(
            **{f.name: getattr(self.h, f.name) for f in fields(Hypergraph)}, sample=sample
        )


def _check_labels(y: Tensor | None) -> None:
    if y is None:
        raise ValueError("the hypergraph must have node labels y, got none")
    if y.dim() != 1 or y.is_floating_point() or y.is_complex() or y.dtype == torch.bool:
        raise ValueError(f"y must be one integer class per node, got {y.dtype} of shape {list(y.shape)}")
    if not bool((y >= 0).any()):
        raise ValueError(f"not one of the {y.shape[0]} nodes has a label (all of y is negative)")
