"""Lemma 3: a sequence of tensors packed into one symmetric tensor."""

from __future__ import annotations

import torch
from torch import Tensor

from .checks import check_dense, nearly_equal, powers, read_tensor
from .patterns import first_occurrence, multi_indices
from .sequence import Tensors, by_order_of


def pack(tensors: Tensors) -> Tensor:
    """A^[K]: the order-K tensor whose entry at i is A^(|i|) at the distinct entries of i.

    Two multi-indices with the same *set* of entries hold the same value. Orders missing between 1 and K
    count as zero, and entries of A^(k) at repeated nodes are not read. The empty hyperedge (order 0) has
    no place in a packed tensor and is refused.

    Args:
        tensors: symmetric ``[n]*k + [d]`` by order k, or a sequence of those of orders 1, …, K.

    Returns:
        ``[n]*K + [d]``.

    >>> nodes, pairs = torch.tensor([[1.0], [2.0]]), torch.tensor([[[0.0], [5.0]], [[5.0], [0.0]]])
    >>> pack([nodes, pairs]).squeeze(-1).tolist()  # nodes on the diagonal
    [[1.0, 5.0], [5.0, 2.0]]
    """
    by_order = by_order_of(tensors, None)
    if 0 in by_order:
        raise ValueError("a tensor of order 0 cannot be packed: no multi-index has 0 distinct entries")
    K = max(by_order)
    n, _, d = read_tensor(by_order[K])
    check_dense(n, K, d, "the packed tensor")
    index = multi_indices(n, K, by_order[K].device).sort(1).values
    fresh = first_occurrence(index)
    distinct = fresh.sum(1)
    packed = by_order[K].new_zeros(n**K, d)
    for k, A in by_order.items():
        rows = (distinct == k).nonzero().squeeze(1)
        flat = (index[rows][fresh[rows]].reshape(-1, k) * powers(n, k, index.device)).sum(1)
        packed = packed.index_add(0, rows, A.reshape(n**k, d)[flat])
    return packed.reshape(*[n] * K, d)


def unpack(packed: Tensor) -> dict[int, Tensor]:
    """The inverse of `pack`: A^(1), …, A^(K) by order from ``packed [n]*K + [d]``, K ≥ 1.

    A tensor whose entry at i depends on more than the set of entries of i is no packed tensor and is
    refused.
    """
    n, K, d = read_tensor(packed, name="packed")
    if K == 0:
        raise ValueError("a packed tensor must have order 1 or more, got order 0")
    flat = packed.reshape(n**K, d)
    tensors = {}
    for k in range(1, K + 1):
        index = multi_indices(n, k, packed.device)
        padded = torch.cat([index, index[:, -1:].expand(-1, K - k)], 1)
        values = flat[(padded * powers(n, K, packed.device)).sum(1)]
        mask = first_occurrence(index).all(1).to(packed.dtype)
        tensors[k] = (values * mask.unsqueeze(1)).reshape(*[n] * k, d)
    if not nearly_equal(pack(tensors), packed):
        raise ValueError("not a packed tensor: two entries with the same set of nodes differ")
    return tensors
