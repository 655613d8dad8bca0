"""The data type `Hypergraph`, batches of it, and its expansions into graphs. No parameters."""

from ehnn._utils.moved import former

from .batching import batch
from .expansions import Graph, clique_expansion, dual, line_expansion, star_expansion, with_self_loops
from .hypergraph import Hypergraph
from .pairs import SparsePattern

__all__ = [
    "Graph",
    "Hypergraph",
    "SparsePattern",
    "batch",
    "clique_expansion",
    "dual",
    "line_expansion",
    "star_expansion",
    "with_self_loops",
]

__getattr__ = former(
    __name__,
    {"Pairs": "ehnn.hypergraph:SparsePattern"},
    internal={".features": "FAMILIES", ".products": "MAX_PAIRS"},
)
