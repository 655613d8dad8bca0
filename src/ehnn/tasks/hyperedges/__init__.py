"""Hyperedge prediction: which sets of nodes belong together? Splits without leaks, negatives, metrics."""

from .heuristics import co_membership, common_neighbours
from .metrics import auroc, average_precision, mean_reciprocal_rank
from .negatives import SAMPLERS, sample_negatives
from .scoring import HyperedgePrediction, Scored, answers_of, concatenate
from .sets import among_most_active, distinct_sets, is_in, keep_edges, same_sets
from .split import EdgeSplit, check_no_leak, one_of_each, set_numbers, split_hyperedges, without_sets

__all__ = [
    "SAMPLERS",
    "EdgeSplit",
    "HyperedgePrediction",
    "Scored",
    "among_most_active",
    "answers_of",
    "auroc",
    "average_precision",
    "check_no_leak",
    "co_membership",
    "common_neighbours",
    "concatenate",
    "distinct_sets",
    "is_in",
    "keep_edges",
    "mean_reciprocal_rank",
    "one_of_each",
    "same_sets",
    "sample_negatives",
    "set_numbers",
    "split_hyperedges",
    "without_sets",
]
