"""Labels that the user sets apart: they compare and choose, and nothing is trained on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import ehnn
from ehnn.hypergraph import dual

EDGES = [[0, 1, 2], [1, 2, 3], [3, 4], [4, 5, 6], [6, 7], [7, 8, 9], [0, 9], [2, 5]] * 2
Y: list[int | None] = [0, 0, 0, 0, 0, 1, 1, 1, None, 1]
APART = np.arange(10) % 3 == 0
OTHER = [None if v is None else 1 - v if apart else v for v, apart in zip(Y, APART, strict=True)]


@pytest.mark.parametrize("kind", [ehnn.NodeClassifier, ehnn.HyperedgeClassifier])
def test_auto_does_not_learn_from_them(kind: Any) -> None:
    given = EDGES if kind is ehnn.NodeClassifier else dual(ehnn.Hypergraph.from_edges(EDGES, 10))
    fitted = [kind(budget="fast").fit(given, y, validation=APART) for y in (Y, OTHER)]
    for model in fitted:
        known = model.model_.fit_nodes.target
        assert (known[APART] == -1).all()
        assert known[~APART].tolist() == [0, 0, 0, 1, 1, -1]
    one, other = (m.model_.portfolio for m in fitted)
    np.testing.assert_array_equal(one.prior, other.prior)
    losses = {tuple(row["log_loss"] for row in m.leaderboard_) for m in fitted}
    assert len(losses) == 2  # the labels that are set apart are those that judge


def test_a_network_does_not_learn_from_them() -> None:
    found = []
    for y in (Y, OTHER):
        model = ehnn.NodeClassifier(model="ehnn-mlp", width=8, epochs=1, residual=True, random_state=0)
        found.append(model.fit(EDGES, y, validation=APART))
        assert found[-1].history_[0]["valid"] is not None
    for a, b in zip(found[0].model_.parameters(), found[1].model_.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_hypergraphs_that_are_set_apart_are_not_learned_from() -> None:
    graphs = [[[0, 1, 2][: 2 + i % 2], [2, 3 + i % 3]] for i in range(24)]
    apart = np.arange(24) % 4 == 0
    y = np.arange(24) % 2
    names = [f"graph {i}" for i in range(24)]
    by_name = pd.Series(apart, names)[::-1]
    models = []
    for labels in (y, np.where(apart, 1 - y, y)):
        model = ehnn.HypergraphClassifier(model="ehnn-mlp", width=4, epochs=1)
        models.append(model.fit(graphs, pd.Series(labels, names), validation=by_name))
    for a, b in zip(models[0].model_.parameters(), models[1].model_.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    assert models[0].history_[0]["valid"] != models[1].history_[0]["valid"]
    autos = [
        ehnn.HypergraphClassifier(budget="fast").fit(graphs, labels, validation=apart)
        for labels in (y, np.where(apart, 1 - y, y))
    ]
    priors = [auto.model_.portfolio.prior for auto in autos]
    np.testing.assert_array_equal(priors[0], priors[1])
    assert len({tuple(row["accuracy"] for row in auto.leaderboard_) for auto in autos}) == 2
    with pytest.raises(ValueError, match=r"a boolean for each hypergraph \(24\), got int64"):
        models[0].fit(graphs, y, validation=y)


def test_they_are_found_by_name() -> None:
    names = [f"n{i}" for i in range(10)]
    edges = [[names[v] for v in edge] for edge in EDGES]
    labels = {name: label for name, label in zip(names, Y, strict=True) if label is not None}
    apart = pd.Series(APART, index=names).iloc[::-1]
    model = ehnn.NodeClassifier(budget="fast").fit(edges, labels, validation=apart)
    by_name = dict(zip(model.model_.fit_nodes.names, model.model_.fit_nodes.target.tolist(), strict=True))
    assert by_name == {n: -1 if s or v is None else v for n, s, v in zip(names, APART, Y, strict=True)}


@pytest.mark.parametrize(
    ("apart", "told"),
    [
        (np.ones(10, bool), "labels to train on"),
        (np.zeros(10, bool), "labels to compare with"),
        (np.ones(9, bool), r"a boolean for each node \(10\), got bool of shape \[9\]"),
        (np.arange(10), "a boolean for each node"),
    ],
)
def test_what_leaves_nothing_is_refused(apart: np.ndarray, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ehnn.NodeClassifier(budget="fast").fit(EDGES, Y, validation=apart)


def test_a_node_is_not_judged_and_trained_on() -> None:
    h = ehnn.Hypergraph.from_edges([[0, 1], [1, 2]])
    model = ehnn.NodeClassifier(model="hgnn", width=4, epochs=1, hypergraph=h)
    for order in ([True, False, False, False], [False, False, False, True]):
        with pytest.raises(ValueError, match="validation says True and False of node 0, which y has twice"):
            model.fit([0, 1, 2, 0], [0, 1, 0, 0], validation=order)
    model.fit([0, 1, 2, 0], [0, 1, 0, 0], validation=[True, False, False, True])
