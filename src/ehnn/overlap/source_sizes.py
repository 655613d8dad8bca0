"""Columns refined to distinct (source, 𝓘)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ehnn._utils.moved import renamed_attributes
from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import arange_like, pairs_from_sorted, pointer
from ehnn.hypergraph.weighted import weighted, weights_of

from .orders import Orders


@dataclass(frozen=True, eq=False)
class SourceSizes:
    """The pairs (source, 𝓘) that occur. A *slot* is a source and a size 𝓘 of its overlap with some target.

    ``source_to_slot`` and ``slot_to_group`` are `Overlap.source_to_group` in two steps.

    Attributes:
        slot_to_group: ``SparsePattern`` of groups × slots.
        sizes: 𝓘 of each slot.
        source_to_slot: ``SparsePattern`` of slots × sources (one source per slot), or None if slot i is
            source i.
    """

    slot_to_group: SparsePattern
    sizes: Orders
    source_to_slot: SparsePattern | None

    __getattr__ = renamed_attributes(local="slot_to_group", source="source_to_slot")


def make_source_sizes(pairs: SparsePattern, sizes: Orders) -> SourceSizes:
    """`Overlap.source_sizes` of ``pairs``, groups × sources, whose groups have ``sizes``."""
    distinct = sizes.values.shape[0]
    if distinct <= 1:
        value = sizes.values[0] if distinct else sizes.values.new_ones(sizes.values.shape[1:])
        return SourceSizes(pairs, Orders.constant(value, pairs.num_cols, pairs.ptr.device), None)
    size = sizes.index[pairs.rows]
    slots, slot = torch.unique(pairs.index * distinct + size, return_inverse=True)
    source = torch.div(slots, distinct, rounding_mode="floor")
    places = arange_like(slots)
    ends = torch.arange(slots.shape[0] + 1, device=slots.device)
    source_to_slot = SparsePattern.unchecked(
        slots.shape[0], pairs.num_cols, ends, source, pointer(source, pairs.num_cols), places, places
    )
    # Slots ascend with the source inside a group, because all pairs of a group have one size.
    slot_to_group = weighted(pairs_from_sorted(pairs.ptr, slot, slots.shape[0]), weights_of(pairs))
    return SourceSizes(slot_to_group, Orders.at(sizes.values, slots - source * distinct), source_to_slot)
