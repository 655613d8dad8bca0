from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ehnn import Hypergraph, batch
from ehnn.algebra import UniformHypergraph, permute_tensor, read_hyperedges, to_tensor, to_tensor_sequence
from ehnn.algebra.conversions import from_tensor, from_tensor_sequence
from ehnn.algebra.uniform_sequence import from_uniform_sequence, to_uniform_sequence

from .algebra_helpers import close, rand, random_hypergraph, uniform


@st.composite
def hypergraphs(draw):
    n = draw(st.integers(0, 5))
    nodes = st.frozensets(st.integers(0, max(n - 1, 0)), max_size=min(n, 4))
    edges = draw(st.lists(nodes, unique=True, max_size=8)) if n else draw(st.sampled_from([[], [()]]))
    return Hypergraph.from_edges(edges, num_nodes=n, edge_x=1.0 + torch.rand(len(edges), 2).double())


def content(h):
    return {frozenset(e): x.tolist() for e, x in zip(h.edges(), h.edge_x, strict=True)}


@settings(max_examples=60, deadline=None)
@given(hypergraphs())
def test_round_trips(h):
    sequence = to_uniform_sequence(h)
    assert sorted(sequence)[-1] == max([1, *h.orders.tolist()])
    for back in (from_uniform_sequence(sequence), from_tensor_sequence(to_tensor_sequence(h))):
        assert back.num_nodes == h.num_nodes
        assert back.edge_x.shape[1] == 2
        assert content(back) == content(h)
        assert back.orders.tolist() == sorted(h.orders.tolist())
    assert torch.equal(read_hyperedges(to_tensor_sequence(h), h), h.edge_x)


@pytest.mark.parametrize(("n", "k"), [(4, 1), (4, 2), (4, 3), (4, 4), (3, 0), (2, 3), (0, 1)])
def test_definition_2(n, k):
    u = uniform(n, k, 2, keep=0.6 if k else 2.0)
    A = to_tensor(u)
    features = dict(zip(map(frozenset, u.edges.tolist()), u.features, strict=True))
    for i in product(range(n), repeat=k):
        expected = features.get(frozenset(i)) if len(set(i)) == k else None
        assert torch.equal(A[i], torch.zeros(2).double() if expected is None else expected)
    back = from_tensor(A, num_nodes=n)
    assert back.num_nodes == n
    assert back.order == k
    assert torch.equal(back.edges, u.edges)
    assert torch.equal(back.features, u.features)


def test_sequence_keeps_positions_within_an_order():
    h = Hypergraph.from_edges([[2, 1], [0], [3, 0], []], num_nodes=4, edge_x=[[1.0], [2.0], [3.0], [4.0]])
    sequence = to_uniform_sequence(h, max_order=3)
    assert {k: u.edges.tolist() for k, u in sequence.items()} == {
        0: [[]],
        1: [[0]],
        2: [[1, 2], [0, 3]],
        3: [],
    }
    assert sequence[2].features.tolist() == [[1.0], [3.0]]
    assert from_uniform_sequence(sequence).edges() == [[], [0], [1, 2], [0, 3]]


def test_zero_features_cannot_come_back_but_can_be_read():
    h = Hypergraph.from_edges([[0, 1], [1, 2]], edge_x=torch.tensor([[0.0], [1.0]]))
    tensors = to_tensor_sequence(h)
    assert from_tensor_sequence(tensors).edges() == [[1, 2]]
    assert read_hyperedges(tensors, h).tolist() == [[0.0], [1.0]]


def test_empty_hypergraphs():
    for n in (0, 1, 3):
        h = Hypergraph.from_edges([], num_nodes=n, edge_x=torch.zeros(0, 2))
        tensors = to_tensor_sequence(h)
        assert {k: tuple(A.shape) for k, A in tensors.items()} == {1: (n, 2)}
        assert from_tensor_sequence(tensors) == h
        assert to_tensor_sequence(h, max_order=3)[3].shape == (n, n, n, 2)
        assert read_hyperedges(tensors, h).shape == (0, 2)
        assert to_tensor_sequence(h, max_order=0) == {}


def test_node_features_as_first_order():
    h = random_hypergraph(4, 3, 2, low=2).replace(x=rand(4, 2))
    tensors = to_tensor_sequence(h, node_features=h.x)
    assert torch.equal(tensors[1], h.x)
    back = from_tensor_sequence(tensors, nodes=True)
    assert torch.equal(back.x, h.x)
    assert content(back) == content(h)
    assert sorted(from_tensor_sequence(tensors).orders.tolist())[:4] == [1, 1, 1, 1]


def test_features_argument_and_permutation():
    h = random_hypergraph(5, 3, 1)
    features, perm = rand(h.num_edges, 3), torch.tensor([4, 2, 0, 1, 3])
    tensors = to_tensor_sequence(h, features)
    moved = to_tensor_sequence(h.permute_nodes(perm), features)
    assert all(torch.equal(moved[k], permute_tensor(tensors[k], perm)) for k in tensors)


def test_gradients_count_arrangements():
    h = Hypergraph.from_edges([[0], [1, 2], [0, 1, 2]])
    features = rand(3, 1).requires_grad_()
    sum(A.sum() for A in to_tensor_sequence(h, features).values()).backward()
    assert close(features.grad.flatten(), torch.tensor([1.0, 2.0, 6.0]).double())


def test_a_list_of_tensors_is_orders_one_and_up():
    tensors = to_tensor_sequence(random_hypergraph(4, 2, 1))
    assert from_tensor_sequence([tensors[1], tensors[2]]) == from_tensor_sequence(tensors)
    assert from_tensor_sequence({0: torch.ones(2)}, num_nodes=3).edges() == [[]]


PAIR = Hypergraph.from_edges([[0, 1]], num_nodes=3, edge_x=torch.ones(1, 1))
BIG = Hypergraph.from_edges([range(9)], num_nodes=40, edge_x=torch.ones(1, 1))
HUGE = Hypergraph.from_edges([range(5000)], edge_x=torch.ones(1, 1))
OFF_DIAGONAL = torch.zeros(2, 2, 1).index_fill(0, torch.tensor(0), 1.0)


def edges_of(*edges, n=3):
    return UniformHypergraph(n, torch.tensor(edges), torch.ones(len(edges), 1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: to_uniform_sequence(Hypergraph.from_edges([[0, 1], [1, 0]]), torch.ones(2, 1)),
            r"repeat: \[0, 1\]",
        ),
        (
            lambda: to_tensor_sequence(Hypergraph.from_edges([[], []]), torch.ones(2, 1)),
            "repeat: the empty hyperedge",
        ),
        (lambda: to_uniform_sequence([[0, 1]]), "h must be a Hypergraph, got list"),
        (lambda: to_uniform_sequence(batch([PAIR, PAIR])), "batch of 2"),
        (lambda: to_uniform_sequence(PAIR, max_order=1), "max_order=1 is below the order 2"),
        (lambda: to_uniform_sequence(PAIR, torch.ones(2, 1)), r"one row per hyperedge \(1\), got 2"),
        (lambda: to_uniform_sequence(Hypergraph.from_edges([[0, 1]])), "features are needed"),
        (lambda: to_tensor_sequence(BIG), r"40\^9·1 = 262,144,000,000,000 dense entries"),
        (lambda: to_tensor_sequence(HUGE), "order 5000"),
        (lambda: to_tensor_sequence(PAIR, node_features=torch.ones(2, 1)), r"one row per node \(3\), got 2"),
        (lambda: to_tensor_sequence(PAIR, node_features=torch.ones(3, 2)), "width 1 and dtype torch.float32"),
        (
            lambda: to_tensor_sequence(
                Hypergraph.from_edges([[0]]), torch.ones(1, 1), node_features=torch.ones(1, 1)
            ),
            r"\[0\] is also a node",
        ),
        (lambda: to_tensor(edges_of([0, 0])), r"2 distinct nodes, got \[0, 0\]"),
        (lambda: to_tensor(edges_of([0, 3])), r"nodes must be in 0 … 2, got 0 … 3"),
        (lambda: to_tensor(edges_of([0, 1], [1, 0])), r"repeat: \[0, 1\]"),
        (lambda: to_tensor(edges_of([0.0, 1.0])), "int64 tensor of shape"),
        (lambda: to_tensor(edges_of([0, 1])._replace(features=torch.ones(2, 1))), "one row per hyperedge"),
        (lambda: from_uniform_sequence({3: edges_of([0, 1])}), "at order 3 has order 2"),
        (
            lambda: from_uniform_sequence({1: edges_of([0]), 2: edges_of([0, 1], n=4)}),
            r"one number of nodes, got \[3, 4\]",
        ),
        (lambda: from_uniform_sequence({}), "one number of nodes, got"),
        (lambda: from_tensor(OFF_DIAGONAL), "symmetric, but exchanging its axes 0 and 1"),
        (lambda: from_tensor(torch.eye(2).unsqueeze(2)), r"zero where nodes repeat, but is not at \[0, 0\]"),
        (lambda: from_tensor(torch.full((2, 1), torch.nan)), "finite"),
        (lambda: from_tensor(torch.ones(2)), "give num_nodes"),
        (lambda: from_tensor_sequence({2: torch.zeros(2, 2, 1)}, nodes=True), r"no A\^\(1\)"),
        (lambda: read_hyperedges({1: torch.ones(3, 1)}, PAIR), "order 2, but the tensors have orders"),
        (lambda: read_hyperedges({1: torch.ones(4, 1)}, PAIR), "has 4 nodes, expected n=3"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
