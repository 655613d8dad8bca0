"""The definition of `segment_sum`: gather the rows of all pairs, then add them."""

from __future__ import annotations

from torch import Tensor

from ehnn.hypergraph import SparsePattern


def reference_sum(
    x: Tensor, pairs: SparsePattern, of_rows: Tensor | None = None, of_cols: Tensor | None = None
) -> Tensor:
    """``[num_cols, …] → [num_rows, …]``."""
    y = x.new_zeros(pairs.num_rows, *x.shape[1:])
    return scaled(y.index_add(0, pairs.rows, scaled(x, of_cols)[pairs.index]), of_rows)


def scaled(x: Tensor, factors: Tensor | None) -> Tensor:
    """``x [rows, …]`` with row i multiplied by ``factors[i]``."""
    return x if factors is None else x * factors.to(x.dtype).reshape(-1, *[1] * (x.dim() - 1))
