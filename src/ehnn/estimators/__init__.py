"""Fit and predict, as in scikit-learn, for people with a table and no patience."""

from .features import structural_features
from .inputs import as_hypergraph
from .nodes import NodeClassifier, NodeRegressor

__all__ = ["NodeClassifier", "NodeRegressor", "as_hypergraph", "structural_features"]
