"""The equivariant linear layer of hypergraphs as tensor sequences (Eqs. 4, 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from ehnn._utils.validation import as_count

from .checks import look_up, read_tensor
from .uniform import uniform_layer

Tensors = Mapping[int, Tensor] | Sequence[Tensor]
Weights = Mapping[tuple[int, int, int], Tensor] | Callable[[int, int, int], Tensor]
Biases = Mapping[int, Tensor] | Callable[[int], Tensor] | None


def sequence_layer(
    tensors: Tensors, weights: Weights, biases: Biases, L: int | Sequence[int], n: int | None = None
) -> dict[int, Tensor]:
    """L_{(:K)→(:L)} of Eqs. 4 and 5: the equivariant layer of hypergraphs of any order.

    L(A)_{l, j} = 1[|j| = l] ( Σ_k Σ_{𝓘 ≥ 1} Σ_i 1[|i ∩ j| = 𝓘] A^(k)_i w_{k,l,𝓘}
                              + Σ_k Σ_i A^(k)_i w_{k,l,0} + b_l ).

    The sum over i runs over multi-indices, as in the paper, so that a hyperedge of order k is counted
    k! times. A sum over hyperedges as sets, as the sparse layers do, is the same layer with its weights
    divided by that factor: ``sequence_layer(tensors, lambda k, l, i: weight(k, l, i) / factorial(k), ...)``.

    Args:
        tensors: A^(k) ``[n]*k + [d]`` by order k, or a sequence of those of orders 1, …, K. Order 0 (the
            empty hyperedge) may be there.
        weights: w_{k,l,𝓘} ``[d, d']`` by ``(k, l, 𝓘)``, 𝓘 ≤ min(k, l): a mapping or a function.
        biases: b_l ``[d']`` by l: a mapping, a function, or None.
        L: the output orders; an int L ≥ 1 stands for 1, …, L, and 0 for (0,), the invariant layer.
        n: number of nodes, needed only where all inputs are of order 0.

    Returns:
        By output order l, ``[n]*l + [d']``.

    >>> nodes = torch.tensor([[1.0], [2.0], [4.0]])
    >>> weights = {(1, 1, 0): torch.eye(1), (1, 1, 1): 10 * torch.eye(1)}
    >>> sequence_layer({1: nodes}, weights, None, L=1)[1].flatten().tolist()
    [17.0, 27.0, 47.0]
    """
    by_order = by_order_of(tensors, n)
    nodes = next((A.shape[0] for k, A in by_order.items() if k), n)
    targets = [as_count(l, "an output order") for l in _output_orders(L)]
    return {l: _output(by_order, weights, biases, l, nodes) for l in targets}


def _output(by_order: dict[int, Tensor], weights: Weights, biases: Biases, l: int, n: int | None) -> Tensor:
    terms = []
    for place, (k, A) in enumerate(by_order.items()):
        stack = [look_up(weights, (k, l, shared), "weights", A) for shared in range(1 + min(k, l))]
        bias = look_up(biases, (l,), "biases", A) if biases is not None and place == 0 else None
        terms.append(uniform_layer(A, torch.stack(stack), bias, l, n))
    if len({t.shape for t in terms}) > 1:
        raise ValueError(
            f"weights to order {l} must have one output width, got {[t.shape[-1] for t in terms]}"
        )
    return torch.stack(terms).sum(0)


def by_order_of(tensors: Tensors, n: int | None) -> dict[int, Tensor]:
    """The tensors by order, checked: one n, one width, one dtype."""
    by_order = dict(tensors) if isinstance(tensors, Mapping) else dict(enumerate(tensors, start=1))
    if not by_order:
        raise ValueError("a tensor sequence must have at least one tensor, got none")
    seen = {k: read_tensor(A, n, f"the tensor of order {k}") for k, A in by_order.items()}
    for k, (_, found, _) in seen.items():
        if found != k:
            raise ValueError(f"the tensor at order {k} has order {found}")
    for what, values in (
        ("number of nodes", {s[0] for k, s in seen.items() if k}),
        ("width", {s[2] for s in seen.values()}),
        ("dtype", {A.dtype for A in by_order.values()}),
    ):
        if len(values) > 1:
            raise ValueError(f"a tensor sequence must have one {what}, got {sorted(map(str, values))}")
    return by_order


def _output_orders(L: int | Sequence[int]) -> Sequence[int]:
    if isinstance(L, Sequence):
        return L
    return range(1, as_count(L, "L") + 1) if L else (0,)
