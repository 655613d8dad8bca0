"""Maps between the parameters of the unreduced and the reduced layers: the steps of the paper's proofs."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn._utils.validation import as_count

from .checks import check_parameter, look_up
from .patterns import stirling2
from .sequence import Biases, Weights
from .symmetric import overlap_class, symmetric_classes


def pool_overlaps(weights: Tensor) -> Tensor:
    """The last step of Proposition 1: w_𝓘 − w_0 for 𝓘 ≥ 1, so that 𝓘 = 0 can pool over all inputs.

    ``weights [1 + min(k, l), d, d']`` of the sums over |i ∩ j| = 𝓘, 𝓘 ≥ 0; returns those of Eq. 3.

    >>> pool_overlaps(torch.tensor([1.0, 5.0, 7.0]).reshape(3, 1, 1)).flatten().tolist()
    [1.0, 4.0, 6.0]
    """
    return torch.cat([weights[:1], weights[1:] - weights[:1]])


def unpool_overlaps(weights: Tensor) -> Tensor:
    """The inverse of `pool_overlaps`: from the weights of Eq. 3 to those of disjoint overlap
    sums, ``[overlaps, …]`` both."""
    return torch.cat([weights[:1], weights[1:] + weights[:1]])


def uniform_from_symmetric(
    weights: Tensor, biases: Tensor | None, k: int, l: int
) -> tuple[Tensor, Tensor | None]:
    """Proposition 1: the parameters of L_{(k)→(l)} that give the outputs of L_{[k]→[l]}.

    They agree on tensors of k-uniform hypergraphs, at all j without repeated nodes. Only the classes
    whose k input and l output positions are distinct matter, one for each overlap 𝓘.

    Args:
        weights: ``[len(symmetric_classes(k, l)), d, d']``.
        biases: ``[len(symmetric_classes(0, l)), d']``, or None.

    Returns:
        ``[1 + min(k, l), d, d']`` and ``[d']`` (or None), as `uniform_layer` takes them.

    >>> weights = torch.tensor([10.0, 1.0]).reshape(2, 1, 1)  # of i = j and of i ≠ j
    >>> uniform_from_symmetric(weights, None, 1, 1)[0].flatten().tolist()  # of all i, and of i = j besides
    [1.0, 9.0]
    """
    alpha, beta = symmetric_classes(k, l), symmetric_classes(0, l)
    check_parameter(weights, weights, (len(alpha), None, None), "weights")
    number = {overlap_class(kind): c for c, kind in enumerate(alpha.types)}
    rows = [number[k, l, shared] for shared in range(1 + min(k, l))]
    bias = None
    if biases is not None:
        check_parameter(biases, weights, (len(beta), weights.shape[2]), "biases")
        bias = biases[beta.types.index(((0, 1),) * l)]
    return pool_overlaps(weights[rows]), bias


def packed_from_sequence(
    weights: Weights, biases: Biases, K: int, L: int, like: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Theorem 1: the parameters of L_{[K]→[L]} on packed tensors that give the outputs of L_{(:K)→(:L)}.

    In the packed tensor a set of k nodes stands at k! S(K, k) multi-indices, with S the Stirling number
    of the second kind, and in A^(k) at k!: hence w_α = w_{k,l,𝓘} / S(K, k), where w_{k,l,𝓘} is that of
    the sum over |i ∩ j| = 𝓘 alone (see `unpool_overlaps`).

    Args:
        weights, biases: as in `sequence_layer`.
        K, L: the highest orders, at least 1.
        like: a tensor with d channels in its last axis, in the dtype of the parameters.

    Returns:
        ``[len(symmetric_classes(K, L)), d, d']`` and ``[len(symmetric_classes(0, L)), d']`` (or None).
    """
    if as_count(K, "K") < 1 or as_count(L, "L") < 1:
        raise ValueError(f"K and L must be at least 1, got {K} and {L}")
    rows = []
    for k, l, shared in map(overlap_class, symmetric_classes(K, L).types):
        row = look_up(weights, (k, l, shared), "weights", like)
        if shared:
            row = row + look_up(weights, (k, l, 0), "weights", like)
        rows.append(row / stirling2(K, k))
    if biases is None:
        return torch.stack(rows), None
    kinds = symmetric_classes(0, L).types
    return torch.stack(rows), torch.stack([look_up(biases, (len(t),), "biases", like) for t in kinds])
