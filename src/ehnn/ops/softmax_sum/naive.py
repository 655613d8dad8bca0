"""The definition of `segment_softmax_sum`: gathers pairs × heads × channels."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern


def reference_softmax_sum(x: Tensor, logits: Tensor, pairs: SparsePattern) -> Tensor:
    """``[num_cols, heads, c], [num_cols, heads] → [num_rows, heads, c]``."""
    rows, heads = pairs.rows, logits.shape[1]
    s = logits[pairs.index]
    top = torch.full((pairs.num_rows, heads), -torch.inf, dtype=s.dtype, device=s.device)
    top = top.scatter_reduce(0, rows.unsqueeze(1).expand_as(s), s.detach(), "amax")
    weight = (s - top[rows]).exp()
    total = torch.zeros_like(top).index_add(0, rows, weight)
    alpha = weight / total[rows]
    out = x.new_zeros(pairs.num_rows, *x.shape[1:])
    return out.index_add(0, rows, alpha.unsqueeze(-1) * x[pairs.index])
