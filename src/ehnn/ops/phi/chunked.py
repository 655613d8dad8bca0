"""φ of a bounded number of rows at a time, under `bounded_memory`."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ehnn.hypergraph import SparsePattern

from ..dropout import Mask, seeded_dropout
from ..linear import linear
from ..memory import bound, checkpointed
from .naive import PhiWeights, Residual
from .steps import added, first_layer


def supports(x: Tensor, *_: Any) -> str | None:
    """None where memory is bounded. Otherwise an empty reason, which `explain` does not show."""
    return "" if bound(x.shape[0]) is None else None


def run(
    x: Tensor, codes: Tensor | None, orders: SparsePattern | None, weights: PhiWeights,
    masks: tuple[Mask | None, ...], residual: Residual | None,
) -> Tensor:  # fmt: skip
    """`phi`; masks are those of all rows."""
    weight, table = first_layer(x.shape[1], codes, weights)
    numbers = torch.arange(x.shape[0], device=x.device)
    one = table.shape[0] == 1 or orders is None
    index = numbers if orders is None else orders.index

    def chunk(x: Tensor, index: Tensor, numbers: Tensor) -> Tensor:
        shift = table if one else F.embedding(index, table)
        own = [_of_rows(mask, numbers, rows) for mask in masks]
        h = x if weights.gamma is None else F.layer_norm(x, x.shape[1:], weights.gamma, weights.beta)
        h = seeded_dropout((linear(h, weight) + shift).relu_(), own[0])
        for layer, mask in zip(weights.hidden[1:], own[1:], strict=True):
            h = seeded_dropout(linear(h, *layer).relu_(), mask)
        return linear(h, *weights.last) + (x if weights.skip is None else linear(x, weights.skip))

    rows, size = x.shape[0], bound(x.shape[0]) or x.shape[0]
    parts = zip(x.split(size), index.split(size), numbers.split(size), strict=True)
    again = checkpointed if torch.is_grad_enabled() else _called
    y = torch.cat([again(chunk, *part) for part in parts])
    return added(y, residual)


def _called(fn: Any, *args: Tensor) -> Tensor:
    return fn(*args)


def _of_rows(mask: Mask | None, numbers: Tensor, rows: int) -> Mask | None:
    """The mask of some of the rows."""
    if mask is None:
        return None
    if mask.rows is None:
        return mask._replace(rows=numbers, whole=rows)
    return mask._replace(rows=mask.rows[numbers])
