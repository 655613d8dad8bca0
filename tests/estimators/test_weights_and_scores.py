"""Weights where models are judged, repeated rows, unknown classes, and arguments of a wrong type."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest
import torch

import ehnn

KIND = np.arange(60) % 3
NETWORK: dict[str, Any] = {"model": "ehnn-mlp", "width": 4, "epochs": 3, "residual": True}


@pytest.fixture
def h() -> ehnn.Hypergraph:
    """60 nodes of three kinds, and 60 hyperedges within kinds."""
    draw = np.random.default_rng(0)
    edges = [draw.choice(np.flatnonzero(k == KIND), 4, replace=False).tolist() for k in KIND]
    return ehnn.Hypergraph.from_edges(edges, num_nodes=60)


@pytest.mark.parametrize("weights", [{"class_weight": {0: 1, 1: 1000}}, {}])
def test_weights_count_in_validation(h: ehnn.Hypergraph, weights: dict[str, Any]) -> None:
    y = np.where(np.arange(60) % 10 == 0, 1, 0)
    draw = np.random.default_rng(0)
    x = torch.tensor(draw.normal(size=(60, 3)) + y[:, None], dtype=torch.float32)
    network = {"model": "mlp", "width": 8, "epochs": 20, "lr": 0.01}
    judging = np.arange(60) >= 30
    given = None if weights else np.where(judging & (y == 1), 1000.0, 1.0)
    plain = ehnn.NodeClassifier(**network).fit(h.replace(x=x), y, validation=judging)
    fitted = ehnn.NodeClassifier(**network, **weights).fit(h.replace(x=x), y, given, validation=judging)
    first, second = ([row["valid"] for row in m.history_] for m in (plain, fitted))
    assert first[0] > 80 or second[0] > 80
    assert min(abs(a - b) for a, b in zip(first[:5], second[:5], strict=True)) > 5


def test_weights_count_in_validation_of_hypergraphs(h: ehnn.Hypergraph) -> None:
    draw = np.random.default_rng(0)
    members = [h.replace(x=torch.full((60, 1), float(v))) for v in draw.normal(size=40)]
    y, judging = draw.integers(0, 2, 40).tolist(), np.arange(40) >= 20
    weight = draw.uniform(0.1, 9, 40)
    fitted = ehnn.HypergraphClassifier(model="ehnn-mlp", width=4, epochs=1)
    fitted.fit(members, y, weight, validation=judging)
    right, share = (np.asarray(fitted.predict(members)) == y)[judging], weight[judging]
    expected = 100 * (right * share).sum() / share.sum()
    assert abs(expected - 100 * right.mean()) > 1
    assert fitted.history_[0]["valid"] == pytest.approx(expected, abs=1e-3)


def test_a_node_that_is_given_twice_counts_twice(h: ehnn.Hypergraph) -> None:
    rows = np.r_[np.arange(60), np.arange(20)]
    found = [
        ehnn.NodeClassifier(hypergraph=h, **NETWORK).fit(rows, KIND[rows], weight).predict_proba(range(60))
        for weight in (None, np.ones(80))
    ]
    np.testing.assert_array_equal(*found)
    once = ehnn.NodeClassifier(hypergraph=h, **NETWORK).fit(np.arange(60), KIND).predict_proba(range(60))
    assert np.abs(found[0] - once).max() > 1e-4


def test_a_rare_class_that_fit_did_not_see_counts_as_wrong(h: ehnn.Hypergraph) -> None:
    fitted = ehnn.NodeClassifier(**NETWORK).fit(h, KIND)
    before, y = fitted.score(h, KIND), KIND.copy()
    y[fitted.predict(h) == KIND] = np.r_[9, KIND[fitted.predict(h) == KIND][1:]]
    with pytest.warns(UserWarning, match="class 9 was not there in fit; .* Its rows count as wrong"):
        assert fitted.score(h, y) == pytest.approx(before - 1 / 60)
    with pytest.raises(ValueError, match="class 9 was not there in fit"):
        fitted.score(h, [9] * 60)


def test_text_of_an_enumeration_is_a_class(h: ehnn.Hypergraph) -> None:
    class Team(str, enum.Enum):
        low = "small"
        high = "large"

    fitted = ehnn.NodeClassifier(**NETWORK).fit(h, [Team.high if k else Team.low for k in KIND])
    assert fitted.classes_.tolist() == ["large", "small"]
    assert set(fitted.predict(h)) <= {"large", "small"}


@pytest.mark.parametrize("settings", [NETWORK, {"budget": "fast"}])
@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_fit_where_gradients_are_off(h: ehnn.Hypergraph, settings: dict[str, Any], context: Any) -> None:
    with context():
        x = torch.randn(60, 2)
        assert ehnn.NodeClassifier(**settings).fit(h.replace(x=x), KIND).predict(h.replace(x=x)).shape == (
            60,
        )
        assert not torch.is_grad_enabled()


@pytest.mark.parametrize("kind", [ehnn.NodeClassifier, ehnn.HyperedgeClassifier])
def test_weights_are_checked_in_predictions(h: ehnn.Hypergraph, kind: Any) -> None:
    fitted = kind(budget="fast").fit(h, KIND)
    name = "edge_weight" if kind is ehnn.NodeClassifier else "incidence_weight"
    bad = torch.full((60 if name == "edge_weight" else h.num_incidences,), -1.0)
    with pytest.raises(ValueError, match=f"{name} must not be negative, got -1 in row 0"):
        fitted.predict(h.replace(**{name: bad}))


def test_a_network_takes_negative_weights(h: ehnn.Hypergraph) -> None:
    weight = torch.where(torch.arange(60) % 2 == 0, 1.0, -1.0)
    assert np.isfinite(ehnn.NodeClassifier(**NETWORK).fit(h.replace(edge_weight=weight), KIND).predict_proba(
        h.replace(edge_weight=weight)
    )).all()  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"validation_fraction": "a"}, "validation_fraction must be a number, got 'a'"),
        ({"lr": "0.1"}, r"lr must be a number, got '0\.1'"),
        ({"dropout": "a"}, "dropout must be a number, got 'a'"),
        ({"weight_decay": None}, "weight_decay must be a number, got None"),
        ({"device": None}, "device None is not available"),
        ({"device": "meta"}, "device must be one that holds numbers: .*'cpu', 'cuda', .* got 'meta'"),
        ({"device": "xla"}, "device 'xla' is not available: .*$"),
        ({"class_weight": {0: "a"}}, "class_weight must map classes to numbers, got 'a'"),
        ({"budget": "slow"}, "budget must be one of"),
    ],
)
def test_arguments_of_a_wrong_type_are_named(
    h: ehnn.Hypergraph, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ehnn.NodeClassifier(**NETWORK | settings).fit(h, KIND)


@pytest.mark.parametrize("scale", [1e-30, 1e4])
def test_only_ratios_of_class_weights_and_sample_weights_count(h: ehnn.Hypergraph, scale: float) -> None:
    plain = ehnn.NodeClassifier(budget=0.01).fit(h, KIND).predict_proba(h)
    by_class = ehnn.NodeClassifier(budget=0.01, class_weight={0: scale, 1: scale, 2: scale}).fit(h, KIND)
    by_row = ehnn.NodeClassifier(budget=0.01).fit(h, KIND, np.full(60, scale))
    for model in (by_class, by_row):
        np.testing.assert_allclose(model.predict_proba(h), plain, atol=1e-6)
