"""Sums along an `Overlap`: from sources to members, from groups and members to targets."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ehnn.overlap import Overlap

from .dispatch import Implementation, Operation, definition, not_on
from .dropout import Mask
from .phi import phi
from .phi.inlined import Inlined
from .segment_sum import broadcast_rows, segment_mean, segment_sum


def pool(x: Tensor, overlap: Overlap, aggregation: str) -> Tensor:
    """``[num_sources, d] → [num_members, d]``: the 𝓘 = 0 term, over all sources of a batch member."""
    if overlap.source_to_graph is None:
        total = x.sum(0, keepdim=True)
        return total / max(x.shape[0], 1) if aggregation == "mean" else total
    return (
        segment_mean(x, overlap.source_to_graph)
        if aggregation == "mean"
        else segment_sum(x, overlap.source_to_graph)
    )


def groups_to_targets(groups: Tensor, overlap: Overlap) -> Tensor:
    """``[num_groups, d] → [num_targets, d]``: Σ over 𝓘 ≥ 1."""
    return groups if overlap.group_to_target is None else segment_sum(groups, overlap.group_to_target)


def members_to_targets(rows: Tensor, overlap: Overlap) -> Tensor:
    """``[num_members, d] → [num_targets, d]`` (broadcast where there is one member)."""
    return rows if overlap.graph_to_target is None else broadcast_rows(rows, overlap.graph_to_target)


def phi_to_targets(groups: Tensor, members: Tensor | None, phi2: Any, overlap: Overlap) -> Tensor:
    """Σ over 𝓘 of φ₂ for each target: ``[num_groups, d], [num_members, d] → [num_targets, d]``.

    Args:
        members: the rows of 𝓘 = 0; None without that term.
        phi2: a module ``(x, orders) -> y``, or a function.
    """
    if members is None:
        return groups_to_targets(phi2(groups, overlap.sizes), overlap)
    return PHI_TO_TARGETS(groups, members, phi2, overlap)


def _joined(groups: Tensor, members: Tensor, phi2: Any, overlap: Overlap) -> Tensor:
    """φ₂ of all rows together."""
    rows = phi2(torch.cat([groups, members]), overlap.sizes_and_pool)
    groups, members = rows.split([overlap.num_groups, overlap.num_members])
    return groups_to_targets(groups, overlap) + members_to_targets(members, overlap)


MANY_GROUPS = 4096
"""Below, two calls of φ₂ take longer than copies of all rows."""


def _joined_anyway(groups: Tensor, members: Tensor, phi2: Any, overlap: Overlap) -> str | None:
    reason = not_on(groups, "triton")
    if reason:
        return reason
    if type(overlap) is not Overlap:
        return "the relation is sharded or sampled"
    if not isinstance(phi2, Inlined) or phi2.reason_to_call():
        return "phi2 has to be called"
    return None if groups.shape[0] >= MANY_GROUPS else f"fewer than {MANY_GROUPS} groups"


def _apart(groups: Tensor, members: Tensor, phi2: Any, overlap: Overlap) -> Tensor:
    """No rows are copied. Where a group is a target, φ₂ of 𝓘 = 0 is the residual of the other."""
    ends, whole = [groups.shape[0], members.shape[0]], groups.shape[0] + members.shape[0]
    weights, masks = phi2.weights(), [_cut(mask, ends, whole, groups.device) for mask in phi2.masks()]

    def codes(orders: Any) -> Tensor | None:
        return phi2.encoding.of(orders, phi2.w1.dtype) if phi2.encoding.dim else None

    sizes, pool = overlap.sizes, overlap.pool_sizes
    of_groups, of_members = zip(*masks, strict=True)
    constant = phi(members, codes(pool), pool.pairs, weights, of_members)
    one = overlap.group_to_target is None
    residual = (constant, overlap.graph_to_target) if one else None
    y = phi(groups, codes(sizes), sizes.pairs, weights, of_groups, residual)
    return y if one else groups_to_targets(y, overlap) + members_to_targets(constant, overlap)


def _cut(
    mask: Mask | None, ends: list[int], whole: int, device: torch.device
) -> tuple[Mask | None, Mask | None]:
    """The masks of the first rows and of the others, each as in the whole."""
    if mask is None or mask.seed is None:
        return mask, mask
    if mask.rows is None:
        others = torch.arange(ends[0], whole, device=device)
        return mask._replace(whole=whole), mask._replace(rows=others, whole=whole)
    rows, others = mask.rows.split(ends)
    return mask._replace(rows=rows), mask._replace(rows=others)


PHI_TO_TARGETS = Operation(
    "phi_to_targets", Implementation("apart", _joined_anyway, _apart), definition(_joined)
)
