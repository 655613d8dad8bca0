"""Equivariant linear layers between role-marked hyperedges: dense and exact, for small n.

A role-marked hyperedge gives each of its nodes one of R roles. A family of them is written as an integer
matrix ``marks [num_hyperedges, n]``: the role of each node, −1 for a node that is not in the hyperedge.

Why the overlap matrix is all there is to see. Take a source i and a target j. Every node has a role in i or
none, and a role in j or none. A permutation of the nodes moves (i, j) to (i', j') exactly if both pairs give
each of these (R + 1)(R' + 1) combinations to equally many nodes. The numbers are those of

    M[r, s] = |i_r ∩ j_s|,   k_r − Σ_s M[r, s],   l_s − Σ_r M[r, s],   n − (everything else),

so M together with the role counts k of i and l of j names the orbit of (i, j), and every M with row sums of
at most k, column sums of at most l and |k| + |l| − ΣM ≤ n occurs. With one role this is 𝓘 = |i ∩ j| of Eq. 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import factorial, prod

import torch
from torch import Tensor

from ehnn._utils.validation import as_count

from .checks import check_dense, look_up
from .dimension import check_unknowns, fixed_dimension

Counts = tuple[int, ...]
Matrix = tuple[tuple[int, ...], ...]
RoleWeights = Mapping[tuple[Counts, Counts, Matrix], Tensor] | Callable[[Counts, Counts, Matrix], Tensor]
RoleBiases = Mapping[Counts, Tensor] | Callable[[Counts], Tensor] | None


def overlap_matrices(k: Sequence[int], l: Sequence[int], n: int | None = None) -> tuple[Matrix, ...]:
    """All overlap matrices M between hyperedges with role counts ``k`` and ``l``, in lexicographic order.

    M has row sums of at most k and column sums of at most l; over ``n`` nodes also |k| + |l| − ΣM ≤ n.

    >>> overlap_matrices((2,), (1,))
    (((0,),), ((1,),))
    >>> len(overlap_matrices((1, 1), (1, 1)))
    7
    """
    k, l = _counts(k, "k"), _counts(l, "l")
    found = tuple(_matrices(k, l))
    if n is None:
        return found
    return tuple(M for M in found if sum(k) + sum(l) - sum(map(sum, M)) <= n)


def _matrices(k: Counts, l: Counts) -> Iterator[Matrix]:
    if not k:
        yield ()
        return
    for row in _rows(k[0], l):
        for rest in _matrices(k[1:], tuple(b - a for a, b in zip(row, l, strict=True))):
            yield (row, *rest)


def _rows(total: int, l: Counts) -> Iterator[Counts]:
    if not l:
        yield ()
        return
    for first in range(min(total, l[0]) + 1):
        for rest in _rows(total - first, l[1:]):
            yield (first, *rest)


def role_hyperedges(counts: Sequence[int], n: int) -> Tensor:
    """``[N, n]`` marks of all role-marked hyperedges over n nodes with ``counts[r]`` nodes of each role r.

    >>> role_hyperedges((1, 1), 2).tolist()
    [[0, 1], [1, 0]]
    """
    labels = list(_labels(_counts(counts, "counts"), tuple(range(as_count(n, "n")))))
    check_dense(n, 1, len(labels), "the list of role-marked hyperedges")
    marks = torch.full((len(labels), n), -1)
    for row, label in zip(marks, labels, strict=True):
        for role, nodes in enumerate(label):
            row[list(nodes)] = role
    return marks


def _labels(counts: Counts, nodes: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Disjoint sets of the given sizes, each written as a sorted tuple."""
    if not counts:
        yield ()
        return
    for chosen in combinations(nodes, counts[0]):
        rest = tuple(v for v in nodes if v not in chosen)
        for others in _labels(counts[1:], rest):
            yield (chosen, *others)


def role_dimension(k: Sequence[int], l: Sequence[int], n: int) -> int:
    """Dimension of the equivariant linear maps between functions on role-marked hyperedges.

    Found as the null space of the permutation constraints, without overlap matrices. It equals
    ``len(overlap_matrices(k, l, n))``.

    >>> role_dimension((1, 1), (1,), 3), len(overlap_matrices((1, 1), (1,), 3))
    (3, 3)
    """
    k, l = _counts(k, "k"), _counts(l, "l")
    check_unknowns(*(_num_labels(counts, as_count(n, "n")) for counts in (k, l)))
    source, target = (list(_labels(counts, tuple(range(n)))) for counts in (k, l))

    def move(label: tuple[tuple[int, ...], ...], perm: list[int]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(sorted(perm[v] for v in nodes)) for nodes in label)

    return fixed_dimension(source, target, n, move)


def _num_labels(counts: Counts, n: int) -> int:
    rest = n - sum(counts)
    return factorial(n) // prod(map(factorial, (*counts, rest))) if rest >= 0 else 0


def role_counts(marks: Tensor, num_roles: int) -> Tensor:
    """``[N, num_roles]`` number of nodes of each role; ``marks [N, n]``."""
    return _one_hot(marks, num_roles).sum(2)


def overlap_matrix(source: Tensor, target: Tensor, num_roles: tuple[int, int]) -> Tensor:
    """``[I, J, R, R']`` overlaps M[r, s] = |i_r ∩ j_s| of marks ``source [I, n]`` and ``target [J, n]``."""
    i, j = (_one_hot(m, roles).double() for m, roles in zip((source, target), num_roles, strict=True))
    return torch.einsum("irv,jsv->ijrs", i, j).long()


def role_layer(
    x: Tensor,
    source: Tensor,
    target: Tensor,
    weights: RoleWeights,
    biases: RoleBiases = None,
    num_roles: tuple[int, int] | None = None,
) -> Tensor:
    r"""The maximally expressive equivariant linear layer between role-marked hyperedges.

    .. math:: y_j = \sum_{M \ne 0} W_{k, l, M} \sum_{i : M(i, j) = M} x_i + W_{k, l, 0} \sum_i x_i + b_l

    with a sum over the role counts k of the sources, l the role counts of j. As in Eq. 3, index 0 pools over
    *all* sources, those that overlap j included. With one role this is the paper's Eq. 5, where sums run over
    hyperedges as sets.

    Args:
        x: ``[I, d]`` features of the sources.
        source, target: ``[I, n]`` and ``[J, n]`` marks: the role of each node, −1 where it is not a member.
        weights: ``[d, d']`` by ``(k, l, M)``, tuples of integers: a mapping or a function.
        biases: ``[d']`` by l: a mapping, a function, or None.
        num_roles: R of the sources and of the targets; by default one more than the largest role seen.

    Returns:
        ``[J, d']``.

    >>> marks = torch.tensor([[0, 1, -1], [-1, 0, 1]])  # 0 → 1 and 1 → 2
    >>> head_is_tail = {((1, 1), (1, 1), ((0, 0), (1, 0))): torch.ones(1, 1)}
    >>> W = lambda k, l, M: head_is_tail.get((k, l, M), torch.zeros(1, 1))
    >>> role_layer(torch.tensor([[5.0], [7.0]]), marks, marks, W).tolist()
    [[0.0], [5.0]]
    """
    for name, marks in (("source", source), ("target", target)):
        if marks.dim() != 2 or marks.is_floating_point() or (marks.numel() and int(marks.min()) < -1):
            raise ValueError(f"{name} must be an integer matrix of roles, −1 for no member, got {marks}")
    if source.shape[1] != target.shape[1]:
        raise ValueError(f"source has {source.shape[1]} nodes, target {target.shape[1]}")
    if x.dim() != 2 or x.shape[0] != source.shape[0]:
        raise ValueError(f"x must have one row per source ({source.shape[0]}), got {list(x.shape)}")
    if not len(target) or not (len(source) or biases is not None):
        raise ValueError("role_layer needs at least one target, and a source or a bias")
    R, S = num_roles or (_num_roles(source), _num_roles(target))
    check_dense(source.shape[0], 1, target.shape[0] * R * S, "the table of overlap matrices")
    k, l = role_counts(source, R).tolist(), role_counts(target, S).tolist()
    M = overlap_matrix(source, target, (R, S)).tolist()
    zero = ((0,) * S,) * R
    rows = []
    for j, lj in enumerate(l):
        terms = []
        for i, ki in enumerate(k):
            Mij = tuple(map(tuple, M[i][j]))
            keys = [(tuple(ki), tuple(lj), m) for m in dict.fromkeys((zero, Mij))]
            terms += [x[i] @ look_up(weights, key, "weights", x) for key in keys]
        if biases is not None:
            terms.append(look_up(biases, (tuple(lj),), "biases", x))
        rows.append(torch.stack(terms).sum(0))
    return torch.stack(rows)


def _counts(counts: Sequence[int], name: str) -> Counts:
    return tuple(as_count(count, f"an entry of {name}") for count in counts)


def _num_roles(marks: Tensor) -> int:
    return max(int(marks.max()) + 1, 1) if marks.numel() else 1


def _one_hot(marks: Tensor, num_roles: int) -> Tensor:
    """``[N, num_roles, n]`` whether a node has a role."""
    if marks.numel() and int(marks.max()) >= num_roles:
        raise ValueError(f"a role of {int(marks.max())} is not below num_roles={num_roles}")
    return (marks.unsqueeze(1) == torch.arange(num_roles).reshape(1, -1, 1)).long()
