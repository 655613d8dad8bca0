"""Minibatches with sampled neighbours: what they contain, and which labels they read."""

import torch

from ehnn import Hypergraph
from ehnn.nn.baselines.han_sampling import Sample
from ehnn_paper.nodes.sampled import SampledHypergraph, SampledNodeClassification


def test_each_metric_reads_the_labels_of_its_own_part(h):
    task = SampledNodeClassification(h, seeds=(0, 1))
    right = torch.nn.functional.one_hot(h.y.clamp(min=0), 2).float()
    for part, wanted in (("train", (0, 0)), ("valid", (100, 0)), ("test", (0, 100))):
        known = (getattr(task, part) >= 0).unsqueeze(-1)
        scores = task.evaluate(lambda _, known=known: torch.where(known, right, 1 - right))
        assert (scores["valid"].tolist(), scores["test"].tolist()) == ([wanted[0]] * 2, [wanted[1]] * 2)


def test_minibatches_cover_the_labelled_nodes(h):
    task = SampledNodeClassification(h, seeds=(0, 1), batch_size=16, fanout=3)
    batches = list(task.batches(2))
    assert all(isinstance(b, Hypergraph) and isinstance(b.sample, Sample) for b in batches)
    nodes = torch.cat([b.sample.nodes for b in batches])
    assert nodes.sort().values.tolist() == (h.y >= 0).nonzero().squeeze(1).tolist()
    again = torch.cat([b.sample.nodes for b in task.batches(2)])
    assert torch.equal(nodes, again)
    assert not torch.equal(nodes, torch.cat([b.sample.nodes for b in task.batches(3)]))


def test_minibatch_loss_counts_the_training_nodes_of_each_run(h):
    task = SampledNodeClassification(h, seeds=(0, 5), batch_size=16, fanout=3)
    batch = next(iter(task.batches(0)))
    assert isinstance(batch, SampledHypergraph)
    nodes = batch.sample.nodes
    logits = torch.randn(2, len(nodes), 2, dtype=torch.float64)
    kept = task.train[1, nodes] >= 0
    assert 0 < int(kept.sum()) < len(nodes)
    expected = torch.nn.functional.cross_entropy(logits[1, kept], h.y[nodes][kept])
    torch.testing.assert_close(task.loss(logits, batch)[1], expected)
