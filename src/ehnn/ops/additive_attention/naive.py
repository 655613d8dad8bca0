"""The definition of `additive_attention`: gathers pairs × heads × channels."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from ehnn.hypergraph import SparsePattern

SLOPE = 0.2
"""Of LeakyReLU, as in the paper of GAT."""


def reference_additive_attention(x: Tensor, source: Tensor, target: Tensor, pairs: SparsePattern) -> Tensor:
    """``[num_cols, heads, c], [num_cols, heads], [num_rows, heads] → [num_rows, heads, c]``."""
    rows = pairs.rows
    logits = leaky_relu(target[rows] + source[pairs.index], SLOPE)
    top = torch.full_like(target, -torch.inf)
    top = top.scatter_reduce(0, rows.unsqueeze(1).expand_as(logits), logits.detach(), "amax").detach()
    weight = (logits - top.index_select(0, rows)).exp()
    alpha = weight / torch.zeros_like(target).index_add(0, rows, weight)[rows]
    out = x.new_zeros(pairs.num_rows, *x.shape[1:])
    return out.index_add(0, rows, alpha.unsqueeze(-1) * x[pairs.index])
