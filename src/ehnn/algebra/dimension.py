"""Dimensions of spaces of equivariant linear maps, found numerically and without equality patterns.

A linear map W is equivariant if P_out(π) W P_in(π)ᵀ = W for all node permutations π, which it is enough
to ask of a transposition and a cycle. The dimension is that of the null space of these constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, combinations_with_replacement, product
from math import comb
from typing import Any

import torch
from torch import Tensor

from ehnn._utils.validation import as_count

MAX_UNKNOWNS = 4096
"""Bound on the entries of W; the constraints are a matrix of its square."""

Move = Callable[[Any, list[int]], Any]


def equivariant_dimension(k: int, l: int, n: int) -> int:
    """Dimension of the equivariant linear maps of order-k to order-l tensors over n nodes.

    It is ``bell(k + l)`` for n ≥ k + l.

    >>> equivariant_dimension(1, 1, 3)
    2
    """
    _check(k, l, n)
    check_unknowns(n**k, n**l)
    source, target = (list(product(range(n), repeat=order)) for order in (k, l))
    return fixed_dimension(source, target, n, _ordered)


def symmetric_dimension(k: int, l: int, n: int) -> int:
    """The same between symmetric tensors; ``len(symmetric_classes(k, l))`` for n ≥ k + l.

    >>> symmetric_dimension(1, 1, 4)
    2
    """
    _check(k, l, n)
    check_unknowns(_multisets(n, k), _multisets(n, l))
    source, target = (list(combinations_with_replacement(range(n), order)) for order in (k, l))
    return fixed_dimension(source, target, n, _unordered)


def uniform_dimension(k: int, l: int, n: int) -> int:
    """The same from k-uniform to l-uniform hypergraphs: functions on k-subsets and on l-subsets.

    It is ``1 + min(k, l)`` for n ≥ k + l.

    >>> uniform_dimension(2, 2, 4)
    3
    """
    _check(k, l, n)
    check_unknowns(comb(n, k), comb(n, l))
    source, target = (list(combinations(range(n), order)) for order in (k, l))
    return fixed_dimension(source, target, n, _unordered)


def sequence_dimension(K: int, L: int, n: int) -> int:
    """The same from hypergraphs of orders 1, …, K to those of orders 1, …, L.

    It is Σ_{k ≤ K, l ≤ L} (1 + min(k, l)), the number of weights of Eq. 5, for n ≥ K + L.

    >>> sequence_dimension(1, 2, 4)
    4
    """
    _check(K, L, n)
    check_unknowns(*(sum(comb(n, k) for k in range(1, top + 1)) for top in (K, L)))
    source, target = ([s for k in range(1, top + 1) for s in combinations(range(n), k)] for top in (K, L))
    return fixed_dimension(source, target, n, _unordered)


def _check(k: int, l: int, n: int) -> None:
    for name, value in (("k", k), ("l", l), ("n", n)):
        as_count(value, name)


def _multisets(n: int, size: int) -> int:
    return comb(n + size - 1, size) if n + size else 1


def check_unknowns(source: int, target: int) -> None:
    """Refuse a space of maps that is too large, before anything is allocated."""
    if source * target > MAX_UNKNOWNS:
        raise ValueError(
            f"maps of {source:,} to {target:,} entries have {source * target:,} unknowns, "
            f"more than {MAX_UNKNOWNS:,}"
        )


def fixed_dimension(source: Sequence[Any], target: Sequence[Any], n: int, move: Move) -> int:
    """Dimension of the maps from functions on ``source`` to functions on ``target`` that S_n leaves fixed.

    ``move(label, perm)`` is the label that a permutation of the nodes takes ``label`` to.
    """
    unknowns = len(source) * len(target)
    if unknowns == 0:
        return 0
    gram = torch.zeros(unknowns, unknowns, dtype=torch.float64)
    for perm in _generators(n):
        action = torch.kron(_representation(target, perm, move), _representation(source, perm, move))
        gram += 2 * torch.eye(unknowns, dtype=torch.float64) - action - action.T  # (P − 1)ᵀ(P − 1)
    # The smallest nonzero eigenvalue shrinks like a power of 1/n only: far above rounding for these n.
    return int((torch.linalg.eigvalsh(gram) < 1e-8).sum())


def _generators(n: int) -> list[list[int]]:
    """A transposition and a cycle: together they generate S_n."""
    if n < 2:
        return [list(range(n))]
    return [[1, 0, *range(2, n)], [*range(1, n), 0]]


def _ordered(label: tuple[int, ...], perm: list[int]) -> tuple[int, ...]:
    return tuple(perm[v] for v in label)


def _unordered(label: tuple[int, ...], perm: list[int]) -> tuple[int, ...]:
    return tuple(sorted(perm[v] for v in label))


def _representation(labels: Sequence[Any], perm: list[int], move: Move) -> Tensor:
    """``[N, N]`` permutation matrix of π on functions on ``labels``."""
    number = {label: i for i, label in enumerate(labels)}
    rows = [number[move(label, perm)] for label in labels]
    matrix = torch.zeros(len(labels), len(labels), dtype=torch.float64)
    matrix[torch.tensor(rows), torch.arange(len(labels))] = 1.0
    return matrix
