"""The relation between two families of hyperedges: which of them share nodes, and how many."""

from ehnn._utils.moved import former

from .orders import Orders
from .relation import Overlap, overlap

__all__ = ["Orders", "Overlap", "overlap"]

__getattr__ = former(
    __name__,
    internal={
        ".families": "Family",
    },
)
