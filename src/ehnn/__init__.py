"""Learning on hypergraphs with every permutation-equivariant linear operation there is."""

from importlib import import_module
from typing import Any

from .hypergraph import Hypergraph, batch

__version__ = "0.1.0"
__all__ = ["Hypergraph", "batch"]

_ROOMS = {
    "algebra",
    "datasets",
    "estimators",
    "hypergraph",
    "io",
    "nn",
    "ops",
    "overlap",
    "parallel",
    "report",
    "reproduce",
    "tasks",
    "testing",
    "training",
}
_ESTIMATORS = {
    "HyperedgePredictor",
    "HypergraphClassifier",
    "HypergraphRegressor",
    "NodeClassifier",
    "NodeRegressor",
}


def __getattr__(name: str) -> Any:
    """Rooms and estimators are imported when first used, so that ``import ehnn`` stays quick."""
    if name in _ESTIMATORS:
        return getattr(import_module(f"{__name__}.estimators"), name)
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
