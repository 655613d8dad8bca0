"""The number of parameters of each layer is the dimension of the space of equivariant maps."""

import pytest
import torch

from ehnn.algebra import (
    bell,
    equivariant_dimension,
    sequence_dimension,
    symmetric_classes,
    symmetric_dimension,
    uniform_dimension,
)
from ehnn.algebra.patterns import pattern_basis, stirling2

PAIRS = [(k, l) for k in range(4) for l in range(4) if k + l <= 4] + [(3, 2)]


@pytest.mark.parametrize(("k", "l"), PAIRS)
def test_equivariant_maps_of_tensors(k, l):
    assert equivariant_dimension(k, l, k + l) == bell(k + l)


@pytest.mark.parametrize(("k", "l", "n"), [(1, 1, 3), (1, 1, 6), (2, 1, 4), (2, 1, 6), (0, 3, 5), (3, 0, 4)])
def test_dimension_does_not_grow_with_n(k, l, n):
    assert equivariant_dimension(k, l, n) == bell(k + l)


@pytest.mark.parametrize(("k", "l", "n"), [(1, 1, 1), (2, 1, 2), (2, 2, 2), (2, 2, 3), (2, 1, 0), (0, 0, 0)])
def test_few_nodes_leave_fewer_maps(k, l, n):
    dimension = equivariant_dimension(k, l, n)
    assert dimension == sum(stirling2(k + l, blocks) for blocks in range(n + 1))
    assert dimension < bell(k + l) or k + l == 0
    nonzero = pattern_basis(k, l, n).flatten(1).any(1).sum()
    assert dimension == nonzero


@pytest.mark.parametrize(("k", "l"), [(k, l) for k in range(4) for l in range(4)])
def test_equivariant_maps_of_uniform_hypergraphs(k, l):
    assert uniform_dimension(k, l, k + l) == 1 + min(k, l)


@pytest.mark.parametrize(("k", "l", "n"), [(2, 2, 3), (3, 2, 4), (3, 3, 3), (2, 3, 2), (1, 1, 0), (1, 2, 6)])
def test_uniform_maps_over_few_nodes(k, l, n):
    overlaps = range(max(0, k + l - n), min(k, l) + 1) if max(k, l) <= n else ()
    assert uniform_dimension(k, l, n) == len(overlaps)


@pytest.mark.parametrize(("k", "l"), [(1, 1), (2, 1), (2, 2), (3, 1), (0, 4), (3, 2)])
def test_equivariant_maps_of_symmetric_tensors(k, l):
    assert symmetric_dimension(k, l, k + l) == len(symmetric_classes(k, l))


@pytest.mark.parametrize(("K", "L"), [(1, 1), (2, 1), (2, 2), (3, 2), (0, 2)])
def test_equivariant_maps_of_hypergraphs(K, L):
    weights = sum(1 + min(k, l) for k in range(1, K + 1) for l in range(1, L + 1))
    assert sequence_dimension(K, L, K + L) == weights


def test_patterns_are_a_basis():
    basis = pattern_basis(2, 1, 4).flatten(1)
    assert torch.linalg.matrix_rank(basis) == basis.shape[0] == equivariant_dimension(2, 1, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: equivariant_dimension(3, 3, 6), "46,656 unknowns, more than 4,096"),
        (lambda: equivariant_dimension(300, 3, 6), "more than 4,096"),
        (lambda: uniform_dimension(-1, 1, 2), "k must be an integer that is not negative, got -1"),
        (lambda: sequence_dimension(1, 1, 2.0), "n must be an integer"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
