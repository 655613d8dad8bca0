"""Labels that may mean something else than they seem to are told or refused."""

from __future__ import annotations

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
