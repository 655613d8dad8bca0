"""Hyperedge prediction: which sets of nodes belong together? Splits without leaks, negatives, metrics."""

from ehnn._utils.moved import former

from .heuristics import co_membership, common_neighbours
from .metrics import auroc, average_precision, mean_reciprocal_rank
from .negatives import CONNECTED, SAMPLERS, sample_negatives
from .scoring import HyperedgePrediction, concatenate
from .split import EdgeSplit, check_no_leak, split_hyperedges

__all__ = [
    "CONNECTED",
    "SAMPLERS",
    "EdgeSplit",
    "HyperedgePrediction",
    "auroc",
    "average_precision",
    "check_no_leak",
    "co_membership",
    "common_neighbours",
    "concatenate",
    "mean_reciprocal_rank",
    "sample_negatives",
    "split_hyperedges",
]

__getattr__ = former(
    __name__,
    internal={
        ".scoring": "Scored answers_of",
        ".sets": "among_most_active distinct_sets is_in keep_edges same_sets",
        ".split": "one_of_each set_numbers without_sets",
    },
)
