"""Lemma 1, Proposition 1, Lemma 3 and Theorem 1 as equalities of outputs."""

from itertools import permutations
from math import factorial

import pytest
import torch

from ehnn.algebra import (
    bell,
    distinct_mask,
    general_layer,
    read_hyperedges,
    sequence_layer,
    set_partitions,
    symmetric_classes,
    symmetric_layer,
    to_tensor,
    to_tensor_sequence,
    uniform_dimension,
    uniform_from_symmetric,
    uniform_layer,
    untie,
)
from ehnn.algebra.packed import pack, unpack
from ehnn.algebra.patterns import pattern_numbers
from ehnn.algebra.reductions import packed_from_sequence, pool_overlaps, unpool_overlaps
from ehnn.algebra.symmetric import overlap_class, tie

from .algebra_helpers import (
    axis_mean,
    close,
    rand,
    random_hypergraph,
    sequence_biases,
    sequence_weights,
    tensor,
    uniform,
    uniform_tensors,
)

ORDERS = [(0, 2), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2), (3, 2), (2, 3)]


def output_tied(weights, k, l):
    """General weights averaged over permutations of the output axes only, so that outputs are symmetric."""
    patterns = torch.tensor(set_partitions(k + l), dtype=torch.int64).reshape(bell(k + l), k + l)
    orders = [
        torch.tensor([*range(k), *(k + b for b in q)], dtype=torch.int64) for q in permutations(range(l))
    ]
    return torch.stack([weights[pattern_numbers(patterns[:, o])] for o in orders]).mean(0)


@pytest.mark.parametrize(("k", "l"), ORDERS)
def test_lemma_1(k, l):
    """On symmetric inputs a general layer with symmetric outputs is the symmetric layer with mean weights."""
    n, alpha, beta = 4, symmetric_classes(k, l), symmetric_classes(0, l)
    A = axis_mean(tensor(n, k, 2))
    weights, biases = output_tied(rand(bell(k + l), 2, 3), k, l), output_tied(rand(bell(l), 3), 0, l)
    out = general_layer(A, weights, biases, l, n=n)
    assert close(out, axis_mean(out))
    assert close(out, symmetric_layer(A, tie(weights, alpha), tie(biases, beta), l, n=n))
    if k > 1 and l:  # the weights were not yet tied on the input side
        assert not close(weights, untie(tie(weights, alpha), alpha))


@pytest.mark.parametrize(("k", "l"), ORDERS)
def test_lemma_1_of_any_general_layer(k, l):
    n, A = 4, axis_mean(tensor(4, k, 2))
    weights, biases = rand(bell(k + l), 2, 3), rand(bell(l), 3)
    reduced = tie(weights, symmetric_classes(k, l)), tie(biases, symmetric_classes(0, l))
    assert close(axis_mean(general_layer(A, weights, biases, l, n=n)), symmetric_layer(A, *reduced, l, n=n))


@pytest.mark.parametrize(("k", "l"), ORDERS)
def test_proposition_1(k, l):
    """On k-uniform hypergraphs the unreduced layer is the uniform one, at all j without repeated nodes."""
    n, A = 4, to_tensor(uniform(4, k, 2))
    weights, biases = output_tied(rand(bell(k + l), 2, 3), k, l), output_tied(rand(bell(l), 3), 0, l)
    mask = distinct_mask(n, l).reshape(*[n] * l, 1)
    tied = tie(weights, symmetric_classes(k, l)), tie(biases, symmetric_classes(0, l))
    out = uniform_layer(A, *uniform_from_symmetric(*tied, k, l), l, n=n)
    assert close(out, mask * general_layer(A, weights, biases, l, n=n))
    assert uniform_from_symmetric(tied[0], None, k, l)[1] is None


def test_uniform_weights_are_differences():
    """w'_𝓘 = w_𝓘 − w_0 for 𝓘 ≥ 1, and w_0 stays."""
    weights, (k, l) = rand(len(symmetric_classes(3, 2)), 1, 1), (3, 2)
    kinds = [overlap_class(t) for t in symmetric_classes(k, l).types]
    w = [weights[kinds.index((k, l, i))] for i in range(3)]
    found, _ = uniform_from_symmetric(weights, None, k, l)
    assert torch.equal(found, torch.stack([w[0], w[1] - w[0], w[2] - w[0]]))
    assert torch.allclose(unpool_overlaps(pool_overlaps(found)), found)


@pytest.mark.parametrize(("k", "l", "n"), [(2, 1, 4), (2, 2, 4), (3, 2, 5), (0, 2, 3)])
def test_uniform_layers_are_all_equivariant_maps_of_uniform_hypergraphs(k, l, n):
    """The maps of Eq. 3, one for each weight, are as many independent maps as there can be."""
    u = uniform(n, k, 1, keep=2.0)
    units = torch.eye(u.edges.shape[0], dtype=torch.float64)
    maps = []
    for w in torch.eye(1 + min(k, l), dtype=torch.float64):
        weights = w.reshape(-1, 1, 1) * torch.eye(
            len(units), dtype=torch.float64
        )  # d = one channel per hyperedge
        maps.append(uniform_layer(to_tensor(u._replace(features=units)), weights, None, l, n=n).flatten())
    assert torch.linalg.matrix_rank(torch.stack(maps)) == len(maps) == uniform_dimension(k, l, n)


@pytest.mark.parametrize(("K", "n"), [(1, 3), (2, 3), (3, 4), (4, 3), (3, 1), (2, 0)])
def test_lemma_3(K, n):
    tensors = uniform_tensors(n, K, 2)
    packed = pack(tensors)
    assert packed.shape == (*[n] * K, 2)
    if n:
        assert close(packed, axis_mean(packed))
    for i in torch.cartesian_prod(*[torch.arange(n)] * K).reshape(-1, K).tolist():
        distinct = sorted(set(i))
        assert torch.equal(packed[tuple(i)], tensors[len(distinct)][tuple(distinct)])
    found = unpack(packed)
    assert sorted(found) == sorted(tensors)
    assert all(torch.equal(found[k], tensors[k]) for k in tensors)


@pytest.mark.parametrize(
    ("K", "L", "n"), [(1, 1, 3), (2, 1, 4), (1, 2, 3), (2, 2, 4), (3, 2, 4), (2, 3, 4), (3, 3, 3)]
)
def test_theorem_1(K, L, n):
    """The sequence layer is the symmetric layer on packed tensors, with weights divided by S(K, k)."""
    tensors, weights, biases = uniform_tensors(n, K, 2), sequence_weights(K, L, 2, 3), sequence_biases(L, 3)
    packed = pack(tensors)
    out = symmetric_layer(packed, *packed_from_sequence(weights, biases, K, L, packed), L)
    assert close(out, pack(sequence_layer(tensors, weights, biases, L)))
    assert sorted(unpack(out)) == list(range(1, L + 1))  # a packed tensor up to rounding
    no_bias = symmetric_layer(packed, *packed_from_sequence(weights, None, K, L, packed), L)
    assert close(no_bias, pack(sequence_layer(tensors, weights, None, L)))


@pytest.mark.parametrize("seed", range(3))
def test_sums_over_hyperedges_are_sums_over_multi_indices_divided_by_factorials(seed):
    """What the sparse layers compute, as loops over hyperedges, against the dense reference."""
    h, targets = random_hypergraph(5, 3, 2, seed), random_hypergraph(5, 4, 1, seed + 10)
    weights, biases = sequence_weights(3, 4, 2, 3), sequence_biases(4, 3)
    dense = sequence_layer(to_tensor_sequence(h), lambda k, l, i: weights[k, l, i] / factorial(k), biases, 4)
    rows = []
    for f in map(set, targets.edges()):
        row = biases[len(f)].clone()
        for e, x in zip(map(set, h.edges()), h.edge_x, strict=True):
            row += x @ weights[len(e), len(f), 0]
            if e & f:
                row += x @ weights[len(e), len(f), len(e & f)]
        rows.append(row)
    assert close(read_hyperedges(dense, targets), torch.stack(rows))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pack({0: torch.ones(1), 1: torch.ones(2, 1)}), "order 0 cannot be packed"),
        (lambda: pack({}), "at least one tensor"),
        (lambda: unpack(torch.ones(1)), "order 1 or more"),
        (lambda: unpack(torch.arange(4.0).reshape(2, 2, 1)), "not a packed tensor"),
        (lambda: packed_from_sequence({}, None, 0, 1, torch.ones(1)), "at least 1, got 0 and 1"),
        (lambda: packed_from_sequence({}, None, 1, 1, torch.ones(1)), r"no entry \(1, 1, 1\)"),
        (lambda: uniform_from_symmetric(torch.ones(3, 1, 1), None, 1, 1), r"\[2, any, any\]"),
        (lambda: uniform_from_symmetric(torch.ones(2, 1, 1), torch.ones(2, 1), 1, 1), r"biases.*\[1, 1\]"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
