"""What an estimator must not learn from, must not lose and must not accept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import ehnn
from ehnn.estimators.features import Features
from ehnn.estimators.supervised import hold_out
from ehnn.estimators.targets import Classes, Numbers
from ehnn.tasks.hyperedges import split_hyperedges


@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.9, 0.99])
def test_every_class_keeps_a_row_to_train_on(fraction: float) -> None:
    target = torch.tensor([0, 1, 1, 2, 2, 2, 2, 2, -1])
    for seed in range(5):
        train, valid = hold_out(Classes(("a", "b", "c")), target, fraction, seed)
        assert set(target[train].tolist()) == {0, 1, 2}
        assert torch.equal(train ^ valid, target >= 0)
        assert not bool((train & valid).any())
    assert bool(valid.any())


def test_what_is_held_out_is_random() -> None:
    target = torch.zeros(20, dtype=torch.int64)
    parts = [hold_out(Classes(("a",)), target, 0.25, seed)[1] for seed in range(40)]
    assert {int(p.sum()) for p in parts} == {5}
    assert len({tuple(p.tolist()) for p in parts}) > 30


def test_the_scale_of_features_is_that_of_what_is_known() -> None:
    """Held-out hyperedges are to be found: their degrees and features must not be in the scale."""
    rng = np.random.default_rng(0)
    edges = [rng.choice(30, 3, replace=False).tolist() for _ in range(40)]
    h = ehnn.Hypergraph.from_edges(edges, num_nodes=30, edge_x=torch.randn(40, 2))
    fitted = ehnn.HyperedgePredictor(epochs=1, width=8, validation_fraction=0.25, sketch=0).fit(h)
    known = split_hyperedges(h, (0.75, 0.25, 0.0), int(fitted.random_state)).known
    wanted, leaking = (Features.learn(g, "structural") for g in (known, h))
    for name in ("mean", "scale", "edge_mean", "edge_scale"):
        assert torch.equal(getattr(fitted.features_, name), getattr(wanted, name))
    assert not torch.equal(fitted.features_.mean, leaking.mean)
    assert not torch.equal(fitted.features_.edge_mean, leaking.edge_mean)


def test_missing_numbers_have_no_part_in_r_squared() -> None:
    numbers = Numbers((0.0,), (1.0,), True)
    true = torch.tensor([[1.0], [2.0], [3.0], [6.0]])
    found = torch.tensor([[1.5], [1.5], [3.0], [5.0]])
    expected = 1 - 1.5 / 14  # the mean of 1, 2, 3 and 6 is 3
    assert numbers.score(found, true, torch.ones(4)) == pytest.approx(expected)
    gap, wild = torch.full((3, 1), torch.nan), torch.full((3, 1), 1e6)
    score = numbers.score(torch.cat([found, wild]), torch.cat([true, gap]), torch.ones(7))
    assert score == pytest.approx(expected)
    assert numbers.score(true, true, torch.ones(4)) == 1
    assert numbers.score(torch.full((4, 1), 3.0), true, torch.ones(4)) == pytest.approx(0)


def test_weights_that_were_changed_on_the_disk_are_refused(tmp_path: Path) -> None:
    """Also where the file is still a whole safetensors file: one bit of one weight."""
    h = ehnn.Hypergraph.from_edges([[0, 1], [1, 2], [3, 4], [4, 5]])
    labels = [0, 0, 0, 1, 1, 1]
    ehnn.NodeClassifier(epochs=1, width=8, validation_fraction=0).fit(h, labels).save(tmp_path)
    (weights,) = tmp_path.glob("*.safetensors")
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"is damaged"):
        ehnn.NodeClassifier.load(tmp_path)
