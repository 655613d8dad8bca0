"""Learning on hypergraphs with every permutation-equivariant linear operation there is."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators import (
        HyperedgePredictor,
        HypergraphClassifier,
        HypergraphRegressor,
        NodeClassifier,
        NodeRegressor,
    )
    from .hypergraph import Hypergraph, batch

__version__ = "0.1.0"
__all__ = [
    "HyperedgePredictor", "Hypergraph", "HypergraphClassifier", "HypergraphRegressor", "NodeClassifier",
    "NodeRegressor", "batch",
]  # fmt: skip

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
_PLACES = {
    "Hypergraph": "hypergraph",
    "batch": "hypergraph",
    "HyperedgePredictor": "estimators",
    "HypergraphClassifier": "estimators",
    "HypergraphRegressor": "estimators",
    "NodeClassifier": "estimators",
    "NodeRegressor": "estimators",
}


def __getattr__(name: str) -> Any:
    """Everything is imported when first used, so that ``import ehnn`` and its command start at once."""
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, "__version__"})
