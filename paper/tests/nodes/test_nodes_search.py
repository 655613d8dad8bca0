"""Settings are compared on validation nodes alone."""

from __future__ import annotations

import torch

from ehnn.tasks import NodeClassification
from ehnn_paper.nodes import search as nodes_search
from ehnn_paper.nodes.search import FIRST_SEED, Halved, compare, held_out
from ehnn_paper.nodes.settings import Settings


def test_halves_are_disjoint_and_even(h):
    task = NodeClassification(h, (0, 1))
    first, second = Halved(task).halves
    assert not ((first >= 0) & (second >= 0)).any()
    assert torch.equal(torch.maximum(first, second), task.valid)
    assert ((first >= 0).sum(1) - (second >= 0).sum(1)).abs().max() <= 1


def test_the_epoch_of_one_half_scores_the_other():
    rows = [(50.0, 90.0), (80.0, 60.0), (80.0, 70.0), (70.0, 10.0)]
    history = [{"first": [a, a], "second": [b, b]} for a, b in rows]
    assert held_out(history) == (70.0 + 50.0) / 2  # the later of two equal epochs; and the first epoch


def test_test_nodes_are_never_scored(h, monkeypatch):
    seen = []
    fit = nodes_search.fit
    monkeypatch.setattr(nodes_search, "fit", lambda *a, **k: seen.append(fit(*a, **k)) or seen[-1])
    found = compare(h, "ehnn-mlp", Settings(8, lr=1e-2), runs=2, epochs=3)
    assert set(found) == {"held_out", "best"}
    assert set(seen[0].history[0]) == {"epoch", "loss", "valid", "first", "second"}
    assert seen[0].runs.seeds == (FIRST_SEED, FIRST_SEED + 1)
