"""An EHNN-MLP layer on several ranks, which compute some rows while others are exchanged."""

from __future__ import annotations

from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.overlap import Orders, Overlap
from ehnn.overlap.steps import LayerSteps, OwnSchedule

from ..overlap_sums import pool, to_targets
from ..segment_sum import aggregate
from .naive import EhnnMlpParts


def supports(x: Tensor, overlap: Overlap, parts: EhnnMlpParts) -> str | None:
    """None where ranks exchange rows. Otherwise an empty reason, which `explain` does not show."""
    return None if isinstance(overlap, OwnSchedule) and overlap.exchanges_rows else ""


def run(x: Tensor, overlap: Overlap, parts: EhnnMlpParts) -> Tensor:
    """`ehnn_mlp`."""
    assert isinstance(overlap, OwnSchedule)

    def local(pairs: SparsePattern, rows: Tensor) -> Tensor:
        return aggregate(rows, pairs, parts.aggregation)

    def everywhere(rows: Tensor) -> Tensor:
        return pool(rows, overlap, parts.aggregation)

    def after(rows: Tensor, sizes: Orders) -> Tensor:
        return parts.phi2(rows if parts.scale == 1 else parts.scale * rows, sizes)

    steps = LayerSteps(parts.phi1, local, everywhere if parts.pooled else None, after)
    y = to_targets(overlap.run_steps(x, steps), overlap, parts.pooled)
    bias = None if parts.bias is None else parts.bias(overlap.target_orders)
    return parts.phi3(y, overlap.target_orders, bias)
