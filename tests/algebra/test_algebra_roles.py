"""Role-marked hyperedges: the orbits are the overlap matrices, and the layer sees all of them."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ehnn.algebra import (
    overlap_matrices,
    role_dimension,
    role_hyperedges,
    role_layer,
    sequence_layer,
    to_tensor_sequence,
    uniform_dimension,
)
from ehnn.algebra.roles import overlap_matrix, role_counts
from ehnn.hypergraph import Hypergraph

CASES = [
    ((1,), (1,)), ((2,), (2,)), ((1, 1), (1,)), ((1, 1), (1, 1)), ((2, 1), (1, 1)), ((2, 1), (2,)),
    ((1, 1, 1), (1, 1)), ((0, 2), (1, 1)), ((0,), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("k", "l"), CASES)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_dimension_is_the_number_of_overlap_matrices(k, l, n):
    try:
        dimension = role_dimension(k, l, n)
    except ValueError:
        pytest.skip("too many unknowns")
    feasible = overlap_matrices(k, l, n) if max(sum(k), sum(l)) <= n else ()
    assert dimension == len(feasible)


def test_one_role_is_the_paper():
    for k in range(4):
        for l in range(4):
            assert len(overlap_matrices((k,), (l,))) == 1 + min(k, l)
            if k + l <= 5:
                assert role_dimension((k,), (l,), k + l) == uniform_dimension(k, l, k + l)


def test_every_overlap_matrix_occurs_and_is_one_orbit():
    source, target = role_hyperedges((2, 1), 5), role_hyperedges((1, 1), 5)
    M = overlap_matrix(source, target, (2, 2)).reshape(-1, 4)
    assert len(M.unique(dim=0)) == len(overlap_matrices((2, 1), (1, 1), 5))
    assert len(source) == math.factorial(5) // (2 * 1 * 2)


def random_weights(d_in, d_out, seed):
    def weight(*key):
        generator = torch.Generator().manual_seed(hash((seed, key)) % 2**31)
        shape = (d_out,) if len(key) == 1 else (d_in, d_out)
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return weight


def families(n):
    """Marks with up to two roles of one to four hyperedges over n nodes."""
    return st.lists(st.lists(st.integers(-1, 1), min_size=n, max_size=n), min_size=1, max_size=4)


marks_of = st.integers(1, 5).flatmap(lambda n: st.tuples(families(n), families(n)))


@settings(max_examples=30, deadline=None)
@given(marks_of, st.randoms(use_true_random=False))
def test_the_layer_is_equivariant(marks, random):
    source, target = map(torch.tensor, marks)
    perm = list(range(source.shape[1]))
    random.shuffle(perm)
    inverse = torch.tensor(perm).argsort()
    x = torch.randn(len(source), 2, dtype=torch.float64)
    W = random_weights(2, 3, 0)
    y = role_layer(x, source, target, W, W, (2, 2))
    moved = role_layer(x, source[:, inverse], target[:, inverse], W, W, (2, 2))
    torch.testing.assert_close(y, moved)


def test_merged_roles_are_equation_5():
    h = Hypergraph.from_edges([[0, 1, 2], [2, 3], [0, 3, 4], [1, 2]], num_nodes=5)
    x = torch.randn(4, 2, dtype=torch.float64)
    h = h.replace(edge_x=x)
    marks = torch.full((4, 5), -1)
    node, edge = h.index
    marks[edge, node] = 0
    W = random_weights(2, 3, 1)
    y = role_layer(x, marks, marks, lambda k, l, M: W(k[0], l[0], M[0][0]), lambda l: W(l[0]))
    tensors = to_tensor_sequence(h.replace(x=None))
    dense = sequence_layer(tensors, lambda k, l, i: W(k, l, i) / math.factorial(k), W, [2, 3], 5)
    expected = [dense[len(e)][tuple(e)] for e in h.edges()]
    torch.testing.assert_close(y, torch.stack(expected))


def test_a_layer_that_sees_marginals_is_strictly_weaker():
    """The same hyperedge twice, or once each way: the marginals of M agree, M does not."""
    there = torch.tensor([[0, 1]])
    back = torch.tensor([[1, 0]])
    x = torch.ones(1, 1, dtype=torch.float64)
    full = random_weights(1, 1, 2)

    def marginal(k, l, M):
        return full(k, l, (tuple(map(sum, M)), tuple(map(sum, zip(*M, strict=True)))))

    same, opposite = (role_layer(x, source, there, marginal) for source in (there, back))
    torch.testing.assert_close(same, opposite)
    same, opposite = (role_layer(x, source, there, full) for source in (there, back))
    assert not torch.allclose(same, opposite)


def test_a_sum_of_functions_of_single_entries_is_strictly_weaker():
    """Matrices {1 ⊕ 1, 0} and {1 ⊕ 0, 0 ⊕ 1}: equal for every sum over (r, s) of a function of M[r, s]."""
    target = torch.tensor([[0, 1, -1, -1]])
    first = torch.tensor([[0, 1, -1, -1], [-1, -1, 0, 1]])
    second = torch.tensor([[0, -1, 1, -1], [-1, 1, 0, -1]])
    assert torch.equal(role_counts(first, 2), role_counts(second, 2))
    x = torch.ones(2, 1, dtype=torch.float64)
    full = random_weights(1, 1, 3)

    def entrywise(k, l, M):
        """Zero for M = 0, which pools over all sources."""
        entries = [(r, s, m) for r, row in enumerate(M) for s, m in enumerate(row)]
        return sum(full(k, l, (r, s, m)) - full(k, l, (r, s, 0)) for r, s, m in entries)

    torch.testing.assert_close(
        role_layer(x, first, target, entrywise), role_layer(x, second, target, entrywise)
    )
    assert not torch.allclose(role_layer(x, first, target, full), role_layer(x, second, target, full))


def test_gradients_reach_every_weight_that_occurs():
    marks = role_hyperedges((1, 1), 3)
    weights = {
        ((1, 1), (1, 1), M): torch.randn(2, 2, dtype=torch.float64, requires_grad=True)
        for M in overlap_matrices((1, 1), (1, 1))
    }
    x = torch.randn(len(marks), 2, dtype=torch.float64)
    role_layer(x, marks, marks, weights).pow(2).sum().backward()
    reached = {key[2] for key, weight in weights.items() if weight.grad is not None}
    assert reached == set(overlap_matrices((1, 1), (1, 1), 3)) | {((0, 0), (0, 0))}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": torch.tensor([[0, -2]])}, "source must be an integer matrix of roles"),
        ({"target": torch.tensor([[0, 1, 0]])}, "source has 2 nodes, target 3"),
        ({"x": torch.ones(2, 1)}, r"x must have one row per source \(1\), got \[2, 1\]"),
        ({"num_roles": (1, 2)}, "a role of 1 is not below num_roles=1"),
        ({"weights": {}}, "weights has no entry"),
        ({"target": torch.empty(0, 2, dtype=torch.int64)}, "at least one target"),
    ],
)
def test_bad_input_is_named(change, message):
    given = {
        "x": torch.ones(1, 1), "source": torch.tensor([[0, 1]]), "target": torch.tensor([[0, 1]]),
        "weights": lambda k, l, M: torch.ones(1, 1),
    } | change  # fmt: skip
    with pytest.raises(ValueError, match=message):
        role_layer(**given)
