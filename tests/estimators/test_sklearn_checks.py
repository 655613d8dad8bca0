"""scikit-learn's own checks of estimators, but for those that contradict a hypergraph as input.

The checks give matrices of numbers. `Rows` makes a hypergraph of them: a node for each row, with the row as
its features, and no hyperedges. `LEFT_OUT` has the checks that are not for us, each with the reason; the page
on estimators in the documentation shows the same list.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ehnn

checks = pytest.importorskip("sklearn.utils.estimator_checks")
if not hasattr(checks, "estimator_checks_generator"):
    pytest.skip("scikit-learn before 1.6 has no list of checks", allow_module_level=True)

LEFT_OUT = {
    "check_n_features_in_after_fitting": "the error speaks of the channels of x, not of X",
    "check_fit2d_predict1d": "the error speaks of x of a hypergraph",
    "check_complex_data": "the error names the label or x that is not real",
    "check_estimators_empty_data_messages": "nodes without features are judged by degrees and orders",
    "check_estimator_sparse_tag": "a sparse matrix is an incidence matrix",
    "check_estimator_sparse_array": "a sparse matrix is an incidence matrix",
    "check_estimator_sparse_matrix": "a sparse matrix is an incidence matrix",
    "check_supervised_y_2d": "y with one column is taken as a vector without a warning",
    "check_classifiers_classes": "-1 beside 1 alone is refused: it may mean no label",
    "check_sample_weight_equivalence_on_dense_data": "a part of the rows selects the epoch",
    "check_sample_weight_equivalence_on_sparse_data": "a sparse matrix is an incidence matrix",
    "check_methods_subset_invariance": "a prediction depends on the other nodes",
    "check_methods_sample_order_invariance": "sums in single precision depend on the order of the nodes",
    "check_array_api_input": "skipped by scikit-learn unless SCIPY_ARRAY_API is set",
}
"""Checks that are not for us, and why."""


class Rows:
    """An estimator of nodes that takes a matrix: a network that is trained for a moment."""

    def _rows_of(self, h: Any) -> ehnn.Hypergraph:
        x = np.asarray(h)
        x = x.astype(float) if x.dtype == object else x
        return ehnn.Hypergraph.from_edges([], x.shape[0], x=x)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        for found in (tags.classifier_tags, tags.regressor_tags):
            if found is not None:
                found.poor_score = True  # after one epoch
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class RowClassifier(Rows, ehnn.NodeClassifier):
    model: Any = "ehnn-mlp"
    width: int = 4
    epochs: int = 1
    residual: bool | None = True


@dataclass(eq=False, repr=False, kw_only=True)
class RowRegressor(Rows, ehnn.NodeRegressor):
    model: Any = "ehnn-mlp"
    width: int = 4
    epochs: int = 1
    residual: bool | None = True


@pytest.mark.parametrize("kind", [RowClassifier, RowRegressor])
@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn(kind: type) -> None:
    found = checks.check_estimator(kind(), on_fail=None, on_skip=None)
    wrong = {row["check_name"]: row["exception"] for row in found if row["status"] != "passed"}
    unexpected = {name: str(error)[:300] for name, error in wrong.items() if name not in LEFT_OUT}
    assert unexpected == {}
    assert sum(row["status"] == "passed" for row in found) > 40


def test_no_check_is_left_out_for_nothing() -> None:
    """Each check of the list exists in scikit-learn."""
    assert [name for name in LEFT_OUT if not hasattr(checks, name) and "sparse" not in name] == []


WITHOUT_DATA = (
    "check_estimator_cloneable", "check_estimator_tags_renamed", "check_valid_tag_types",
    "check_estimator_repr", "check_no_attributes_set_in_init", "check_get_params_invariance",
    "check_set_params",
)  # fmt: skip
OTHERS = (
    ehnn.NodeClassifier, ehnn.NodeRegressor, ehnn.HyperedgeClassifier, ehnn.HyperedgeRegressor,
    ehnn.HyperedgePredictor, ehnn.HypergraphClassifier, ehnn.HypergraphRegressor, ehnn.IncidenceClassifier,
)  # fmt: skip


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_checks_that_need_no_data(kind: type, name: str) -> None:
    if not hasattr(checks, name):
        pytest.skip(f"this scikit-learn has no {name}")
    getattr(checks, name)(kind.__name__, kind())


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_fitted_and_asked_about_has_one_name(kind: type) -> None:
    names = ("fit", "predict", "predict_proba", "predict_with_proba", "score", "explain", "decision_function")
    methods = {name: getattr(kind, name) for name in names if hasattr(kind, name)}
    first = {name: list(inspect.signature(method).parameters)[1] for name, method in methods.items()}
    candidates = kind is ehnn.HyperedgePredictor  # it is asked about other sets than it was fitted on
    assert first == {n: "candidates" if candidates and n != "fit" else "h" for n in methods}


def test_former_names_of_arguments_work_and_warn() -> None:
    graphs, y = [[[0, 1]], [[0, 1, 2]]] * 4, [0, 1] * 4
    model = ehnn.HypergraphClassifier(model="ehnn-mlp", width=4, epochs=1)
    with pytest.warns(DeprecationWarning, match="the argument hypergraphs of fit is called h now"):
        model.fit(hypergraphs=graphs, y=y)
    with pytest.warns(DeprecationWarning, match="the argument data of predict_proba is called h now"):
        assert model.predict_proba(data=graphs).shape == (8, 2)


def test_the_documentation_has_the_same_list() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(check_\w+)` \| (.+) \|$", page, re.MULTILINE))
    assert rows == LEFT_OUT
