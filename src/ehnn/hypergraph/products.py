"""Sparse products of patterns: which rows share columns, and how many."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .pairs import SparsePattern, repeat

MAX_PAIRS = 200_000_000
"""Default bound on the number of pairs of a product (about 10 GB of index tensors)."""

CHUNK = 2**26
"""Entries of a list that a GPU sorts at a time: half a gigabyte."""


def common_columns(
    a: SparsePattern, b: SparsePattern, max_pairs: int = MAX_PAIRS
) -> tuple[Tensor, Tensor, Tensor]:
    """All (row of a, row of b) that share columns, and in how many: the nonzeros of A Bᵀ.

    Returns ``row``, ``col``, ``count`` (``[pairs]`` each), sorted by row (not within a row). A result that
    could exceed ``max_pairs`` is refused before anything is allocated. A CPU makes a sparse product; a GPU
    counts equal pairs in sorted lists of at most `CHUNK`, or what one row has. Memory is that of the result.
    """
    bound = _bound(a, b)
    if bound > max_pairs:
        raise ValueError(
            f"up to {bound:,} overlapping pairs between {a.num_rows:,} and {b.num_rows:,} hyperedges, "
            f"more than max_pairs={max_pairs:,}; raise max_pairs if there is memory for them"
        )
    if a.ptr.device.type != "cpu":
        return _counted(a, b)
    product = (_scipy(a) @ _scipy(b).T).tocsr()
    ptr, col, count = (torch.from_numpy(v) for v in (product.indptr, product.indices, product.data))
    row = repeat(ptr.diff(), col.shape[0])
    return tuple(v.to(torch.int64) for v in (row, col, count))  # type: ignore[return-value]


def _bound(a: SparsePattern, b: SparsePattern) -> int:
    """An upper bound on the pairs: for each row of a, the pairs through its columns or all rows of b."""
    per_row = _through(a, b)[a.ptr].diff()
    return int(per_row.clamp(max=b.num_rows).sum())


def _through(a: SparsePattern, b: SparsePattern) -> Tensor:
    """``[len(a) + 1]``: how many (row of a, column, row of b) there are before each place of a."""
    through = b.t_lengths[a.index]
    total = torch.zeros(len(a) + 1, dtype=torch.int64, device=through.device)
    torch.cumsum(through, 0, out=total[1:])
    return total


def _counted(a: SparsePattern, b: SparsePattern) -> tuple[Tensor, Tensor, Tensor]:
    """`common_columns` without a copy to the CPU: lists every (row of a, column, row of b), row by row."""
    total = _through(a, b)
    ends, width = total[a.ptr], max(b.num_rows, 1)
    found = [_counted_rows(a, b, total, *span, width) for span in _spans(ends)]
    key, count = (torch.cat(parts) for parts in zip(*found, strict=True))
    row = torch.div(key, width, rounding_mode="floor")
    return row, key.sub_(row * width), count


def _spans(ends: Tensor) -> list[tuple[int, int]]:
    """Ranges of rows whose lists have at most `CHUNK` entries, or one row each."""
    rows, first, spans = ends.shape[0] - 1, 0, list[tuple[int, int]]()
    while first < rows:
        end = int(torch.searchsorted(ends, ends[first] + CHUNK, right=True)) - 1
        spans.append((first, max(end, first + 1)))
        first = spans[-1][1]
    return spans or [(0, 0)]


def _counted_rows(
    a: SparsePattern, b: SparsePattern, total: Tensor, first: int, end: int, width: int
) -> tuple[Tensor, Tensor]:
    """row · width + col of the pairs of rows ``first`` to ``end``, ascending, and in how many columns."""
    low, high = (int(v) for v in a.ptr[[first, end]])
    lengths = total[low : high + 1].diff()
    size = int(total[high] - total[low])
    place = repeat(lengths, size)  # in a, of each entry
    within = torch.arange(size, device=place.device) - (total[low:high] - total[low])[place]
    row = (repeat(a.lengths[first:end], high - low) + first)[place]
    key = row * width + b.t_index[b.t_ptr[a.index[low:high]][place] + within]
    key, count = torch.unique_consecutive(torch.sort(key).values, return_counts=True)
    return key, count


def _scipy(pairs: SparsePattern):  # type: ignore[no-untyped-def]
    from scipy.sparse import csr_array

    data = np.ones(len(pairs), dtype=np.int32)
    index, ptr = pairs.index.cpu().numpy(), pairs.ptr.cpu().numpy()
    return csr_array((data, index, ptr), shape=(pairs.num_rows, pairs.num_cols))
