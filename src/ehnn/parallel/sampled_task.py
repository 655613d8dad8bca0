"""Node classification by mini-batches of one large hypergraph. Approximate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.tasks import NodeClassification
from ehnn.tasks.draws import generator_of
from ehnn.tasks.scores import accuracy, cross_entropy

from .sampling import Sample, sample, seed_batches


@dataclass(frozen=True, eq=False)
class SampledNodes(NodeClassification):
    """`NodeClassification` trained on samples around seed nodes. **Approximate**; see `sample`.

    A batch is drawn around some of the training nodes (of any run), new in every epoch and a function of
    (sample_seed, epoch) alone. Give the model as ``RunningPools(model)``, and train with
    ``TrainConfig(cuda_graph=False)``: no batch is used again.

    Args:
        batch_size: seeds of a batch.
        fan_out: for each pair of layers nodes → … → nodes, hyperedges of a node and nodes of a hyperedge.
        sample_seed: of batches and draws.
        evaluate_by: seeds at a time in validation and test, with all their neighbours but the running
            estimate of the global terms; None evaluates the whole hypergraph at once, exactly.

    >>> import ehnn
    >>> y = torch.tensor([0, 1] * 8)
    >>> h = ehnn.Hypergraph.from_edges([range(0, 16, 2), range(1, 16, 2)], x=torch.eye(16), y=y)
    >>> task = SampledNodes(h, batch_size=4, fan_out=((2, 3),))
    >>> [batch.num_seeds for batch in task.batches(epoch=0)]
    [4, 4]
    """

    batch_size: int = 1024
    fan_out: Sequence[tuple[int, int]] = ((10, 10),)
    sample_seed: int = 0
    evaluate_by: int | None = None

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        """The samples of an epoch."""
        generator = generator_of(self.sample_seed, epoch, self.h.device)
        seeds = (self.train >= 0).any(0).nonzero().squeeze(1)
        for batch in seed_batches(seeds, self.batch_size, self.sample_seed, epoch):
            yield sample(self.h, batch, self.fan_out, generator)

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        """``[runs, rows, classes] → [runs]``: cross entropy over the seeds that a run trains on."""
        assert isinstance(h, Sample)
        return cross_entropy(logits[:, : h.num_seeds], self.train[:, h.node_ids[: h.num_seeds]])

    def evaluate(self, predict: Callable[[Hypergraph], Tensor]) -> dict[str, Tensor]:
        """Accuracy in percent of each run, ``[runs]``, on its validation and its test nodes."""
        if self.evaluate_by is None:
            return super().evaluate(predict)
        every = [(-1, -1)] * len(self.fan_out)
        parts = torch.arange(self.h.num_nodes, device=self.h.device).split(self.evaluate_by)
        logits = torch.cat([predict(sample(self.h, p, every))[:, : p.shape[0]] for p in parts], 1)
        scores = {"valid": accuracy(logits, self.valid)}
        return scores | {"test": accuracy(logits, self.test)} if self.score_test else scores
