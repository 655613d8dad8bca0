"""The definition of `grouped_matmul`: the matrix of its group for each row."""

from __future__ import annotations

from torch import Tensor

from ehnn.hypergraph.pairs import repeat


def reference_grouped_matmul(x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
    """``[rows, d], [groups, d, e], [groups + 1] → [rows, e]``; makes rows × d × e numbers."""
    group = repeat(ptr.diff(), x.shape[0])
    return (x.unsqueeze(1) @ weight.index_select(0, group)).squeeze(1)
