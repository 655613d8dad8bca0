"""The equivariant linear layer of uniform hypergraphs (Eq. 3)."""

from __future__ import annotations

import torch
from torch import Tensor

from .checks import check_dense, check_parameter, read_layer
from .patterns import multi_indices, num_distinct


def overlap_table(k: int, l: int, n: int, device: torch.device | None = None) -> Tensor:
    """``[n^k, n^l]`` |i ∩ j|: the number of distinct nodes that i in [n]^k and j in [n]^l share."""
    check_dense(n, k + l, 1, "the table of overlaps")
    return (_membership(n, k, device) @ _membership(n, l, device).T).to(torch.int64)


def _membership(n: int, order: int, device: torch.device | None) -> Tensor:
    """``[n^order, n]`` whether a node is in a multi-index (float64: a quick, exact matmul)."""
    check_dense(n, order, n, "the table of memberships")
    index = multi_indices(n, order, device)
    return index.new_zeros(n**order, n, dtype=torch.float64).scatter(1, index, 1.0)


def distinct_mask(n: int, order: int, device: torch.device | None = None) -> Tensor:
    """``[n^order]`` bool 1[|j| = order] on ``device``: the multi-indices without repeated nodes.

    >>> distinct_mask(2, 2).tolist()  # (0, 0), (0, 1), (1, 0), (1, 1)
    [False, True, True, False]
    """
    return num_distinct(multi_indices(n, order, device)) == order


def uniform_layer(A: Tensor, weights: Tensor, bias: Tensor | None, l: int, n: int | None = None) -> Tensor:
    """L_{(k)→(l)} of Eq. 3: the equivariant layer from k-uniform to l-uniform hypergraphs.

    L(A)_j = 1[|j| = l] ( Σ_{𝓘 ≥ 1} Σ_i 1[|i ∩ j| = 𝓘] A_i w_𝓘 + Σ_i A_i w_0 + b_l ).

    Index 0 is the pooling over *all* inputs, those that overlap j included. The sums run over
    multi-indices: a hyperedge of order k is counted k! times.

    Args:
        A: ``[n]*k + [d]``, the tensor of a k-uniform hypergraph (see `to_tensor`); the formula is applied
            as it stands to any other tensor.
        weights: ``[1 + min(k, l), d, d']``, in the order of 𝓘.
        bias: ``[d']``, or None.
        l: order of the output; 0 is the invariant layer.
        n: number of nodes, needed only where k = 0 < l.

    Returns:
        ``[n]*l + [d']``, zero where j repeats a node.

    >>> A = torch.tensor([[1.0], [2.0], [4.0]])  # one channel on each of three nodes
    >>> weights = torch.tensor([[[1.0]], [[10.0]]])  # of the sum over all nodes, and of the node itself
    >>> uniform_layer(A, weights, None, l=1).flatten().tolist()
    [17.0, 27.0, 47.0]
    """
    n, k, d = read_layer(A, l, n)
    check_parameter(weights, A, (1 + min(k, l), d, None), "weights")
    out_width = weights.shape[2]
    check_dense(n, l, out_width, "the output")
    flat, overlap = A.reshape(n**k, d), overlap_table(k, l, n, A.device)
    out = (flat.sum(0) @ weights[0]).expand(n**l, out_width)
    for shared in range(1, 1 + min(k, l)):
        out = out + (overlap == shared).to(A.dtype).T @ flat @ weights[shared]
    if bias is not None:
        check_parameter(bias, A, (out_width,), "bias")
        out = out + bias
    out = out * distinct_mask(n, l, A.device).to(A.dtype).unsqueeze(1)
    return out.reshape(*[n] * l, out_width)
