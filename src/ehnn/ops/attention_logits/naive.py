"""The definition of `attention_logits`: Eq. 11."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from ehnn.overlap.source_sizes import SourceSizes


def reference_logits(
    x: Tensor, query: Tensor, key: Any, slots: SourceSizes, heads: int, pooled: bool
) -> tuple[Tensor, Tensor]:
    """Makes the keys, d numbers for each source and 𝓘."""
    keys = key(x).unflatten(1, (-1, heads, query.shape[1] // heads))  # [sources, 1 or 2, heads, c]
    query = scaled_heads(query, heads).to(keys.dtype)
    everywhere = (keys[:, 0] * query[0]).sum(-1) if pooled else keys.new_zeros(x.shape[0], 0)
    local, own = keys[:, -1], query[1:]
    if not own.shape[0]:  # no source meets a target in a node
        return everywhere, keys.new_zeros(slots.slot_to_group.num_cols, heads)
    if slots.source_to_slot is not None:
        local, own = local.index_select(0, slots.source_to_slot.index), own.index_select(0, slots.sizes.index)
    return everywhere, (local * own).sum(-1)


def scaled_heads(query: Tensor, heads: int) -> Tensor:
    """``[rows, d] → [rows, heads, c]``, divided by √c."""
    channels = query.shape[1] // heads
    return query.unflatten(1, (heads, channels)) / math.sqrt(channels)
