"""HAN's minibatch form of node classification: batches of nodes with sampled neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.nn.baselines.han_sampling import Sample, sample_blocks
from ehnn.tasks import NodeClassification
from ehnn.tasks.draws import generator_of
from ehnn.tasks.scores import cross_entropy


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
