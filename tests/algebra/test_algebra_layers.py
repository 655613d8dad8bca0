from itertools import combinations

import pytest
import torch

from ehnn.algebra import (
    bell,
    general_layer,
    permute_tensor,
    sequence_layer,
    set_partitions,
    symmetric_classes,
    symmetric_layer,
    uniform_layer,
)

from .algebra_helpers import (
    close,
    rand,
    sequence_biases,
    sequence_weights,
    slow_equation_1,
    slow_equation_5,
    tensor,
    uniform_tensors,
)

ORDERS = [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (3, 2)]


def parameters(layer, k, l, d=2, d_out=3):
    if layer is general_layer:
        return rand(bell(k + l), d, d_out), rand(bell(l), d_out)
    if layer is symmetric_layer:
        return rand(len(symmetric_classes(k, l)), d, d_out), rand(len(symmetric_classes(0, l)), d_out)
    return rand(1 + min(k, l), d, d_out), rand(d_out)


@pytest.mark.parametrize(("k", "l"), [(0, 2), (1, 0), (1, 1), (2, 1), (1, 2)])
def test_general_layer_is_equation_1(k, l):
    n, (weights, biases) = 3, parameters(general_layer, k, l)

    def by_equalities(values, size):
        names = [tuple(p[a] == p[b] for a, b in combinations(range(size), 2)) for p in set_partitions(size)]
        return dict(zip(names, values, strict=True)).__getitem__

    A = tensor(n, k, 2)
    slow = slow_equation_1(A, by_equalities(weights, k + l), by_equalities(biases, l), l, n)
    assert close(general_layer(A, weights, biases, l, n=n), slow)


def test_first_order_layer_is_the_one_in_the_paper():
    """L_{1→1} has the classes i = j and i ≠ j."""
    A, (weights, biases) = tensor(4, 1, 2), parameters(general_layer, 1, 1)
    others = A.sum(0, keepdim=True) - A
    assert close(general_layer(A, weights, biases, 1), A @ weights[0] + others @ weights[1] + biases[0])


@pytest.mark.parametrize("layer", [general_layer, symmetric_layer, uniform_layer])
@pytest.mark.parametrize(("k", "l"), ORDERS)
def test_equivariance(layer, k, l):
    n, (weights, biases) = 4, parameters(layer, k, l)
    A = tensor(n, k, 2)
    out = layer(A, weights, biases, l, n=n)
    assert out.shape == (*[n] * l, 3)
    for seed in range(3):
        perm = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
        moved = layer(permute_tensor(A, perm), weights, biases, l, n=n)
        assert close(moved, permute_tensor(out, perm))


def test_permute_tensor_moves_entries():
    A, perm = tensor(3, 2, 1), torch.tensor([1, 2, 0])
    moved = permute_tensor(A, perm)
    assert all(torch.equal(moved[perm[i], perm[j]], A[i, j]) for i in range(3) for j in range(3))


@pytest.mark.parametrize(("k", "l"), ORDERS)
def test_uniform_layer_is_equation_3(k, l):
    n, (weights, bias) = 3, parameters(uniform_layer, k, l)
    A = tensor(n, k, 2)
    named = {(k, l, i): w for i, w in enumerate(weights)}
    assert close(uniform_layer(A, weights, bias, l, n=n), slow_equation_5({k: A}, named, {l: bias}, l, n))


@pytest.mark.parametrize(("K", "L", "n"), [(2, 2, 4), (3, 2, 3), (1, 3, 3), (2, 0, 3), (2, 3, 2)])
def test_sequence_layer_is_equation_5(K, L, n):
    tensors, weights, biases = uniform_tensors(n, K, 2), sequence_weights(K, L, 2, 3), sequence_biases(L, 3)
    out = sequence_layer(tensors, weights, biases, L)
    assert sorted(out) == (list(range(1, L + 1)) if L else [0])
    for l, found in out.items():
        assert close(found, slow_equation_5(tensors, weights, biases, l, n))


def test_sequence_layer_is_equivariant():
    n, weights, biases = 5, sequence_weights(3, 3, 2, 3), sequence_biases(3, 3)
    tensors = uniform_tensors(n, 3, 2)
    out = sequence_layer(tensors, weights, biases, [0, 1, 2, 3])
    perm = torch.tensor([3, 0, 4, 1, 2])
    moved = sequence_layer(
        {k: permute_tensor(A, perm) for k, A in tensors.items()}, weights, biases, [0, 1, 2, 3]
    )
    assert all(close(moved[l], permute_tensor(out[l], perm)) for l in out)
    assert close(moved[0], out[0])  # the invariant layer


def test_sequence_layer_takes_functions_and_lists():
    weights, biases = sequence_weights(2, 2, 2, 3), sequence_biases(2, 3)
    tensors = uniform_tensors(4, 2, 2)
    expected = sequence_layer(tensors, weights, biases, 2)
    found = sequence_layer(
        [tensors[1], tensors[2]], lambda k, l, i: weights[k, l, i], lambda l: biases[l], (1, 2)
    )
    assert all(torch.equal(found[l], expected[l]) for l in (1, 2))
    no_bias = sequence_layer(tensors, weights, None, 2)
    assert close(no_bias[1] + biases[1], expected[1])


def test_sequence_layer_with_an_empty_hyperedge():
    n, weights, biases = 3, sequence_weights(2, 2, 2, 3), sequence_biases(2, 3)
    tensors = {0: rand(2), **uniform_tensors(n, 2, 2)}
    out = sequence_layer(tensors, weights, biases, [0, 2])
    assert all(close(out[l], slow_equation_5(tensors, weights, biases, l, n)) for l in out)
    alone = sequence_layer({0: tensors[0]}, weights, None, 2, n=n)
    assert close(alone[1], (tensors[0] @ weights[0, 1, 0]).expand(n, 3))


@pytest.mark.parametrize("layer", [general_layer, symmetric_layer, uniform_layer])
@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize(("k", "l"), [(1, 0), (0, 1), (1, 1), (2, 2), (0, 0)])
def test_zero_and_one_node(layer, n, k, l):
    weights, biases = parameters(layer, k, l)
    out = layer(tensor(n, k, 2), weights, biases, l, n=n)
    assert out.shape == (*[n] * l, 3)
    if n == 0 and l == 0 and k == 1:
        assert close(out, biases.reshape(3))


def test_gradients():
    A = tensor(3, 2, 1).requires_grad_()
    for layer in (general_layer, symmetric_layer, uniform_layer):
        weights, biases = (p.requires_grad_() for p in parameters(layer, 2, 1, 1, 2))
        assert torch.autograd.gradcheck(lambda a, w, b, f=layer: f(a, w, b, 1), (A, weights, biases))


def test_float32():
    out = general_layer(torch.ones(2, 2, 1), torch.ones(5, 1, 1), torch.ones(1, 1), 1)
    assert out.dtype == torch.float32
    assert out.flatten().tolist() == [5.0, 5.0]


A21 = torch.ones(3, 3, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: general_layer(torch.ones(2, 3, 1), A21, None, 1),
            r"shape \[n\]\*k \+ \[d\], got \(2, 3, 1\)",
        ),
        (lambda: general_layer([1.0], A21, None, 1), "A must be a tensor.*got list"),
        (lambda: general_layer(A21, torch.ones(4, 2, 2), None, 1), r"weights must have shape \[5, 2, any\]"),
        (
            lambda: general_layer(A21, torch.ones(5, 2, 2).double(), None, 1),
            "dtype of the input, torch.float32",
        ),
        (
            lambda: general_layer(A21, torch.ones(5, 2, 2), torch.ones(2, 2), 1),
            r"biases must have shape \[1, 2\]",
        ),
        (lambda: general_layer(A21, torch.ones(5, 2, 2), None, -1), "l must be an integer"),
        (lambda: general_layer(A21, torch.ones(5, 2, 2), None, 1, n=4), "A has 3 nodes, expected n=4"),
        (lambda: general_layer(torch.ones(2), torch.ones(1, 2, 2), None, 1), "give n"),
        (lambda: general_layer(torch.ones(9000, 1), torch.ones(2, 1, 1), None, 1), r"9000\^2"),
        (
            lambda: symmetric_layer(A21, torch.ones(5, 2, 2), None, 1),
            r"weights must have shape \[4, 2, any\]",
        ),
        (lambda: symmetric_layer(A21, torch.ones(4, 2, 2), torch.ones(2, 2), 1), "biases must have shape"),
        (lambda: uniform_layer(A21, torch.ones(3, 2, 2), None, 1), r"weights must have shape \[2, 2, any\]"),
        (lambda: uniform_layer(A21, torch.ones(2, 2, 2), torch.ones(3), 1), r"bias must have shape \[2\]"),
        (lambda: permute_tensor(A21, torch.tensor([0, 0, 1])), "perm must be a permutation of 3"),
        (lambda: sequence_layer({}, {}, None, 1), "at least one tensor"),
        (lambda: sequence_layer({1: A21}, {}, None, 1), "the tensor at order 1 has order 2"),
        (lambda: sequence_layer({2: A21}, {}, None, 1), r"weights has no entry \(2, 1, 0\)"),
        (lambda: sequence_layer({2: A21}, {(2, 0, 0): torch.ones(2, 1)}, {}, 0), "biases has no entry 0"),
        (
            lambda: sequence_layer({2: A21}, {(2, 0, 0): torch.ones(3, 1)}, None, 0),
            r"weights\[2, 0, 0\].*\[2, any\]",
        ),
        (
            lambda: sequence_layer([torch.ones(4, 2), A21], {}, None, 0),
            r"one number of nodes, got \['3', '4'\]",
        ),
        (lambda: sequence_layer([torch.ones(3, 1), A21], {}, None, 0), "one width"),
        (lambda: sequence_layer([torch.ones(3, 2).double(), A21], {}, None, 0), "one dtype"),
        (lambda: sequence_layer({2: A21}, {}, None, [-1]), "output order must be an integer"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_weights_of_two_widths_are_refused():
    weights = {(1, 0, 0): torch.ones(2, 1), (2, 0, 0): torch.ones(2, 3)}
    with pytest.raises(ValueError, match="one output width"):
        sequence_layer([torch.ones(3, 2), A21], weights, None, 0)
