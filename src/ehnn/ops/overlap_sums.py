"""Sums along an `Overlap`: from sources to members, from groups and members to targets."""

from __future__ import annotations

from torch import Tensor

from ehnn.overlap import Overlap

from .segment_sum import aggregate, broadcast_rows, segment_sum


def pool(x: Tensor, overlap: Overlap, aggregation: str) -> Tensor:
    """``[num_sources, d] → [num_members, d]``: the 𝓘 = 0 term, over all sources of a batch member."""
    if overlap.source_to_graph is None:
        total = x.sum(0, keepdim=True)
        return total / max(x.shape[0], 1) if aggregation == "mean" else total
    return aggregate(x, overlap.source_to_graph, aggregation)


def groups_to_targets(groups: Tensor, overlap: Overlap) -> Tensor:
    """``[num_groups, d] → [num_targets, d]``: Σ over 𝓘 ≥ 1."""
    return groups if overlap.group_to_target is None else segment_sum(groups, overlap.group_to_target)


def members_to_targets(rows: Tensor, overlap: Overlap) -> Tensor:
    """``[num_members, d] → [num_targets, d]`` (broadcast where there is one member)."""
    return rows if overlap.graph_to_target is None else broadcast_rows(rows, overlap.graph_to_target)


def to_targets(rows: Tensor, overlap: Overlap, pooled: bool) -> Tensor:
    """Σ over 𝓘 for each target: ``[num_groups (+ num_members if pooled), d] → [num_targets, d]``."""
    if not pooled:
        return groups_to_targets(rows, overlap)
    groups, members = rows.split([overlap.num_groups, overlap.num_members])
    return groups_to_targets(groups, overlap) + members_to_targets(members, overlap)
