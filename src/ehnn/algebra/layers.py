"""The equivariant linear layers of tensors: general (Eq. 1) and symmetric (Lemma 1)."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn._utils.validation import as_permutation

from .checks import check_dense, check_parameter, read_layer, read_tensor
from .patterns import bell, pattern_table
from .symmetric import symmetric_classes, untie


def permute_tensor(A: Tensor, perm: Tensor) -> Tensor:
    """π · A, where ``(π · A)[π(i)] = A[i]``: the tensor after node v is renumbered ``perm[v]``.

    ``A [n]*k + [d]``, ``perm [n]``; the same convention as ``Hypergraph.permute_nodes``.

    >>> permute_tensor(torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([1, 2, 0])).flatten().tolist()
    [4.0, 1.0, 2.0]
    """
    n, k, _ = read_tensor(A)
    if k == 0:
        return A
    inverse = torch.argsort(as_permutation(perm, n)).to(A.device)
    for axis in range(k):
        A = A.index_select(axis, inverse)
    return A


def general_layer(A: Tensor, weights: Tensor, biases: Tensor | None, l: int, n: int | None = None) -> Tensor:
    """L_{k→l} of Eq. 1: every equivariant linear map of order-k to order-l tensors.

    L(A)_j = Σ_μ Σ_i 1[(i, j) ∈ μ] A_i w_μ + Σ_λ 1[j ∈ λ] b_λ, classes in the order of `set_partitions`.

    Args:
        A: ``[n]*k + [d]``; k = 0 is a vector ``[d]``.
        weights: ``[bell(k+l), d, d']``; the pattern of (i, j) has the k positions of i first.
        biases: ``[bell(l), d']``, or None.
        l: order of the output; 0 is the invariant layer.
        n: number of nodes, needed only where k = 0 < l.

    Returns:
        ``[n]*l + [d']``.

    >>> A = torch.tensor([[1.0], [2.0], [4.0]])  # k = 1; the patterns of (i, j) are i = j and i ≠ j
    >>> general_layer(A, torch.tensor([[[10.0]], [[1.0]]]), None, l=1).flatten().tolist()
    [16.0, 25.0, 43.0]
    """
    n, k, d = read_layer(A, l, n)
    check_parameter(weights, A, (bell(k + l), d, None), "weights")
    out_width = weights.shape[2]
    check_dense(n, l, out_width, "the output")
    out = _by_class(A.reshape(n**k, d), pattern_table(k, l, n, A.device), weights)
    if biases is not None:
        check_parameter(biases, A, (bell(l), out_width), "biases")
        out = out + biases[pattern_table(0, l, n, A.device)[0]]
    return out.reshape(*[n] * l, out_width)


def _by_class(A: Tensor, table: Tensor, weights: Tensor) -> Tensor:
    """``[J, d']`` Σ_i A_i w_{table[i, j]}; ``A [I, d]``, ``table [I, J]``, ``weights [classes, d, d']``."""
    out = A.new_zeros(table.shape[1], weights.shape[2])
    for number in table.unique().tolist():
        out = out + (table == number).to(A.dtype).T @ A @ weights[number]
    return out


def symmetric_layer(
    A: Tensor, weights: Tensor, biases: Tensor | None, l: int, n: int | None = None
) -> Tensor:
    """L_{[k]→[l]} of Lemma 1: the equivariant layer of symmetric tensors.

    Args:
        A: ``[n]*k + [d]``, symmetric (the formula is applied as it stands to any other tensor).
        weights: ``[len(symmetric_classes(k, l)), d, d']``.
        biases: ``[len(symmetric_classes(0, l)), d']``, or None.
        l: order of the output; 0 is the invariant layer.
        n: number of nodes, needed only where k = 0 < l.

    Returns:
        ``[n]*l + [d']``, symmetric.

    >>> A = torch.tensor([[1.0], [2.0], [4.0]])  # a vector is symmetric, so this is `general_layer`
    >>> symmetric_layer(A, torch.tensor([[[10.0]], [[1.0]]]), None, l=1).flatten().tolist()
    [16.0, 25.0, 43.0]
    """
    n, k, d = read_layer(A, l, n)
    alpha, beta = symmetric_classes(k, l), symmetric_classes(0, l)
    check_parameter(weights, A, (len(alpha), d, None), "weights")
    if biases is not None:
        check_parameter(biases, A, (len(beta), weights.shape[2]), "biases")
        biases = untie(biases, beta)
    return general_layer(A, untie(weights, alpha), biases, l, n)
