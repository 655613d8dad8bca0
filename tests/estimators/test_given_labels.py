"""Labels that may mean something else than they seem to are told or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ehnn

QUICK: dict[str, Any] = {"model": "ehnn-mlp", "width": 4, "epochs": 1}
EDGES = [[0, 1, 2], [3, 4, 5], [1, 4]]


def fitted(y: Any, kind: type = ehnn.NodeClassifier, h: Any = EDGES) -> Any:
    return kind(**QUICK).fit(h, y)


# ---------------------------------------------------------------------- -1


@pytest.mark.parametrize("form", [list, np.array, lambda y: dict(enumerate(y))])
def test_minus_one_beside_other_numbers_is_told(form: Any) -> None:
    with pytest.warns(UserWarning, match="-1 is taken for no label in 2 of 6 rows: give None or NaN"):
        assert fitted(form([0, 1, 2, 2, -1, -1])).classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("y", "classes"), [([0, 1, 0, 1, -1, -1], [0, 1]), ([-2, 1, 0, 1, -1, -1], [-2, 0, 1])]
)
def test_minus_one_of_a_tensor_that_may_be_a_class_is_told(y: list[int], classes: list[int]) -> None:
    with pytest.warns(UserWarning, match="-1 in a tensor of integers means that there is no label: 2 of 6"):
        assert fitted(torch.tensor(y)).classes_.tolist() == classes
    h = ehnn.Hypergraph.from_edges(EDGES, y=torch.tensor(y))
    assert fitted(None, h=h).classes_.tolist() == classes  # that of a hypergraph means nothing else


def test_minus_one_of_a_tensor_of_numbers_is_told() -> None:
    with pytest.warns(UserWarning, match="to keep it as a number, make it a tensor of floats"):
        fitted(torch.tensor([-1, 4, 3, 2, 5, -1]), ehnn.NodeRegressor)


def test_minus_one_of_incidences_and_hypergraphs() -> None:
    with pytest.warns(UserWarning, match="-1 in a tensor of integers"):
        ehnn.IncidenceClassifier(budget="fast").fit(EDGES * 2, torch.tensor([0, 1, -1, 0] * 4))
    with pytest.raises(ValueError, match="is -1 a class, or no label"):
        ehnn.IncidenceClassifier(budget="fast").fit(EDGES, np.array([0, 1, -1, 0] * 2))
    with pytest.raises(ValueError, match="is -1 a class, or no label"):
        ehnn.HypergraphClassifier(**QUICK).fit([EDGES] * 4, [-1, 1, -1, 1])


def test_a_matrix_of_minus_one_and_one_is_refused() -> None:
    """All that are no would count as missing, and the answer would be yes everywhere."""
    with pytest.raises(ValueError, match="a matrix of labels has -1 and 1 but no 0"):
        fitted(np.array([[-1, 1], [1, -1], [1, 1]] * 2))


def test_minus_one_is_scored_as_it_is_learned() -> None:
    model = fitted([0, 1, None, 1, 0, 1])
    with pytest.raises(ValueError, match="is -1 a class, or no label"):
        model.score(EDGES, [-1, 1, -1, 1, 1, 1])


# ---------------------------------------------------------------------- classes that may be one, or none


@pytest.mark.parametrize(
    ("y", "told"),
    [
        (["Yes", "yes", "no"], "classes that may be one: 'Yes' and 'yes' count as different"),
        (["a", "a ", "b"], "classes that may be one: 'a' and 'a ' count as different"),
        (["1", "1.0", "2"], "classes that may be one: '1' and '1.0' count as different"),
        ([True, 1, 0], "labels are truths and numbers: True and 1 are one class"),
        (["a", "b", ""], "'' is taken for a class; where it means that there is no label, give None"),
        (["a", "b", "NA"], "'NA' is taken for a class"),
        (["a", "b", "?"], r"'\?' is taken for a class"),
    ],
)
def test_classes_that_may_be_one_or_none_are_told(y: list[Any], told: str) -> None:
    with pytest.warns(UserWarning, match=told):
        fitted(y * 2)


# ---------------------------------------------------------------------- which row a label is of

pd = pytest.importorskip("pandas")
PAIRS = pd.DataFrame({"node": [10, 3, 20, 3, 0, 1, 4, 20, 10], "set": list("aaabbbccc")})


def taken(y: Any, h: Any = PAIRS) -> dict[Any, Any]:
    """The label that each node gets in `fit`."""
    graph, nodes, values = ehnn.NodeClassifier()._labels(h, y)
    names = graph.node_names or range(graph.num_nodes)
    places = range(len(values)) if nodes is None else nodes.tolist()
    return {names[i]: value for i, value in zip(places, values, strict=True)}


def test_row_numbers_that_are_names_of_nodes_are_told() -> None:
    """What a filter leaves of a table: rows 1, 3 and 4, and there are nodes 1, 3 and 4."""
    y = pd.Series(list("ababab")).iloc[[1, 3, 4]]
    with pytest.warns(UserWarning, match=r"is 1 the label of node 1 or of row 1 \(node 3\)\? It"):
        assert taken(y) == {1: "b", 3: "b", 4: "a"}
    assert taken(y.rename_axis("node")) == {1: "b", 3: "b", 4: "a"}
    assert taken(pd.Series(["a", "b"], index=[3, 20])) == {3: "a", 20: "b"}  # no row has number 20
    with pytest.raises(ValueError, match=r"2 is not a node.*seems to hold numbers of rows"):
        taken(pd.Series(list("ababab")).iloc[[1, 2, 4]])
    other = ehnn.Hypergraph.from_edges([[0, 1, 2]], node_names=(2, 0, 1))
    with pytest.warns(UserWarning, match="taken for rows in the order of the nodes"):
        assert taken(pd.Series(list("abc")), other) == {2: "a", 0: "b", 1: "c"}
    assert taken(pd.Series(list("abc")).rename_axis("node"), other) == {0: "a", 1: "b", 2: "c"}
    assert taken(pd.Series(list("abc"), index=[0, 2, 4]), EDGES) == {0: "a", 2: "b", 4: "c"}


def test_labels_by_position_of_nodes_that_are_numbers_out_of_order_are_told() -> None:
    with pytest.warns(UserWarning, match="are numbers in the order in which they first appear: 10, 3"):
        assert taken(list("ababab"))[10] == "a"
    taken(list("ababab"), ehnn.estimators.as_hypergraph(PAIRS))  # whose order can be seen
    taken(list("ababab"), PAIRS.sort_values("node"))


def test_frames_with_names_beside_labels_are_refused() -> None:
    y = pd.DataFrame({"node": [10, 3, 20, 0, 1, 4], "age": [1.0, 2, 3, 4, 5, 6]})
    with pytest.raises(ValueError, match=r"rows as a column.*give y\['age'\] in the order"):
        ehnn.NodeRegressor().fit(PAIRS, y)
    assert taken(dict(zip(y["node"], y["age"], strict=True)))[20] == 3.0


def test_weights_with_names_are_found_by_name_also_where_labels_have_none() -> None:
    y = [0, 1, 0, 1, 0, 1]
    weight = pd.Series([1.0, 2, 3, 4, 5, 6], index=[5, 4, 3, 2, 1, 0])
    by_name, by_row = (ehnn.NodeClassifier(**QUICK).fit(EDGES, y, w) for w in (weight, [6, 5, 4, 3, 2, 1]))
    np.testing.assert_array_equal(by_name.predict_proba(EDGES), by_row.predict_proba(EDGES))
    sets = {"a": ["x", "y", "z"], "b": ["x", "y"], "c": ["y", "z"]}
    model = ehnn.IncidenceClassifier(budget="fast").fit(sets, [0, 1, 0, 0, 1, 0, 1])
    right = model.predict(sets) == [0, 1, 0, 0, 1, 0, 1]
    pairs = [(v, e) for e, members in sets.items() for v in members]
    one = pd.Series(1.0 * np.arange(7), pd.MultiIndex.from_tuples(pairs)).iloc[::-1]
    score = model.score(sets, [0, 1, 0, 0, 1, 0, 1], one)
    assert score == pytest.approx(right @ np.arange(7) / 21)
    assert score == model.score(sets, [0, 1, 0, 0, 1, 0, 1], dict(one))


def test_two_labels_of_one_incidence_are_refused() -> None:
    index = pd.MultiIndex.from_tuples([("x", "a"), ("y", "a"), ("x", "a")])
    with pytest.raises(ValueError, match=r"y: \('x', 'a'\) has two labels, 0 and 1"):
        ehnn.IncidenceClassifier(budget="fast").fit({"a": ["x", "y"]}, pd.Series([0, 1, 1], index))


def test_labels_by_position_of_members_in_another_order_are_told() -> None:
    sets = {"a": ["x", "y", "z"], "b": ["x", "y"], "c": ["z", "y"]}
    with pytest.warns(UserWarning, match="members of hyperedges are given in another order"):
        ehnn.IncidenceClassifier(budget="fast").fit(sets, [0, 1, 0, 0, 1, 0, 1])


def test_labels_that_are_names_are_told() -> None:
    with pytest.warns(UserWarning, match="12 classes for 12 labels are too many to learn; are they names"):
        fitted(list("abcdefghijkl"), h=[list(range(12)), [0, 4]])


def test_labels_of_rows_before_a_frame_was_shuffled_are_refused() -> None:
    frame = pd.DataFrame({"node": list("abcabd"), "edge": [1, 1, 1, 2, 2, 2]})
    y = pd.Series(list("ppqppq"))
    with pytest.raises(ValueError, match=r"y has the rows of the frame in another order.*y.to_numpy"):
        ehnn.IncidenceClassifier(budget="fast").fit(frame.iloc[::-1], y)


def test_large_numbers_of_polars_stay_as_they_are() -> None:
    pl = pytest.importorskip("polars")
    y = pl.Series([None, 2**53, 2**53 + 1, 2**53 + 2, None, 2**53])
    assert fitted(y).classes_.tolist() == [2**53, 2**53 + 1, 2**53 + 2]


@pytest.mark.parametrize("form", [np.asarray, lambda y: pd.DataFrame({"y": y})])
@pytest.mark.parametrize("kind", [ehnn.NodeClassifier, ehnn.NodeRegressor])
def test_dates_are_no_labels(form: Any, kind: type) -> None:
    """NumPy makes numbers of nanoseconds of them, and an enormous negative one where a date is missing."""
    dates = np.array(["2020-01-01", "2021-01-01", "NaT"] * 2, "datetime64[ns]")
    with pytest.raises(ValueError, match=r"y must be classes or numbers.*got datetime64\[ns\]"):
        fitted(form(dates), kind)


@pytest.mark.parametrize("kind", [ehnn.NodeClassifier, ehnn.NodeRegressor, ehnn.HypergraphClassifier])
def test_columns_of_labels_in_another_order_are_refused(kind: Any, tmp_path: Path) -> None:
    y = pd.DataFrame({"a": [0, 1, 0, 1, 0, 1], "b": [1, 1, 0, 0, 0, 1]})
    h: Any = [EDGES] * 6 if kind is ehnn.HypergraphClassifier else EDGES
    kind(**QUICK).fit(h, y).save(tmp_path)
    model = kind.load(tmp_path)
    assert model.score(h, y) == model.score(h, y.to_numpy())
    with pytest.raises(ValueError, match=r"y must have the columns of fit, \['a', 'b'\], got \['b', 'a'\]"):
        model.score(h, y[["b", "a"]])


def test_other_forms_are_refused_by_what_is_expected() -> None:
    with pytest.raises(ValueError, match="a list of hypergraphs is expected, got a mapping"):
        ehnn.HypergraphClassifier(**QUICK).fit({"g": EDGES, "h": EDGES}, ["a", "b"])
    model = ehnn.HyperedgePredictor(**QUICK).fit(EDGES * 2)
    for y in (["1", "0"], [1, None]):
        with pytest.raises(ValueError, match="scores must be numbers and answers 0 or 1"):
            model.score([[0, 1], [2, 3]], y)


def test_numbers_that_no_float_holds_are_named() -> None:
    with pytest.raises(ValueError, match="labels must be numbers here, got 1000"):
        ehnn.NodeRegressor(budget="fast").fit([[0, 1], [1, 2]], [10**400, 1, 2])


@pytest.mark.parametrize("kind", [ehnn.NodeClassifier, ehnn.NodeRegressor])
def test_no_rows_have_no_labels(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"not one of the 0 rows has a (label|number)"):
        kind(budget="fast").fit(ehnn.Hypergraph.from_edges([], 0), [])


def test_classes_of_64_bits_are_not_rounded() -> None:
    classes = np.array([1, 2**64 - 1], np.uint64)
    model = ehnn.NodeClassifier(model="hgnn", width=4, epochs=1)
    model.fit([[0, 1], [1, 2], [2, 3]], np.tile(classes, 2))
    assert set(model.classes_) == {1, 2**64 - 1}
    assert set(model.predict([[0, 1], [1, 2], [2, 3]])) <= {1, 2**64 - 1}
