"""Groups refined by source order and sorted by (k, l, 𝓘)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ehnn.hypergraph import Pairs
from ehnn.hypergraph.pairs import pairs_from_coo, pairs_from_sorted, pointer

if TYPE_CHECKING:
    from .relation import Overlap


@dataclass(frozen=True, eq=False)
class Triplets:
    """Fine groups: (target, 𝓘, k), sorted so that those of one triplet (k, l, 𝓘) stand together.

    Attributes:
        local: ``Pairs`` of fine groups × sources.
        gather: ``Pairs`` of targets × fine groups.
        values: ``[triplets, 3]`` the distinct (k, l, 𝓘) that occur, 𝓘 ≥ 1.
        ptr: ``[triplets + 1]`` the fine groups of each triplet.
        ends: ``ptr`` as Python integers, for splitting without a device synchronisation.
        pool: ``Pairs`` of (batch member, distinct source order) × sources, member-major.
    """

    local: Pairs
    gather: Pairs
    values: Tensor
    ptr: Tensor
    ends: tuple[int, ...]
    pool: Pairs


def make_triplets(o: Overlap) -> Triplets:
    """`Overlap.triplets`."""
    group = o.local.rows
    k_index = o.source_orders.index[o.local.index]
    num_k, num_l, num_i = (v.values.shape[0] for v in (o.source_orders, o.target_orders, o.sizes))
    key, fine = torch.unique(group * max(num_k, 1) + k_index, return_inverse=True)
    target = o.group_target
    group_of, k_of = torch.div(key, max(num_k, 1), rounding_mode="floor"), key % max(num_k, 1)
    target_of, size_of = target[group_of], o.sizes.index[group_of]
    label = (k_of * max(num_l, 1) + o.target_orders.index[target_of]) * max(num_i, 1) + size_of
    # Fine groups are renumbered so that equal triplets stand together.
    label, order = torch.sort(label, stable=True)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(order.shape[0], device=order.device)
    labels, which = torch.unique_consecutive(label, return_inverse=True)
    local, _ = pairs_from_coo(rank[fine], o.local.index, key.shape[0], o.num_sources)
    gather, _ = pairs_from_coo(target_of[order], torch.arange(order.shape[0], device=order.device),
                               o.num_targets, key.shape[0])  # fmt: skip
    ptr = pointer(which, labels.shape[0])
    values = torch.stack(
        [
            o.source_orders.values[torch.div(labels, max(num_l * num_i, 1), rounding_mode="floor")],
            o.target_orders.values[torch.div(labels, max(num_i, 1), rounding_mode="floor") % max(num_l, 1)],
            o.sizes.values[labels % max(num_i, 1)],
        ],
        dim=1,
    )
    return Triplets(local, gather, values, ptr, tuple(ptr.tolist()), _pool_by_order(o))


def _pool_by_order(o: Overlap) -> Pairs:
    """(member, source order) × sources."""
    num_k = o.source_orders.values.shape[0]
    key, order = torch.sort(o.source_batch * num_k + o.source_orders.index, stable=True)
    return pairs_from_sorted(pointer(key, o.num_members * num_k), order, o.num_sources)
