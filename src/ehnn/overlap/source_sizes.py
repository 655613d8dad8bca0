"""Columns refined to distinct (source, 𝓘)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import arange_like, pairs_from_sorted, pointer
from ehnn.hypergraph.weighted import weighted, weights_of

from .orders import Orders


@dataclass(frozen=True, eq=False)
class SourceSizes:
    """The pairs (source, 𝓘) that occur. A *slot* is a source and a size 𝓘 of its overlap with some target.

    Attributes:
        local: ``SparsePattern`` of groups × slots.
        sizes: 𝓘 of each slot.
        source: ``SparsePattern`` of slots × sources (one source per slot), or None if slot i is source i.
    """

    local: SparsePattern
    sizes: Orders
    source: SparsePattern | None


def make_source_sizes(local: SparsePattern, sizes: Orders) -> SourceSizes:
    """`Overlap.source_sizes` of groups × sources whose groups have ``sizes``."""
    distinct = sizes.values.shape[0]
    if distinct <= 1:
        value = sizes.values[0] if distinct else sizes.values.new_ones(sizes.values.shape[1:])
        return SourceSizes(local, Orders.constant(value, local.num_cols, local.ptr.device), None)
    size = sizes.index[local.rows]
    slots, slot = torch.unique(local.index * distinct + size, return_inverse=True)
    source = torch.div(slots, distinct, rounding_mode="floor")
    places = arange_like(slots)
    ends = torch.arange(slots.shape[0] + 1, device=slots.device)
    expand = SparsePattern.unchecked(
        slots.shape[0], local.num_cols, ends, source, pointer(source, local.num_cols), places, places
    )
    # Slots ascend with the source inside a group, because all pairs of a group have one size.
    refined = weighted(pairs_from_sorted(local.ptr, slot, slots.shape[0]), weights_of(local))
    return SourceSizes(refined, Orders.at(sizes.values, slots - source * distinct), expand)
