"""Learning on hypergraphs in PyTorch: predict labels of nodes, sets and hypergraphs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators import (
        HyperedgeClassifier,
        HyperedgePredictor,
        HyperedgeRegressor,
        HypergraphClassifier,
        HypergraphRegressor,
        IncidenceClassifier,
        NodeClassifier,
        NodeRegressor,
    )
    from .hypergraph import Hypergraph, batch

__version__ = "0.2.0"
__all__ = [
    "HyperedgeClassifier", "HyperedgePredictor", "HyperedgeRegressor", "Hypergraph", "HypergraphClassifier",
    "HypergraphRegressor", "IncidenceClassifier", "NodeClassifier", "NodeRegressor", "batch",
]  # fmt: skip

_PACKAGES = {
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
    "sharding",
    "tables",
    "tasks",
    "testing",
    "training",
}
_DEFINED_IN = {
    "Hypergraph": "hypergraph",
    "batch": "hypergraph",
    "HyperedgeClassifier": "estimators",
    "HyperedgePredictor": "estimators",
    "HyperedgeRegressor": "estimators",
    "HypergraphClassifier": "estimators",
    "HypergraphRegressor": "estimators",
    "IncidenceClassifier": "estimators",
    "NodeClassifier": "estimators",
    "NodeRegressor": "estimators",
}

_MOVED = {"bench": "ehnn_paper.benches", "reproduce": "ehnn_paper", "results": "ehnn_paper.results"}


def __getattr__(name: str) -> Any:
    """Everything is imported when first used, so that ``import ehnn`` and its command start quickly."""
    if name in _DEFINED_IN:
        return getattr(import_module(f"{__name__}.{_DEFINED_IN[name]}"), name)
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    from ._utils.moved import former

    return former(__name__, _MOVED)(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, "__version__"})
