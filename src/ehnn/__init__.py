"""Learning on hypergraphs with every permutation-equivariant linear operation there is."""

from importlib import import_module
from types import ModuleType

from .hypergraph import Hypergraph, batch

__version__ = "0.1.0"
__all__ = ["Hypergraph", "batch"]

_ROOMS = {"algebra", "datasets", "hypergraph", "io", "nn", "ops", "overlap", "tasks", "testing", "training"}


def __getattr__(name: str) -> ModuleType:
    """Rooms are imported when first used, so that ``import ehnn`` stays quick."""
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
