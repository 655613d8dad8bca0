"""Sums over a pattern whose pairs have weights: of weighted copies of the rows, one for each pair."""

from __future__ import annotations

from torch import Tensor

from ehnn.hypergraph.weighted import WeightedPattern

from .naive import scaled


def run(x: Tensor, pairs: WeightedPattern, of_rows: Tensor | None, of_cols: Tensor | None) -> Tensor:
    """`segment_sum`, with pairs × channels in memory."""
    from . import segment_sum

    return scaled(segment_sum(copies(scaled(x, of_cols), pairs), pairs.per_row), of_rows)


def copies(x: Tensor, pairs: WeightedPattern) -> Tensor:
    """``[num_cols, …] → [pairs, …]``: the row of each pair, times its weight."""
    from . import broadcast_rows

    return scaled(broadcast_rows(x, pairs.columns), pairs.weights)
