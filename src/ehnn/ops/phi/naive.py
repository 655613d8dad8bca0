"""The definition of φ."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from ehnn.hypergraph import SparsePattern

from ..dropout.naive import Mask, reference_dropout
from ..norm import EPSILON

Residual: TypeAlias = tuple[Tensor, SparsePattern | None]
"""A table and rows × rows of the table, one each (None if one row serves all): what is added to each row."""


class PhiWeights(NamedTuple):
    """The parameters of φ.

    Attributes:
        gamma, beta: ``[d_in]`` of LayerNorm; None without.
        hidden: weight ``[d_out, d]`` and bias ``[d_out]`` of each; the first reads x, then the code.
        last: weight ``[d_out, d_out]`` and bias ``[d_out]``.
        skip: ``[d_out, d_in]``; None where the widths are the same.
    """

    gamma: Tensor | None
    beta: Tensor | None
    hidden: tuple[tuple[Tensor, Tensor], ...]
    last: tuple[Tensor, Tensor]
    skip: Tensor | None


def reference_phi(
    x: Tensor,
    codes: Tensor | None,
    orders: SparsePattern | None,
    weights: PhiWeights,
    masks: tuple[Mask | None, ...],
    residual: Residual | None = None,
) -> Tensor:
    """x + MLP([LayerNorm(x), code]) + residual."""
    h = x if weights.gamma is None else F.layer_norm(x, x.shape[1:], weights.gamma, weights.beta, EPSILON)
    if codes is not None and orders is not None:
        h = torch.cat([h, codes[orders.index].to(h.dtype)], 1)
    for (weight, bias), mask in zip(weights.hidden, masks, strict=True):
        h = F.linear(h, weight, bias).relu()
        h = h if mask is None else reference_dropout(h, mask)
    y = F.linear(h, *weights.last) + (x if weights.skip is None else F.linear(x, weights.skip))
    return y if residual is None else y + rows_of(residual)


def rows_of(residual: Residual) -> Tensor:
    """``[rows, d]``, or ``[1, d]`` where one row serves all."""
    table, pairs = residual
    return table if pairs is None else table[pairs.index]
