"""Weights of pairs: those of hyperedges and of incidences, as factors of the terms of a sum."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.weighted import product

from .families import FamilyRows


def pair_weights(target: Tensor, source: Tensor, sources: FamilyRows, targets: FamilyRows) -> Tensor | None:
    """``[pairs]`` the factor of each pair's term; None if all are 1.

    It is the weight of the source, times the weight of the incidence (v, e) where one of the two is a node v
    and the other a hyperedge e. A pair of two hyperedges belongs to no single incidence, so weights of
    incidences do not act there; a warning says so.
    """
    weight = None if sources.weight is None else sources.weight[source]
    from_node, to_node = source < sources.nodes_first, target < targets.nodes_first
    for rows, row, node, of_node in (
        (targets, target, source, from_node), (sources, source, target, to_node & ~from_node)
    ):  # fmt: skip
        if rows.pair_weight is None or not bool(of_node.any()):
            continue
        at = _places(rows.pairs, row[of_node], node[of_node])
        factor = torch.ones(len(target), dtype=rows.pair_weight.dtype, device=target.device)
        factor[of_node] = rows.pair_weight[at]
        weight = product(weight, factor)
    has_weights = sources.pair_weight is not None or targets.pair_weight is not None
    if has_weights and bool((~from_node & ~to_node).any()):
        warnings.warn(
            "incidence_weight does not act between two hyperedges, where a term belongs to no single "
            "incidence; edge_weight does",
            stacklevel=4,
        )
    return weight


def _places(pairs: SparsePattern, row: Tensor, node: Tensor) -> Tensor:
    """The place in ``pairs`` of each (row, node), which are among them."""
    key = pairs.rows * pairs.num_cols + pairs.index
    return torch.searchsorted(key, row * pairs.num_cols + node)
