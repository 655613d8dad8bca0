"""The relation between two families of hyperedges: who meets whom, in how many nodes."""

from .families import Family
from .orders import Orders
from .relation import Overlap, overlap
from .slots import Slots
from .triplets import Triplets

__all__ = ["Family", "Orders", "Overlap", "Slots", "Triplets", "overlap"]
