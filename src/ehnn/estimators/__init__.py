"""scikit-learn-style estimators: fit and predict labels of nodes, hyperedges, incidences and hypergraphs."""

import os
from typing import Any

from ehnn._utils.validation import short

from .base import Estimator, NotFittedError
from .features import structural_features
from .hyperedge_labels import HyperedgeClassifier, HyperedgeRegressor
from .hyperedges import HyperedgePredictor
from .hypergraphs import HypergraphClassifier, HypergraphRegressor
from .incidences import IncidenceClassifier
from .inputs import as_hypergraph
from .nodes import NodeClassifier, NodeRegressor

__all__ = [
    "HyperedgeClassifier",
    "HyperedgePredictor",
    "HyperedgeRegressor",
    "HypergraphClassifier",
    "HypergraphRegressor",
    "IncidenceClassifier",
    "NodeClassifier",
    "NodeRegressor",
    "NotFittedError",
    "as_hypergraph",
    "load",
    "structural_features",
]

_KINDS = (
    NodeClassifier, NodeRegressor, HyperedgeClassifier, HyperedgeRegressor, HyperedgePredictor,
    HypergraphClassifier, HypergraphRegressor, IncidenceClassifier,
)  # fmt: skip


def load(path: str | os.PathLike[str], *, model: Any = None) -> Estimator:
    """Load the estimator that `save` wrote to the folder ``path``, of whatever class it is.

    ``model`` is the factory of the network, needed where the estimator was made with one of its own; see
    `Estimator.load`.

    >>> edges = [[0, 1, 2], [0, 2], [1, 2], [3, 4, 5], [3, 5], [4, 5]]
    >>> NodeClassifier(budget="fast").fit(edges, ["a", "a", None, "b", "b", None]).save("folder")
    >>> load("folder").classes_.tolist()
    ['a', 'b']
    """
    from .storage import read

    name = read(path)[0].get("class")
    kind = next((k for k in _KINDS if k.__name__ == name), None)
    if kind is None:
        raise ValueError(f"{path} holds a {short(name)}; expected one of {[k.__name__ for k in _KINDS]}")
    return kind.load(path, model=model)
