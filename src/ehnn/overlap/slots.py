"""Columns refined to distinct (source, 𝓘)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ehnn.hypergraph import Pairs
from ehnn.hypergraph.pairs import arange_like, pairs_from_sorted, pointer

from .orders import Orders


@dataclass(frozen=True, eq=False)
class Slots:
    """Sources once per size 𝓘 with which they meet some target.

    Attributes:
        local: ``Pairs`` of groups × slots.
        sizes: 𝓘 of each slot.
        source: ``Pairs`` of slots × sources (one source per slot), or None if slot i is source i.
    """

    local: Pairs
    sizes: Orders
    source: Pairs | None


def make_slots(local: Pairs, sizes: Orders) -> Slots:
    """Slots of groups × sources whose groups have ``sizes``."""
    distinct = sizes.values.shape[0]
    if distinct <= 1:
        value = int(sizes.values[0]) if distinct else 1
        return Slots(local, Orders.constant(value, local.num_cols, local.ptr.device), None)
    size = sizes.index[local.rows]
    slots, slot = torch.unique(local.index * distinct + size, return_inverse=True)
    source = torch.div(slots, distinct, rounding_mode="floor")
    places = arange_like(slots)
    ends = torch.arange(slots.shape[0] + 1, device=slots.device)
    expand = Pairs(
        slots.shape[0], local.num_cols, ends, source, pointer(source, local.num_cols), places, places
    )
    # Slots ascend with the source inside a group, because all pairs of a group have one size.
    refined = pairs_from_sorted(local.ptr, slot, slots.shape[0])
    return Slots(refined, Orders.at(sizes.values, slots - source * distinct), expand)
