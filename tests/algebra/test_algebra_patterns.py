from itertools import permutations, product
from math import perm

import pytest
import torch

from ehnn.algebra import bell, canonical_patterns, set_partitions, symmetric_classes, untie
from ehnn.algebra.patterns import multi_indices, num_distinct, pattern_basis, pattern_numbers, stirling2
from ehnn.algebra.symmetric import overlap_class, tie
from ehnn.algebra.uniform import overlap_table


def test_counts_of_partitions():
    assert [bell(m) for m in range(9)] == [1, 1, 2, 5, 15, 52, 203, 877, 4140]
    assert [stirling2(5, b) for b in range(7)] == [0, 1, 15, 25, 10, 1, 0]
    assert stirling2(0, 0) == 1
    for m in range(7):
        found = set_partitions(m)
        assert len(found) == len(set(found)) == bell(m)
        assert list(found) == sorted(found)


@pytest.mark.parametrize(("n", "m"), [(1, 3), (2, 3), (4, 4), (3, 0), (0, 2), (0, 0)])
def test_patterns_are_equalities(n, m):
    index = multi_indices(n, m)
    assert [tuple(i) for i in index.tolist()] == list(product(range(n), repeat=m))
    found = [set_partitions(m)[p] for p in pattern_numbers(index).tolist()]
    for i, pattern in zip(index.tolist(), found, strict=True):
        assert all((i[a] == i[b]) == (pattern[a] == pattern[b]) for a in range(m) for b in range(m))
    assert torch.equal(canonical_patterns(index), torch.tensor(found, dtype=torch.int64).reshape(n**m, m))
    assert num_distinct(index).tolist() == [len(set(i)) for i in index.tolist()]


def test_patterns_do_not_depend_on_node_numbers():
    index = torch.tensor([[1000, -3, 1000], [2, 1, 2]])
    assert pattern_numbers(index).unique().shape == (1,)


@pytest.mark.parametrize(
    ("k", "l", "n"), [(1, 1, 3), (2, 1, 4), (2, 2, 4), (0, 2, 3), (2, 0, 3), (0, 0, 2), (2, 2, 2)]
)
def test_basis_partitions_the_index_space(k, l, n):
    basis = pattern_basis(k, l, n)
    assert basis.shape == (bell(k + l), n**k, n**l)
    assert basis.dtype == torch.float64
    assert torch.equal(basis.sum(0), torch.ones(n**k, n**l, dtype=torch.float64))
    sizes = [perm(n, max(p, default=-1) + 1) for p in set_partitions(k + l)]
    assert basis.sum((1, 2)).tolist() == sizes  # so patterns with more than n blocks are zero


@pytest.mark.parametrize(("k", "l"), [(0, 3), (1, 2), (2, 2), (3, 1), (2, 3)])
def test_symmetric_classes_are_orbits_of_axis_permutations(k, l):
    classes = symmetric_classes(k, l)
    of_pattern = classes.of_pattern.tolist()
    index = torch.tensor(set_partitions(k + l))
    orbits = {}
    for place, pattern in enumerate(index):
        arranged = [
            pattern[torch.tensor([*p, *(k + b for b in q)])]
            for p in permutations(range(k))
            for q in permutations(range(l))
        ]
        orbits[place] = frozenset(pattern_numbers(torch.stack(arranged)).tolist())
    for a in orbits:
        for b in orbits:
            assert (of_pattern[a] == of_pattern[b]) == (orbits[a] == orbits[b])
    assert len(classes) == len(set(orbits.values())) == len(classes.types)


def test_symmetric_classes_of_a_bias_are_integer_partitions():
    assert [len(symmetric_classes(0, l)) for l in range(7)] == [1, 1, 2, 3, 5, 7, 11]


def test_overlap_class_counts_distinct_and_shared_nodes():
    k, l, n = 2, 2, 4
    classes = symmetric_classes(k, l)
    index = multi_indices(n, k + l)
    alpha = classes.of_pattern[pattern_numbers(index)].tolist()
    for i, a in zip(index.tolist(), alpha, strict=True):
        first, second = set(i[:k]), set(i[k:])
        assert overlap_class(classes.types[a]) == (len(first), len(second), len(first & second))
    expected = [
        [len(set(i) & set(j)) for j in product(range(3), repeat=2)] for i in product(range(3), repeat=3)
    ]
    assert overlap_table(3, 2, 3).tolist() == expected


def test_tie_undoes_untie():
    classes = symmetric_classes(2, 2)
    weights = torch.randn(len(classes), 2, 3, dtype=torch.float64)
    assert torch.allclose(tie(untie(weights, classes), classes), weights)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: set_partitions(12), r"4,213,597 set partitions of 12"),
        (lambda: bell(-1), "size must be an integer that is not negative, got -1"),
        (lambda: pattern_basis(2, 2, 200), r"200\^4·15"),
        (lambda: multi_indices(2, 3000), "order 3000"),
        (lambda: multi_indices(2, 1.5), "order must be an integer"),
        (lambda: untie(torch.ones(3), symmetric_classes(1, 1)), r"shape \[2\], got \[3\]"),
        (lambda: tie(torch.ones(3), symmetric_classes(1, 1)), r"shape \[2\], got \[3\]"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
