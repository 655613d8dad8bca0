"""Features and targets that overflow: a clear error, never an answer made from NaN."""

import numpy as np
import pytest
import torch

import ehnn

QUICK = {"model": "ehnn-mlp", "width": 4, "epochs": 3, "device": "cpu"}
N = 12
EDGES = [[i, (i + 1) % N, (i * 5) % N] for i in range(N)]


def graph(value: float = 0.0, row: int = 3) -> ehnn.Hypergraph:
    x = torch.linspace(-1, 1, 2 * N, dtype=torch.float64).reshape(N, 2)
    if value:
        x[row, 1] = value
    return ehnn.Hypergraph.from_edges(EDGES, N, x=x)


@pytest.fixture(scope="module")
def classifier() -> ehnn.NodeClassifier:
    return ehnn.NodeClassifier(**QUICK).fit(graph(), [i % 2 for i in range(N)])


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
@pytest.mark.parametrize("value", [1e25, 1e30, 1e60, 1e300])
def test_a_huge_feature_in_prediction(classifier, method, value):
    with pytest.raises(ValueError, match=r"no finite output for|too large for float32"):
        getattr(classifier, method)(graph(value))


def test_a_large_feature_in_prediction_is_no_reason_to_refuse(classifier):
    assert np.isfinite(classifier.predict_proba(graph(1e6))).all()


def test_a_huge_feature_in_fit_is_scaled():
    one = ehnn.NodeClassifier(**QUICK).fit(graph(1e300), [i % 2 for i in range(N)])
    assert np.isfinite(one.predict_proba(graph(1e300))).all()


@pytest.mark.parametrize("scale", [1e-300, 1e30, 1e300])
def test_a_regressor_of_numbers_of_any_size(scale):
    y = [scale * i for i in range(N)]
    one = ehnn.NodeRegressor(**QUICK).fit(graph(), y)
    plain = ehnn.NodeRegressor(**QUICK).fit(graph(), list(range(N)))
    found = one.predict(graph())
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found / scale, plain.predict(graph()), rtol=1e-3, atol=1e-3)


def test_hypergraphs_and_candidates():
    members = [graph() for _ in range(4)]
    one = ehnn.HypergraphClassifier(**QUICK).fit(members, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="no finite output"):
        one.predict([graph(1e30)])
    two = ehnn.HyperedgePredictor(**QUICK).fit(graph())
    with pytest.raises(ValueError, match="no finite output"):
        two.decision_function([[0, 3]], graph(1e30))


def test_what_is_chosen_by_default():
    """The members clip their columns, so an answer is finite; a number that no float32 holds is refused."""
    one = ehnn.NodeClassifier(budget=0.5, device="cpu").fit(graph(), [i % 2 for i in range(N)])
    with pytest.raises(ValueError, match=r"x has numbers that are too large for float32 \(row 3, column 1\)"):
        one.predict(graph(1e60))
