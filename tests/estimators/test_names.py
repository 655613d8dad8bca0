"""Nodes and hyperedges are found again by name, whatever the names are."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ehnn
from ehnn.estimators.portfolio.fit_nodes import FitNodes

from .test_auto import FAST

pd = pytest.importorskip("pandas")
COUNT = 40
DRAW = np.random.default_rng(0)
EDGES = [DRAW.choice(np.arange(k % 2, COUNT, 2), 4, replace=False).tolist() for k in range(COUNT)]
PAIRS = pd.DataFrame([(v, e) for e, members in enumerate(EDGES) for v in members], columns=["node", "edge"])
KNOWN = {v: "ab"[v % 2] for v in range(COUNT) if v % 3}


def fitted(data: Any) -> ehnn.NodeClassifier:
    return ehnn.NodeClassifier(**FAST).fit(data, KNOWN)


@pytest.mark.parametrize("kind", ["frame", "lists"])
def test_numbers_of_a_part_of_the_nodes_are_their_names(tmp_path: Path, kind: str) -> None:
    """A part has gaps: its first node is not node 0 of fit."""
    model = fitted(PAIRS if kind == "frame" else EDGES)
    model.save(tmp_path / "m")
    part = PAIRS[PAIRS.edge.isin(range(7, 12)) | (PAIRS.node % 5 == 0)]
    again = pd.DataFrame({"node": [3, 5, 7, 9, 2, 4, 6, 8], "edge": [100] * 4 + [101] * 4})
    for later in (part, again):
        h = ehnn.estimators.as_hypergraph(later)
        for asked in (model, ehnn.estimators.load(tmp_path / "m")):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = asked.predict(later)
            right = found == np.array(["ab"[v % 2] for v in h.node_names])
            assert right.mean() > 0.9


def test_lists_of_numbers_are_the_nodes_that_have_them_as_names() -> None:
    """Names of a mapping stand in the order in which they occur: places are other nodes."""
    model = fitted({f"set {e}": members for e, members in enumerate(EDGES)})
    part = ehnn.estimators.as_hypergraph(EDGES)
    named = ehnn.estimators.as_hypergraph({f"set {e}": members for e, members in enumerate(EDGES)})
    assert named.node_names != tuple(range(COUNT))
    order = np.array(named.node_names)
    np.testing.assert_allclose(model.predict_proba(part)[order], model.predict_proba(named), atol=1e-6)
    same = named.replace(node_names=None)  # without its names, nodes are found by their places
    np.testing.assert_allclose(model.predict_proba(same), model.predict_proba(named), atol=1e-6)


def test_frames_keep_numbers_as_names_in_their_order() -> None:
    h = ehnn.estimators.as_hypergraph(pd.DataFrame({"node": [2, 0, 1], "edge": [1, 1, 0]}))
    assert (h.node_names, h.edge_names, h.edges()) == ((0, 1, 2), (0, 1), [[1], [0, 2]])
    assert ehnn.estimators.as_hypergraph(PAIRS.head(0)).num_nodes == 0


def test_names_of_another_type_are_told() -> None:
    with pytest.warns(UserWarning, match=r"no node of fit is in this hypergraph; (.) of fit is '\1' here"):
        fitted(PAIRS).predict(PAIRS[PAIRS.node.isin([4, 7])].astype(str))


def test_missing_labels_that_numpy_made_text_are_told() -> None:
    y = np.array([KNOWN.get(v, np.nan) for v in range(COUNT)])
    with pytest.warns(UserWarning, match="'nan' is taken for a class"):
        ehnn.NodeClassifier(**FAST).fit(EDGES, y)


@pytest.mark.parametrize("kind", [ehnn.NodeClassifier, ehnn.HyperedgeClassifier])
def test_the_order_of_rows_changes_no_prediction(kind: type) -> None:
    """That of a labelled row neither: its label is hidden in the same pass of the propagation."""
    edges = {f"e{k}": [f"n{v}" for v in members] for k, members in enumerate(EDGES)}
    h = ehnn.estimators.as_hypergraph(edges)
    names = h.node_names if kind is ehnn.NodeClassifier else h.edge_names
    known = {name: "ab"[int(name[1:]) % 2 ^ (int(name[1:]) % 7 == 0)] for name in names if name[-1] < "6"}
    model = kind(**FAST).fit(h, known)
    other = ehnn.estimators.as_hypergraph(dict(reversed(edges.items())))
    others = other.node_names if kind is ehnn.NodeClassifier else other.edge_names
    order = [others.index(name) for name in names]
    np.testing.assert_allclose(model.predict_proba(other)[order], model.predict_proba(h), atol=1e-5)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([[1, "1"], ["1", 2]], "names of nodes .* count as different: 1, 1 and '1' for one"),
        (pd.DataFrame({"node": ["a", "a ", "b"], "edge": [1, 1, 2]}), "names of nodes .* 'a' and 'a ' for"),
        ([["a", ""], ["b"]], "'' is the name of one of the nodes"),
        ({"b1": {"milk": 2, "rye": 1}, "b2": {"milk": 1}}, "the values of .*'milk': 2.* are not read"),
        (pd.DataFrame({"set": ["s", "t"], "items": ["a;b", "b"]}), "each hyperedge has one node, 'a;b'"),
    ],
)
def test_nodes_that_may_be_one_or_several_are_told(data: Any, told: str) -> None:
    with pytest.warns(UserWarning, match=told):
        ehnn.estimators.as_hypergraph(data)


def test_capitals_tell_names_apart_in_python() -> None:
    """The suite turns warnings into errors. A note on tables says so: people who type do not mean them."""
    assert ehnn.estimators.as_hypergraph([["czt", "CZT"], ["CZT", "dct"]]).num_nodes == 3


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (pd.DataFrame({"set": ["s", "t"], "node": [["a", "b"], ["b"]]}), "column 'node' .* holds lists"),
        (pd.Series([["a", "b"], ["b"]]), r"a Series of lists is given as series.to_dict\(\)"),
        ({frozenset("ab"), frozenset("bc")}, "hyperedges must have an order"),
        (np.array([[0, 1, 1, 0, 1], [1, 0, 1, 1, 0]]), "an incidence matrix of 2 nodes, or"),
    ],
)
def test_forms_that_may_be_read_in_two_ways_are_refused(data: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ehnn.estimators.as_hypergraph(data)


def test_numbers_of_nodes_with_large_gaps_are_told() -> None:
    edges = [[1001, 1002], [1002, 1003], [1001, 1003]]
    with pytest.warns(UserWarning, match="1001 of the 1004 nodes are in no hyperedge"):
        ehnn.HyperedgePredictor(model="ehnn-mlp", width=4, epochs=1).fit(edges)
    with pytest.warns(UserWarning, match="1001 of the 1004 nodes are in no hyperedge"):
        ehnn.NodeClassifier(model="ehnn-mlp", width=4, epochs=1).fit(edges, {1001: 0, 1002: 1})


@pytest.mark.parametrize("kind", [ehnn.NodeClassifier, ehnn.HyperedgeClassifier])
def test_names_in_another_writing_are_told(kind: type) -> None:
    """Where some names are known, too, and of nodes as of hyperedges."""
    model = kind(**FAST).fit(PAIRS.astype(str), {str(v): label for v, label in KNOWN.items()})
    part = PAIRS.astype(str).tail(40)
    model.predict(part)
    for column, what in (("node", "nodes"), ("edge", "hyperedges")):
        later = part.assign(**{column: part[column] + ".0"})
        with pytest.warns(UserWarning, match=rf"{what} were not there in fit: '\d+' of fit is '\d+.0' here"):
            model.predict(later)


@pytest.mark.parametrize("settings", [{"model": "hgnn", "width": 4, "epochs": 1}, {"budget": 0.01}])
def test_numbers_with_a_point_are_saved_as_names(settings: dict[str, Any], tmp_path: Path) -> None:
    """A column of whole numbers with a gap is one of floats in pandas."""
    frame = pd.DataFrame({"node": [7.0, 3.0, 3.0, 9.0, 9.0, 7.0], "edge": [*"aabbcc"]})
    model = ehnn.NodeClassifier(**settings).fit(frame, {7: "x", 3: "y", 9: "x"})
    model.save(tmp_path)
    again = ehnn.estimators.load(tmp_path)
    for asked in (frame, frame.astype({"node": int}), frame.iloc[::-1]):
        np.testing.assert_array_equal(again.predict_proba(asked), model.predict_proba(asked))
    np.testing.assert_allclose(
        again.predict_proba(frame.astype({"node": int})), model.predict_proba(frame), atol=1e-6
    )
    with pytest.raises(ValueError, match=r"must be text or integers to be saved, got 7\.5"):
        ehnn.NodeClassifier(**settings).fit(frame.replace(7.0, 7.5), {7.5: 0, 3: 1}).save(tmp_path)


def test_nodes_whose_name_comes_twice_are_found_where_they_were() -> None:
    names = ["a", "b", "a", "c"]
    fit_nodes = FitNodes(tuple(names), np.array([0, 1, 1, 0]), None, np.zeros(0, np.int64))
    h = ehnn.Hypergraph.from_edges([[0, 1], [2, 3]], node_names=names)
    assert fit_nodes.places(h).tolist() == [0, 1, 2, 3]
    assert fit_nodes.places(h.replace(node_names=["c", "b", "d", "e"])).tolist() == [3, 1, -1, -1]
