"""The testers pass what is equivariant and fail what is not."""

import pytest
import torch
from hypothesis import given, settings
from torch import nn

from ehnn import Hypergraph, batch
from ehnn.testing import assert_equivariant, assert_invariant, random_hypergraph
from ehnn.testing.strategies import batches, hypergraphs

QUICK = settings(max_examples=15, deadline=None)


@pytest.fixture
def h():
    return random_hypergraph(7, 5, orders=(1, 4), seed=1, d_node=3, d_edge=2)


def edge_sums(h):
    node, edge = h.index
    return h.x.new_zeros(h.num_edges, h.x.shape[1]).index_add(0, edge, h.x[node])


def all_sums(h):
    node, edge = h.index
    back = h.x.new_zeros(h.num_nodes, h.x.shape[1]).index_add(0, node, edge_sums(h)[edge])
    return torch.cat([back, edge_sums(h)])


def member_sums(h):
    return h.x.new_zeros(h.num_members, h.x.shape[1]).index_add(0, h.node_batch, h.x)


class Sum(nn.Module):
    """layer(x, overlap): the sum over the sources that meet a target, and the pool of everything."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.linear = nn.Linear(d_in, d_out)

    def forward(self, x, overlap):
        target, source, size = overlap.pairs()
        out = x.new_zeros(overlap.num_targets, x.shape[1])
        return self.linear(out.index_add(0, target, x[source] * size[:, None])) + x.sum()


EQUIVARIANT = {
    "degrees": (lambda h: h.degrees, "nodes"),
    "orders": (lambda h: h.orders, "edges"),
    "features": (lambda h: h.features("all"), "all"),
    "node features": (lambda h: h.x, "nodes"),
    "sums": (edge_sums, "edges"),
    "sums both ways": (all_sums, "all"),
    "a constant": (lambda h: torch.ones(h.num_nodes, 2, 2), "nodes"),
    "bool": (lambda h: h.orders > 2, "edges"),
    "infinite": (lambda h: torch.full((h.num_nodes,), -torch.inf), "nodes"),
}
NOT_EQUIVARIANT = {
    "node numbers": (lambda h: torch.arange(h.num_nodes), "nodes", "nodes"),
    "edge numbers": (lambda h: torch.arange(h.num_edges), "edges", "hyperedges"),
    "position": (lambda h: h.x * torch.arange(h.num_nodes)[:, None], "nodes", "nodes"),
    "cumulative sums": (lambda h: h.x.cumsum(0), "nodes", "nodes"),
    "first node": (lambda h: edge_sums(h) + h.x[0], "edges", "nodes"),
    "first hyperedge": (lambda h: h.x + h.edge_x[0, 0], "nodes", "hyperedges"),
    "sorted": (lambda h: h.x.sort(0).values, "nodes", "nodes"),
    "edges in all": (lambda h: torch.cat([h.x[:, 0], torch.arange(1.0 * h.num_edges)]), "all", "hyperedges"),
    "first in its hyperedge": (lambda h: h.x[h.incidence.index[h.incidence.ptr[:-1]]], "edges", "nodes"),
}


@pytest.mark.parametrize("name", EQUIVARIANT)
def test_equivariant_functions_pass(name, h):
    fn, target = EQUIVARIANT[name]
    assert_equivariant(fn, h, target=target)
    assert_equivariant(fn, batch([h, h.permute_nodes([1, 0, 2, 3, 4, 5, 6])]), target=target)


@pytest.mark.parametrize("name", NOT_EQUIVARIANT)
def test_other_functions_fail_and_the_message_says_where(name, h):
    fn, target, what = NOT_EQUIVARIANT[name]
    place = r"\(trial 1 of 3, seed 0\)"
    message = (
        rf"not equivariant to a permutation of the {what} {place}\n  perm of the {what}: \[.*\n.*differ in"
    )
    with pytest.raises(AssertionError, match=message):
        assert_equivariant(fn, h, target=target)


@given(hypergraphs(features=True))
@QUICK
def test_equivariant_on_any_hypergraph(h):
    assert_equivariant(all_sums, h, target="all")
    assert_invariant(member_sums, h)


@given(batches(max_members=3))
@QUICK
def test_equivariant_on_any_batch(h):
    assert_equivariant(lambda h: h.node_batch, h, target="nodes")
    assert_equivariant(lambda h: h.edge_batch, h, target="edges")
    assert_invariant(lambda h: h.node_batch.bincount(minlength=h.num_members), h)


@pytest.mark.parametrize("size", [2, 3])
def test_even_two_nodes_are_told_apart(size):
    h = Hypergraph.from_edges([list(range(size))])
    for seed in range(5):
        with pytest.raises(AssertionError, match="permutation of the nodes"):
            assert_equivariant(lambda h: torch.arange(h.num_nodes), h, trials=1, seed=seed)


# ---------------------------------------------------------------------- layers


@pytest.mark.parametrize("source", ["nodes", "edges", "all"])
@pytest.mark.parametrize("target", ["nodes", "edges", "all"])
def test_layers(h, source, target):
    torch.manual_seed(0)
    layer = Sum(h.features(source).shape[1], 4)
    assert_equivariant(layer, h, source, target)
    assert_equivariant(layer.double(), _double(h), source, target)


def _double(h):
    return h.replace(x=h.x.double(), edge_x=h.edge_x.double())


def test_layers_that_are_not(h):
    def first_source(x, overlap):
        return x[:1].expand(overlap.num_targets, -1)

    with pytest.raises(AssertionError, match="permutation of the nodes"):
        assert_equivariant(first_source, h, source="nodes", target="edges")


def test_a_layer_needs_features(h):
    with pytest.raises(ValueError, match="no features of 'edges'"):
        assert_equivariant(Sum(2, 2), h.replace(edge_x=None), source="edges", target="nodes")


def test_dropout_is_named(h):
    module = nn.Dropout(0.5)
    with pytest.raises(
        AssertionError, match=r"not deterministic.* call .eval\(\) first\n  the second call and the first"
    ):
        assert_equivariant(lambda h: module(h.x), h)
    module.eval()
    assert_equivariant(lambda h: module(h.x), h)


# ---------------------------------------------------------------------- invariance


@pytest.mark.parametrize(
    "fn",
    [
        lambda h: h.x.sum(0),
        lambda h: h.num_edges,
        lambda h: 0.5,
        lambda h: h.orders.sort().values,
        member_sums,
        lambda h: edge_sums(h).square().sum(),
        lambda h: torch.zeros(0),
    ],
)
def test_invariant_functions_pass(fn, h):
    assert_invariant(fn, h)


@pytest.mark.parametrize(
    ("fn", "what"),
    [
        (lambda h: h.x, "nodes"),
        (lambda h: h.x[0], "nodes"),
        (lambda h: h.orders, "hyperedges"),
        (lambda h: (h.edge_x * torch.arange(h.num_edges)[:, None]).sum(), "hyperedges"),
        (lambda h: int(h.incidence.index[0]), "nodes"),
    ],
)
def test_functions_that_are_not_invariant_fail(fn, what, h):
    with pytest.raises(AssertionError, match=f"not invariant to a permutation of the {what} "):
        assert_invariant(fn, h)


# ---------------------------------------------------------------------- numbers and messages


def test_the_error_is_measured(h):
    def fn(h):
        return h.x * 0 + 0.25 * torch.arange(h.num_nodes)[:, None]

    with pytest.raises(AssertionError, match=r"by up to 1.*\(allowed 0.00015\)\n  first at \[\d, 0\]"):
        assert_equivariant(fn, h)
    assert_equivariant(fn, h, tolerance=2.0)


def test_float_rounding_passes_and_integers_must_agree(h):
    noise = {0: 0.0}

    def nearly(h):
        noise[0] += 1e-7
        return h.x + noise[0]

    assert_equivariant(nearly, h)
    with pytest.raises(AssertionError, match="not deterministic"):
        assert_equivariant(nearly, h, tolerance=0.0)


def test_large_integers_and_complex_numbers_are_compared_whole(h):
    with pytest.raises(AssertionError, match="differ in"):
        assert_invariant(lambda h: 2**60 + h.index[0, 0], h)
    with pytest.raises(AssertionError, match="differ in"):
        assert_equivariant(lambda h: 1j * torch.arange(h.num_nodes), h)
    assert_equivariant(lambda h: h.degrees * (1 + 1j), h)


def test_nan_fails(h):
    with pytest.raises(AssertionError, match=r"f\(h\) has NaN in 21 of 21 entries"):
        assert_equivariant(lambda h: h.x * torch.nan, h)


def test_wrong_rows_fail(h):
    with pytest.raises(
        AssertionError, match=r"one row for each of the 5 items of target 'edges' .* \(7, 3\)"
    ):
        assert_equivariant(lambda h: h.x, h, target="edges")
    with pytest.raises(AssertionError, match=r"got shape \(\)"):
        assert_equivariant(lambda h: h.x.sum(), h)


def test_a_shape_that_depends_on_numbers_fails(h):
    with pytest.raises(AssertionError, match="f\\(π·h\\) has shape"):
        assert_invariant(lambda h: torch.zeros(int(h.incidence.index[0]) + 2 * int(h.incidence.index[-1])), h)


def test_bad_arguments(h):
    with pytest.raises(ValueError, match=r"target must be one of .* got 'hyperedges'"):
        assert_equivariant(lambda h: h.x, h, target="hyperedges")
    with pytest.raises(ValueError, match="source must be one of"):
        assert_equivariant(lambda h: h.x, h, source="node")
    with pytest.raises(ValueError, match="trials must be at least 1, got 0"):
        assert_equivariant(lambda h: h.x, h, trials=0)
    with pytest.raises(ValueError, match="must give a tensor, got list"):
        assert_invariant(lambda h: h.edges(), h)


def test_long_permutations_are_cut():
    h = random_hypergraph(100, 3, seed=0)
    with pytest.raises(AssertionError, match="… 100 in all"):
        assert_equivariant(lambda h: torch.arange(h.num_nodes), h)


def test_no_gradient_is_recorded(h):
    seen = []
    assert_equivariant(lambda h: seen.append(torch.is_grad_enabled()) or h.x, h)
    assert set(seen) == {False}
