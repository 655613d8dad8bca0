"""Sparse products of patterns: which rows share columns, and how many."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .pairs import SparsePattern, repeat

MAX_PAIRS = 200_000_000
"""Default bound on the number of pairs of a product (about 10 GB of index tensors)."""


def common_columns(
    a: SparsePattern, b: SparsePattern, max_pairs: int = MAX_PAIRS
) -> tuple[Tensor, Tensor, Tensor]:
    """All (row of a, row of b) that share columns, and in how many: the nonzeros of A Bᵀ.

    Returns ``row``, ``col``, ``count`` (``[pairs]`` each), sorted by row (not within a row). Computed on the
    CPU by a sparse product whose memory is that of its result; a result that could exceed
    ``max_pairs`` is refused before anything is allocated.
    """
    bound = _bound(a, b)
    if bound > max_pairs:
        raise ValueError(
            f"up to {bound:,} overlapping pairs between {a.num_rows:,} and {b.num_rows:,} hyperedges, "
            f"more than max_pairs={max_pairs:,}; raise max_pairs if there is memory for them"
        )
    product = (_scipy(a) @ _scipy(b).T).tocsr()
    ptr, col, count = (torch.from_numpy(v) for v in (product.indptr, product.indices, product.data))
    row = repeat(ptr.diff(), col.shape[0])
    return tuple(v.to(a.ptr.device, torch.int64) for v in (row, col, count))  # type: ignore[return-value]


def _bound(a: SparsePattern, b: SparsePattern) -> int:
    """An upper bound on the pairs: for each row of a, the pairs through its columns or all rows of b."""
    through = b.t_lengths[a.index]
    total = torch.zeros(len(a) + 1, dtype=torch.int64, device=through.device)
    torch.cumsum(through, 0, out=total[1:])
    per_row = total[a.ptr[1:]] - total[a.ptr[:-1]]
    return int(per_row.clamp(max=b.num_rows).sum())


def _scipy(pairs: SparsePattern):  # type: ignore[no-untyped-def]
    from scipy.sparse import csr_array

    data = np.ones(len(pairs), dtype=np.int32)
    index, ptr = pairs.index.cpu().numpy(), pairs.ptr.cpu().numpy()
    return csr_array((data, index, ptr), shape=(pairs.num_rows, pairs.num_cols))
