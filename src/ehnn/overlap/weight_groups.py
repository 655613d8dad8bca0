"""Groups refined by source order and sorted by (k, l, 𝓘): those of one triplet have one matrix 𝓦(k, l, 𝓘).

The weights are these matrices of `EHNNLinear`. Weights of hyperedges and incidences are in `weights.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ehnn._utils.moved import renamed_attributes
from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import pairs_from_coo, pairs_from_sorted, pointer
from ehnn.hypergraph.weighted import weighted, weights_of

if TYPE_CHECKING:
    from .relation import Overlap


@dataclass(frozen=True, eq=False)
class WeightGroups:
    """Fine groups: (target, 𝓘, k), sorted so that those of one triplet (k, l, 𝓘) are consecutive.

    The patterns are those of `Overlap` with the same names, refined by the order k of the source.

    Attributes:
        source_to_group: ``SparsePattern`` of fine groups × sources.
        group_to_target: ``SparsePattern`` of targets × fine groups.
        source_to_graph: ``SparsePattern`` of (batch member, distinct source order) × sources, member-major.
        values: ``[triplets, 3]`` the distinct (k, l, 𝓘) that occur, 𝓘 ≥ 1; with roles
            ``[triplets, R + S + R · S]`` the role counts of source and target and the entries of M.
        ptr: ``[triplets + 1]`` the fine groups of each triplet.
        ends: ``ptr`` as Python integers, for splitting without a device synchronisation.
    """

    source_to_group: SparsePattern
    group_to_target: SparsePattern
    source_to_graph: SparsePattern
    values: Tensor
    ptr: Tensor
    ends: tuple[int, ...]

    __getattr__ = renamed_attributes(
        local="source_to_group", gather="group_to_target", pool="source_to_graph"
    )  # fmt: skip


def make_weight_groups(o: Overlap) -> WeightGroups:
    """`Overlap.weight_groups`."""
    group = o.source_to_group.rows
    k_index = o.source_orders.index[o.source_to_group.index]
    num_k, num_l, num_i = (v.values.shape[0] for v in (o.source_orders, o.target_orders, o.sizes))
    key, fine = torch.unique(group * max(num_k, 1) + k_index, return_inverse=True)
    target = o.group_target
    group_of, k_of = torch.div(key, max(num_k, 1), rounding_mode="floor"), key % max(num_k, 1)
    target_of, size_of = target[group_of], o.sizes.index[group_of]
    label = (k_of * max(num_l, 1) + o.target_orders.index[target_of]) * max(num_i, 1) + size_of
    # Fine groups are renumbered so that equal triplets are consecutive.
    label, order = torch.sort(label, stable=True)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(order.shape[0], device=order.device)
    labels, which = torch.unique_consecutive(label, return_inverse=True)
    weights = weights_of(o.source_to_group)
    source_to_group, at = pairs_from_coo(
        rank[fine], o.source_to_group.index, key.shape[0], o.num_sources, weights is not None
    )
    source_to_group = weighted(source_to_group, None if weights is None else weights[at])
    group_to_target, _ = pairs_from_coo(target_of[order], torch.arange(order.shape[0], device=order.device),
                                        o.num_targets, key.shape[0])  # fmt: skip
    ptr = pointer(which, labels.shape[0])
    values = torch.cat(
        [
            o.source_orders.table[torch.div(labels, max(num_l * num_i, 1), rounding_mode="floor")],
            o.target_orders.table[torch.div(labels, max(num_i, 1), rounding_mode="floor") % max(num_l, 1)],
            o.sizes.table[labels % max(num_i, 1)],
        ],
        dim=1,
    )
    return WeightGroups(
        source_to_group, group_to_target, _members_by_order(o), values, ptr, tuple(ptr.tolist())
    )


def _members_by_order(o: Overlap) -> SparsePattern:
    """(member, source order) × sources."""
    num_k = o.source_orders.values.shape[0]
    key, order = torch.sort(o.source_batch * num_k + o.source_orders.index, stable=True)
    pool = pairs_from_sorted(pointer(key, o.num_members * num_k), order, o.num_sources)
    weights = weights_of(o.source_to_graph)
    if weights is None or o.source_to_graph is None:
        return pool
    of_source = torch.empty_like(weights)
    of_source[o.source_to_graph.index] = weights
    return weighted(pool, of_source[order])
