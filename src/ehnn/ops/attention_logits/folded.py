"""Key map and query are multiplied first: d × heads numbers for each 𝓘 meet the rows instead of d × d."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ehnn.overlap.source_sizes import SourceSizes

from ..dispatch import not_reference
from ..grouped_matmul import grouped_matmul
from ..phi.fusable import reason_to_call
from .naive import scaled_heads

_MANY = 4
"""So many times as many (source, 𝓘) as occur may be multiplied in one product before it is cut in parts."""


def supports(x: Tensor, query: Tensor, key: Any, *_: Any) -> str | None:
    """Why keys are made, or None."""
    reason = reason_to_call(key, nn.Linear)
    return not_reference(x) or (reason and f"the key map has to be called: {reason}")


def run(
    x: Tensor, query: Tensor, key: nn.Linear, slots: SourceSizes, heads: int, pooled: bool
) -> tuple[Tensor, Tensor]:
    """`attention_logits`.

    The folded weights meet all rows in one product and some of the outcome is taken, unless that is much more
    than there are slots.
    """
    query = scaled_heads(query, heads)
    weight, bias = (t.to(x.dtype) for t in _fold(query if pooled else query[1:], key, pooled))
    ends = [heads, weight.shape[0] - heads] if pooled else [0, weight.shape[0]]
    distinct = ends[1] // heads
    if slots.source_to_slot is not None and x.shape[0] * distinct > _MANY * slots.source_to_slot.num_rows:
        (w0, w1), (b0, b1) = weight.split(ends), bias.split(ends)
        return F.linear(x, w0, b0), _by_size(x, w1, b1, slots, heads)
    everywhere, local = F.linear(x, weight, bias).split(ends, 1)
    if slots.source_to_slot is None:
        return everywhere, local[:, :heads] if distinct else local.new_zeros(x.shape[0], heads)
    place = slots.source_to_slot.index * distinct + slots.sizes.index
    return everywhere, local.reshape(-1, heads).index_select(0, place)


def _by_size(x: Tensor, weight: Tensor, bias: Tensor, slots: SourceSizes, heads: int) -> Tensor:
    """``[slots, heads]``: the slots of each 𝓘 with its own part of ``weight [𝓘 · heads, d]``."""
    assert slots.source_to_slot is not None
    weight, bias = weight.reshape(-1, heads, x.shape[1]), bias.reshape(-1, heads)
    # The pattern has its column order: nothing is sorted, and the rows of each length are found once.
    size, order, ptr = slots.sizes.index, slots.sizes.pairs.t_index, slots.sizes.pairs.t_ptr
    rows = x.index_select(0, slots.source_to_slot.index.index_select(0, order))
    sorted_ = grouped_matmul(rows, weight.mT, ptr)
    return sorted_.index_select(0, order.argsort()) + bias.to(sorted_.dtype).index_select(0, size)


def _fold(query: Tensor, key: nn.Linear, pooled: bool) -> tuple[Tensor, Tensor]:
    """``[𝓘, heads, c]`` → weight ``[𝓘 · heads, d]`` and bias ``[𝓘 · heads]`` of the logits."""
    rows, heads, channels = query.shape
    weight = key.weight.reshape(-1, heads, channels, key.in_features)
    bias = key.bias.reshape(-1, heads, channels, 1)
    if rows == weight.shape[0]:  # one 𝓘 for each key map: a product of two batches
        query = query.unsqueeze(2)
        return (query @ weight).reshape(-1, key.in_features), (query @ bias).flatten()
    ends = [1, rows - 1] if pooled else [rows]
    maps = list(zip(query.split(ends), weight, bias, strict=True))
    weights = [torch.einsum("ihc,hcd->ihd", q, w).flatten(0, 1) for q, w, _ in maps]
    return torch.cat(weights), torch.cat([torch.einsum("ihc,hcu->ih", q, b).flatten() for q, _, b in maps])
