"""Columns of noise are switched off by a test, where most columns are noise."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from ehnn import Hypergraph, NodeClassifier
from ehnn.estimators.portfolio.gate import gate, worth_gating
from ehnn.estimators.portfolio.linear import Linear
from ehnn.estimators.portfolio.outputs import Output

ROWS, NOISE = 300, 40
CLASSES = Output("classes", 3)


def noisy(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two columns that tell three classes apart, between columns of noise; the classes."""
    random = np.random.default_rng(seed)
    y = np.arange(ROWS) % 3
    x = random.standard_normal((ROWS, NOISE + 2)).astype(np.float32)
    x[:, 5] += y
    x[:, 20] += 2.0 * (y == 1)
    return x, y


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["classes", "labels", "numbers"])
def test_the_gate_keeps_the_columns_that_tell(kind: str, sparse: bool) -> None:
    x, y = noisy()
    targets = {
        "classes": (y, CLASSES),
        "labels": (np.eye(3)[y], Output("labels", 3)),
        "numbers": (np.stack([y, y == 1], 1).astype(float), Output("numbers", 2)),
    }
    target, output = targets[kind]
    on = gate(csr_matrix(x) if sparse else x, target, output)
    assert on.dtype == np.float32
    assert np.flatnonzero(on).tolist() == [5, 20]


def test_the_gate_reads_known_targets_alone() -> None:
    x, y = noisy()
    target = np.eye(3)[y]
    target[::2] = np.nan
    assert np.array_equal(
        gate(x, target, Output("labels", 3)), gate(x[1::2], target[1::2], Output("labels", 3))
    )


def test_nothing_is_kept_where_nothing_is_told() -> None:
    x, y = noisy()
    assert gate(x, np.zeros_like(y), CLASSES).sum() == 0
    assert gate(x[:0], y[:0], CLASSES).sum() == 0
    assert gate(x[:, :0], y, CLASSES).shape == (0,)
    constant = np.ones((ROWS, 3), np.float32)
    assert gate(constant, y, CLASSES).sum() == 0


def test_a_gate_is_worth_it_for_many_columns_of_noise() -> None:
    x, y = noisy()
    assert worth_gating(x, y, CLASSES)
    assert not worth_gating(csr_matrix(x), y, CLASSES)  # words: many weak columns together
    assert not worth_gating(x[:, 5:10], y, CLASSES)  # few columns
    assert not worth_gating(x[:, [5, 20] * 10], y, CLASSES)  # all of them tell
    assert not worth_gating(np.delete(x, [5, 20], 1), y, CLASSES)  # none does
    assert not worth_gating(x, np.where(np.arange(ROWS) < 60, y, -1), CLASSES)  # few labels
    assert not worth_gating(np.tile(x, (50, 1)), np.tile(y, 50), CLASSES)  # so many that noise is learned


def test_a_gated_linear_model_does_not_depend_on_columns_of_noise() -> None:
    x, y = noisy()
    rows = np.arange(ROWS)
    model = Linear(CLASSES, gated=True).fit(x, y, rows, None, 0)
    other = x.copy()
    other[:, [c for c in range(NOISE + 2) if c not in (5, 20)]] += 3.0
    np.testing.assert_array_equal(model.scores(x), model.scores(other))
    plain = Linear(CLASSES).fit(x, y, rows, None, 0)
    assert not np.array_equal(plain.scores(x), plain.scores(other))


@pytest.mark.parametrize("edges", [[[0, 1], [1, 2, 3]], []])
def test_the_default_tries_tested_columns(edges: list[list[int]], tmp_path) -> None:
    x, y = noisy()
    h = Hypergraph.from_edges(edges, num_nodes=ROWS, x=torch.from_numpy(x))
    known = [int(c) if i % 5 else None for i, c in enumerate(y)]
    model = NodeClassifier(budget="fast").fit(h, known)
    losses = {row["member"]: row["log_loss"] for row in model.leaderboard_}
    assert losses["linear: features, tested"] < losses["linear: features"]
    asked = {i: int(y[i]) for i in range(0, ROWS, 5)}
    assert model.score(h, asked) > 0.6
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        NodeClassifier.load(tmp_path / "model").predict_proba(h), model.predict_proba(h)
    )
    plain = NodeClassifier(budget="fast").fit(h.replace(x=h.x[:, [5, 20]]), known)
    assert not any("tested" in row["member"] for row in plain.leaderboard_)
