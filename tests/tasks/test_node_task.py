"""The task: splits, masks, loss, metric."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from ehnn.datasets import random_split
from ehnn.nn import EHNNMLP, Stack
from ehnn.tasks import NodeClassification
from ehnn.training import TrainConfig, fit


def test_parts_are_disjoint_of_the_right_sizes_and_hold_the_labels(h):
    task = NodeClassification(h, seeds=(0, 1, 5))
    parts = torch.stack([task.train, task.valid, task.test])
    assert parts.shape == (3, 3, 40)
    inside = parts >= 0
    assert inside.sum(-1).tolist() == [[19] * 3, [9] * 3, [10] * 3]
    assert torch.equal(inside.sum(0), (h.y >= 0).long().expand(3, -1))
    assert torch.equal(parts.amax(0), h.y.expand(3, -1))


def test_each_run_has_the_split_of_its_own_seed(h):
    task = NodeClassification(h, seeds=(4, 7))
    for r, seed in enumerate(task.seeds):
        train, valid, test = random_split(h.y, seed=seed)
        for labels, nodes in ((task.train, train), (task.valid, valid), (task.test, test)):
            assert torch.equal((labels[r] >= 0).nonzero().squeeze(1), nodes)
    assert torch.equal(NodeClassification(h, seeds=(7,)).train[0], task.train[1])
    assert not torch.equal(task.train[0], task.train[1])


def test_every_epoch_yields_the_same_object(h):
    task = NodeClassification(h)
    assert [b for e in range(3) for b in task.batches(e)] == [h] * 3
    assert all(b is h for b in task.batches(1))


def test_loss_is_cross_entropy_over_the_training_nodes(h):
    task = NodeClassification(h, seeds=(0, 1))
    logits = torch.randn(2, 40, 2, dtype=torch.float64)
    for r in range(2):
        nodes = task.train[r] >= 0
        expected = torch.nn.functional.cross_entropy(logits[r, nodes], h.y[nodes])
        torch.testing.assert_close(task.loss(logits, h)[r], expected)


def test_loss_and_metric_ignore_the_other_nodes(h):
    task = NodeClassification(h, seeds=(0, 1))
    logits = torch.randn(2, 40, 2)
    changed = torch.where((task.train >= 0).unsqueeze(-1), logits, torch.randn(2, 40, 2))
    assert torch.equal(task.loss(logits, h), task.loss(changed, h))


def test_evaluate_counts_in_percent(h):
    task = NodeClassification(h, seeds=(0, 1, 2))
    right = torch.nn.functional.one_hot(h.y.clamp(min=0), 2).float()
    wrong = torch.where((task.test[0] >= 0).unsqueeze(1), 1 - right, right)
    scores = task.evaluate(lambda _: torch.stack([right, 1 - right, wrong]))
    assert scores["valid"].tolist()[:2] == [100.0, 0.0]
    assert scores["test"].tolist()[:2] == [100.0, 0.0]
    half = (task.test[2] >= 0) & (task.test[0] >= 0)
    assert scores["test"][2].item() == pytest.approx(100 - 10 * int(half.sum()))


def test_each_metric_reads_the_labels_of_its_own_part(h):
    task = NodeClassification(h, seeds=(0, 1))
    right = torch.nn.functional.one_hot(h.y.clamp(min=0), 2).float()
    for part, wanted in (("train", (0, 0)), ("valid", (100, 0)), ("test", (0, 100))):
        known = (getattr(task, part) >= 0).unsqueeze(-1)
        scores = task.evaluate(lambda _, known=known: torch.where(known, right, 1 - right))
        assert (scores["valid"].tolist(), scores["test"].tolist()) == ([wanted[0]] * 2, [wanted[1]] * 2)


def test_test_nodes_are_not_scored_in_a_search(h):
    scores = NodeClassification(h, score_test=False).evaluate(lambda h: torch.zeros(1, 40, 2))
    assert set(scores) == {"valid"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": torch.full((40,), -1)}, "not one of the 40 nodes has a label"),
        ({"y": None}, "must have node labels"),
        ({"y": torch.zeros(40)}, "integer class per node"),
        ({"y": torch.zeros(40, 2, dtype=torch.long)}, "integer class per node"),
        ({"y": torch.tensor([0, 1, 0] + [-1] * 37)}, "part is empty"),
        ({"x": None}, "must have node features"),
    ],
)
def test_bad_input(h, change, message):
    with pytest.raises(ValueError, match=message):
        NodeClassification(h.replace(**change))


def test_no_runs(h):
    with pytest.raises(ValueError, match="at least one run"):
        NodeClassification(h, seeds=())


def test_a_run_learns_and_does_not_depend_on_the_runs_beside_it(h):
    make = partial(Stack, 6, 2, partial(EHNNMLP, dropout=0.1), width=8, dropout=0.5)
    config = TrainConfig(epochs=30, lr=1e-2)
    both = fit(make, NodeClassification(h, (3, 4)), (3, 4), config, quiet=True)
    alone = fit(make, NodeClassification(h, (4,)), (4,), config, quiet=True)
    assert sum(both.selected()) / 2 >= 65
    assert both.best_valid[1] == pytest.approx(alone.best_valid[0], abs=1e-6)
    first, last = both.history[0]["loss"], both.history[-1]["loss"]
    assert max(last) < min(first)
