"""What searches, tables and users hand over: numbers of NumPy, odd columns, weights, labels twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ehnn
from ehnn import io
from ehnn.estimators import as_hypergraph
from ehnn.tasks.hypergraphs import overlap_hypergraphs

QUICK: dict[str, Any] = {"model": "ehnn-mlp", "width": 8, "epochs": 2}


def test_numbers_of_numpy_train_and_are_saved(tmp_path):
    model = ehnn.NodeClassifier(
        model="ehnn-mlp", width=np.int64(4), epochs=np.int64(2), lr=np.float64(1e-2), random_state=np.int64(3)
    )
    model.fit([[0, 1], [1, 2, 3]], [0, 1, 0, 1]).save(tmp_path / "m")
    assert ehnn.NodeClassifier.load(tmp_path / "m").width == 4
    model.set_params(device=torch.device("cpu")).save(tmp_path / "m")
    assert ehnn.NodeClassifier.load(tmp_path / "m").device == "cpu"
    members, y = overlap_hypergraphs(6)
    ehnn.HypergraphClassifier(**QUICK, batch_size=np.int64(2)).fit(members, y).predict(members)
    ring = [[i, (i + 1) % 9, (i + 2) % 9] for i in range(9)]
    ehnn.HyperedgePredictor(**QUICK, batch_size=np.int64(4), sketch=np.int64(8)).fit(ring).predict(ring)


@pytest.mark.parametrize("column", [None, 1.0, 2024.0, 1e6, "dates"])
def test_columns_that_hardly_vary_do_no_harm(column):
    generator = torch.Generator().manual_seed(0)
    signal = torch.randint(0, 2, (60, 1), generator=generator).double() * 2 - 1
    others = [] if column is None else [torch.full_like(signal, column) if column != "dates" else signal]
    x = torch.cat([signal, *others], 1)
    if column == "dates":  # seconds: all that tells them apart is a millionth of their size
        x = 1.7e9 + 750 * signal
    h = ehnn.Hypergraph.from_edges([[i, (i + 7) % 60] for i in range(60)], x=x, y=(signal[:, 0] > 0).long())
    model = ehnn.NodeClassifier(model="ehnn-mlp", width=16, epochs=40, dropout=0.0, lr=0.01).fit(h)
    assert np.mean(model.predict(h) == h.y.numpy()) > 0.9
    assert model.features_.apply(h).x.abs().max() < 5


def test_two_labels_for_one_node_are_an_error():
    pandas = pytest.importorskip("pandas")
    edges = [["a", "b"], ["b", "c"], ["c", "a"]]
    twice = pandas.Series([0, 1, 0, 1], index=["a", "b", "c", "a"])
    with pytest.raises(ValueError, match="node 'a' has two different labels"):
        ehnn.NodeClassifier(**QUICK).fit(edges, twice)
    ehnn.NodeClassifier(**QUICK).fit(edges, pandas.Series([0, 1, 0, 0], index=["a", "b", "c", "a"]))
    with pytest.raises(ValueError, match="node 'a' has two different labels"):
        ehnn.NodeClassifier(**QUICK, hypergraph=edges).fit(["a", "b", "a"], [0, 1, 1])


def test_candidates_in_any_form_that_fit_takes():
    pandas = pytest.importorskip("pandas")
    ring = [[f"p{i}", f"p{(i + 1) % 9}", f"p{(i + 2) % 9}"] for i in range(9)]
    model = ehnn.HyperedgePredictor(**QUICK).fit(ring)
    wanted = model.decision_function([["p0", "p4"], ["p1", "p5", "p6"]])
    frame = pandas.DataFrame({"node": ["p0", "p4", "p1", "p5", "p6"], "edge": ["A", "A", "B", "B", "B"]})
    for given in (frame, {"A": ["p0", "p4"], "B": ["p1", "p5", "p6"]}):
        np.testing.assert_allclose(model.decision_function(given), wanted, atol=1e-6)


def test_numbers_of_named_candidates_are_those_of_nodes():
    pandas = pytest.importorskip("pandas")
    model = ehnn.HyperedgePredictor(**QUICK).fit([[i, (i + 1) % 9, (i + 2) % 9] for i in range(9)])
    for sets in ({"A": [8, 0, 4], "B": [1, 2, 3], "C": [7, 6, 5]}, {"A": [8, 2], "B": [4, 5, 8]}):
        wanted = model.decision_function([*sets.values()])
        pairs = [(node, name) for name, members in sets.items() for node in members]
        for given in (sets, pandas.DataFrame(pairs, columns=["node", "edge"])):
            np.testing.assert_array_equal(model.decision_function(given), wanted)
    with pytest.raises(ValueError, match="a candidate's 'a' is not a node: expected 0 to 8"):
        model.predict({"A": [*"abcdefghi"]})


@pytest.mark.parametrize("model", ["auto", "ehnn-mlp"])
def test_features_from_a_network_are_numbers(model, tmp_path):
    h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [4, 5], [1, 4, 5]])
    x, weight = torch.randn(6, 3), torch.rand(4)
    plain, given = (
        h.replace(x=x.clone().requires_grad_(grad), edge_weight=weight.clone().requires_grad_(grad))
        for grad in (False, True)
    )
    settings = QUICK | {"model": model, "budget": "fast"}
    first, second = (ehnn.NodeClassifier(**settings).fit(g, [0, 1] * 3) for g in (plain, given))
    np.testing.assert_array_equal(first.predict_proba(plain), second.predict_proba(given))
    second.save(tmp_path)
    second.explain(given, [0], most=1)
    assert given.x.grad is None
    with pytest.raises(ValueError, match=r"x must be dense, got torch.sparse_coo: give x.to_dense\(\)"):
        first.predict(h.replace(x=x.to_sparse()))


@pytest.mark.parametrize("kind", [ehnn.NodeClassifier, ehnn.HyperedgeClassifier])
@pytest.mark.parametrize("name", ["x", "edge_x"])
def test_features_without_columns_are_none(kind, name, tmp_path):
    h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3], [4, 5], [1, 4, 5]])
    empty = h.replace(**{name: torch.zeros(h.num_nodes if name == "x" else h.num_edges, 0)})
    y = [0, 1, 0, 1, 0, 1][: h.num_nodes if kind is ehnn.NodeClassifier else h.num_edges]
    wanted = kind(**QUICK).fit(h, y).predict_proba(h)
    model = kind(**QUICK).fit(empty, y)
    model.save(tmp_path)
    for given in (h, empty):
        np.testing.assert_array_equal(model.predict_proba(given), wanted)
        np.testing.assert_array_equal(kind.load(tmp_path).predict_proba(given), wanted)
    with pytest.raises(ValueError, match="features='given' needs node features x, got none"):
        ehnn.NodeClassifier(features="given").fit(empty, [0, 1] * 3)


def test_a_matrix_of_candidates_is_no_list_of_sets():
    model = ehnn.HyperedgePredictor(**QUICK).fit([[i, (i + 1) % 9, (i + 2) % 9] for i in range(9)])
    sets = [[0, 4, 5], [1, 2, 3], [2, 7, 8]]
    wanted = model.decision_function(sets)
    np.testing.assert_array_equal(model.decision_function(np.array(sets)), wanted)
    matrix = np.zeros((9, 3), int)
    matrix[np.ravel(sets), np.repeat(range(3), 3)] = 1
    np.testing.assert_array_equal(model.decision_function(as_hypergraph(matrix)), wanted)
    for given in (matrix, matrix > 0, torch.from_numpy(matrix)):
        with pytest.raises(
            ValueError, match=r"got an array of 0 and 1 of shape \(9, 3\); an incidence matrix"
        ):
            model.predict(given)


def test_answers_and_weights_of_candidates_are_found_by_name():
    pandas = pytest.importorskip("pandas")
    model = ehnn.HyperedgePredictor(**QUICK).fit([[i, (i + 1) % 9, (i + 2) % 9] for i in range(9)])
    sets = {"A": [0, 4], "B": [1, 2, 3], "C": [2, 7], "D": [4, 8]}
    y, weight = pandas.Series([0, 1, 0, 1], [*sets]), pandas.Series([1.0, 2.0, 3.0, 4.0], [*sets])
    wanted = model.score([*sets.values()], [0, 1, 0, 1], sample_weight=[1, 2, 3, 4])
    pairs = [(node, name) for name, members in sets.items() for node in members]
    frame = pandas.DataFrame(pairs, columns=["node", "edge"])
    for asked in (sets, pandas.Series(sets), frame, as_hypergraph(sets)):
        assert model.score(asked, y[::-1], sample_weight=weight[::-1]) == wanted
        assert model.score(asked, dict(y), sample_weight=dict(weight[::-1])) == wanted
    assert model.score(sets, y.tolist(), sample_weight=weight.tolist()) == wanted
    assert model.score(sets, y.to_frame()[::-1], sample_weight=weight) == wanted
    with pytest.raises(ValueError, match="y must have each name of a candidate once: 'D' has none"):
        model.score(sets, y[:3])


@pytest.mark.parametrize("model", ["hyper-gcn", "hgnn"])
def test_weights_are_not_read(model, kinds):
    weighted = kinds.replace(edge_weight=torch.arange(kinds.num_edges) + 1.0)
    plain = ehnn.NodeClassifier(**QUICK | {"model": model}).fit(kinds).predict_proba(kinds)
    with pytest.warns(UserWarning, match=f"edge_weight of the hypergraph: '{model}' does not read weights"):
        fitted = ehnn.NodeClassifier(**QUICK | {"model": model}).fit(weighted)
    np.testing.assert_array_equal(plain, fitted.predict_proba(weighted))


def test_other_estimators_say_that_they_do_not_read_weights(kinds):
    weighted = kinds.replace(edge_weight=torch.ones(kinds.num_edges), y=None)
    with pytest.warns(UserWarning, match="'HyperedgePredictor' does not read weights"):
        ehnn.HyperedgePredictor(width=4, epochs=1).fit(weighted)
    with pytest.warns(UserWarning, match="'HypergraphClassifier' does not read weights"):
        ehnn.HypergraphClassifier(**QUICK).fit([weighted, kinds, kinds, kinds], [0, 1, 0, 1])


def test_lists_of_tensors_are_of_numbers():
    edges = [torch.tensor([0, 1, 2]), torch.tensor([1, 2, 3])]
    assert as_hypergraph(edges).num_nodes == 4
    assert as_hypergraph(list(np.array([[0, 1], [1, 2]]))).num_nodes == 3


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_node_joins_nothing(missing):
    with pytest.raises(ValueError, match=r"hyperedge 1 \(from 0\) has a missing node"):
        as_hypergraph([["a", "b"], ["b", missing]])


def test_one_column_of_labels_is_one_label_per_node():
    h, y = [[0, 1], [1, 2, 3]], np.array([0, 1, 2, 1])
    model = ehnn.NodeClassifier(model="ehnn-mlp", width=4, epochs=2, validation_fraction=0).fit(h, y[:, None])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict(h).shape == (4,)


def test_candidates_go_by_their_names():
    known = io.from_named_edges([["a", "b"], ["b", "c"], ["c", "d"], ["d", "a", "b"]])
    model = ehnn.HyperedgePredictor(width=4, epochs=2).fit(known)
    asked = [["d", "a"], ["b", "c"]]
    by_list, by_graph = model.decision_function(asked), model.decision_function(io.from_named_edges(asked))
    np.testing.assert_allclose(by_graph, by_list, rtol=1e-4, atol=1e-5)


def test_features_are_checked_by_every_default() -> None:
    pairs = [[[0, 1], [1, 2]], [[0, 1, 2], [1, 2, 3]]] * 6
    with pytest.raises(ValueError, match=r"features must be one of .*'both'.*, got 'all'"):
        ehnn.HypergraphClassifier(features="all").fit(pairs, [0, 1] * 6)
    for wanted, told in (("degrees", "features must be one of"), ("given", "needs node features x")):
        with pytest.raises(ValueError, match=told):
            ehnn.IncidenceClassifier(features=wanted).fit(pairs[0], [0, 1, 0, 1])


def test_a_budget_may_be_a_number_of_numpy() -> None:
    ehnn.NodeClassifier(budget=np.float32(0.01)).fit([[0, 1], [1, 2]], [0, 1, 0])
    with pytest.raises(ValueError, match="budget must be one of"):
        ehnn.NodeClassifier(budget=np.float32(-5)).fit([[0, 1], [1, 2]], [0, 1, 0])
