"""The noun: `Hypergraph`, its batches and its expansions into graphs. No parameters."""

from .batching import batch
from .expansions import Graph, clique_expansion, line_expansion, star_expansion, with_self_loops
from .hypergraph import FAMILIES, Hypergraph
from .pairs import Pairs
from .products import MAX_PAIRS

__all__ = [
    "FAMILIES",
    "MAX_PAIRS",
    "Graph",
    "Hypergraph",
    "Pairs",
    "batch",
    "clique_expansion",
    "line_expansion",
    "star_expansion",
    "with_self_loops",
]
