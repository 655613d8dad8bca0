"""Equality patterns of multi-indices: the equivalence classes μ and λ of Eq. 1."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from ehnn._utils.validation import as_count

from .checks import check_dense, powers

MAX_PATTERN_SIZE = 11
"""Largest size whose set partitions are listed (Bell(11) = 678,570)."""


@cache
def stirling2(size: int, blocks: int) -> int:
    """Number of set partitions of ``size`` things into ``blocks`` blocks.

    >>> stirling2(4, 2)
    7
    """
    as_count(size, "size"), as_count(blocks, "blocks")
    row = [1]
    for m in range(1, size + 1):
        row = [0, *(row[b - 1] + (b * row[b] if b < m else 0) for b in range(1, m + 1))]
    return row[blocks] if blocks <= size else 0


def bell(size: int) -> int:
    """Number of set partitions of ``size`` things.

    >>> [bell(m) for m in range(7)]
    [1, 1, 2, 5, 15, 52, 203]
    """
    return sum(stirling2(size, blocks) for blocks in range(as_count(size, "size") + 1))


@cache
def set_partitions(size: int) -> tuple[tuple[int, ...], ...]:
    """All set partitions of ``size`` positions, in lexicographic order; there are ``bell(size)``.

    A partition is written as the block of each position, blocks numbered in order of first
    appearance. The number of a partition in this list is its number everywhere in this package.

    >>> set_partitions(3)
    ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2))
    """
    if as_count(size, "size") > MAX_PATTERN_SIZE:
        raise ValueError(
            f"there are {bell(size):,} set partitions of {size}; listed up to {MAX_PATTERN_SIZE}"
        )
    found: list[tuple[int, ...]] = [()]
    for _ in range(size):
        found = [(*p, block) for p in found for block in range(max(p, default=-1) + 2)]
    return tuple(found)


def multi_indices(n: int, order: int, device: torch.device | None = None) -> Tensor:
    """``[n^order, order]`` all multi-indices of ``[n]^order``, in row-major order."""
    check_dense(as_count(n, "n"), as_count(order, "order"), max(order, 1), "the list of multi-indices")
    flat = torch.arange(n**order, device=device).unsqueeze(1)
    return flat // powers(n, order, device) % max(n, 1)


def first_occurrence(index: Tensor) -> Tensor:
    """``[N, m]`` bool: whether an entry of a multi-index has not been seen at a smaller position."""
    fresh = [(index[:, :a] != index[:, a : a + 1]).all(1) for a in range(index.shape[1])]
    return torch.stack(fresh, 1) if fresh else index.new_zeros(index.shape, dtype=torch.bool)


def num_distinct(index: Tensor) -> Tensor:
    """``[N]`` the number |i| of distinct entries of multi-indices ``index [N, m]``."""
    return first_occurrence(index).sum(1)


def canonical_patterns(index: Tensor) -> Tensor:
    """``[N, m]`` equality patterns of multi-indices ``index [N, m]``, written as in `set_partitions`.

    Two multi-indices have the same pattern exactly if a node permutation takes one to the other.

    >>> canonical_patterns(torch.tensor([[7, 2, 7, 4]])).tolist()
    [[0, 1, 0, 2]]
    """
    if index.shape[1] == 0:
        return index
    block_at = first_occurrence(index).cumsum(1) - 1
    same = index.unsqueeze(2) == index.unsqueeze(1)  # [N, position, earlier or later position]
    first = same.to(torch.uint8).argmax(2)
    return block_at.gather(1, first)


def pattern_numbers(index: Tensor) -> Tensor:
    """``[N]`` the number in `set_partitions` of the pattern of each multi-index in ``index [N, m]``."""
    m = index.shape[1]
    base = powers(max(m, 1), m, index.device)
    table = torch.tensor(set_partitions(m), dtype=torch.int64, device=index.device).reshape(bell(m), m)
    # Lexicographic order of patterns is the order of their codes in base m.
    return torch.searchsorted((table * base).sum(1), (canonical_patterns(index) * base).sum(1))


def pattern_table(k: int, l: int, n: int, device: torch.device | None = None) -> Tensor:
    """``[n^k, n^l]`` the number of the class μ of (i, j) for all i in [n]^k, j in [n]^l."""
    return pattern_numbers(multi_indices(n, k + l, device)).reshape(n**k, n**l)


def pattern_basis(k: int, l: int, n: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """``[bell(k+l), n^k, n^l]`` the 0/1 basis 1_{(i, j) ∈ μ} of the equivariant maps of Eq. 1.

    A pattern with more than n blocks has no multi-index: its basis tensor is zero, and the others
    are a basis of all equivariant linear maps from order-k to order-l tensors.
    """
    size = bell(as_count(k, "k") + as_count(l, "l"))
    check_dense(as_count(n, "n"), k + l, size, "the pattern basis")
    numbers = torch.arange(size).reshape(-1, 1, 1)
    return (pattern_table(k, l, n) == numbers).to(dtype)
