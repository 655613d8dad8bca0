"""Fit and predict, as in scikit-learn, for people with a table and no patience."""

import os
from typing import Any

from .base import Estimator, NotFittedError
from .features import structural_features
from .hyperedges import HyperedgePredictor
from .hypergraphs import HypergraphClassifier, HypergraphRegressor
from .inputs import as_hypergraph
from .nodes import NodeClassifier, NodeRegressor

__all__ = [
    "HyperedgePredictor",
    "HypergraphClassifier",
    "HypergraphRegressor",
    "NodeClassifier",
    "NodeRegressor",
    "NotFittedError",
    "as_hypergraph",
    "load",
    "structural_features",
]

_KINDS = (NodeClassifier, NodeRegressor, HyperedgePredictor, HypergraphClassifier, HypergraphRegressor)


def load(path: str | os.PathLike[str], *, model: Any = None) -> Estimator:
    """The estimator saved in the folder ``path``, whichever it is; see `Estimator.load`."""
    from .storage import read

    name = read(path)[0].get("class")
    kind = next((k for k in _KINDS if k.__name__ == name), None)
    if kind is None:
        raise ValueError(f"{path} holds a {name!r}; expected one of {[k.__name__ for k in _KINDS]}")
    return kind.load(path, model=model)
