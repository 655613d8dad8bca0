"""EHNNLinear against the dense layer of `ehnn.algebra`, in float64: outputs and every gradient."""

from itertools import combinations
from math import factorial

import pytest
import torch

from ehnn import Hypergraph
from ehnn.algebra import read_hyperedges, sequence_layer, to_tensor_sequence
from ehnn.nn import EHNNLinear
from ehnn.ops import explain
from ehnn.ops.generated_matmul import chunked

D_IN, D_OUT, NODES, TOP = 2, 3, 6, 4
TOLERANCE = {"atol": 1e-10, "rtol": 1e-10}


def distinct_edges(seed, count, low, high):
    """``count`` different hyperedges; the first three share 4, 3 and 2 nodes with one another."""
    sets = [list(c) for k in range(low, high + 1) for c in combinations(range(NODES), k)]
    order = torch.randperm(len(sets), generator=torch.Generator().manual_seed(seed)).tolist()
    fixed = [[0, 1, 2, 3], [0, 1, 2, 4], [1, 2, 5]] if high == TOP else []
    return (fixed + [sets[i] for i in order if sets[i] not in fixed])[:count]


def make_layer(kind, seed=0):
    torch.manual_seed(seed)
    orders = {"source_orders": range(TOP + 1), "target_orders": range(TOP + 1)} if kind == "lookup" else {}
    layer = EHNNLinear(D_IN, D_OUT, weights=kind, **orders).double()
    with torch.no_grad():  # biases start at zero
        for p in layer.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return layer


def dense(layer, tensors, targets):
    """The dense layer read at the hyperedges of ``targets``; the k! of the tensors is divided out here."""
    orders = sorted({len(e) for e in targets.edges()})
    out = sequence_layer(tensors, lambda k, l, i: layer.weight(k, l, i) / factorial(k), layer.bias, orders)
    return read_hyperedges(out, targets)


def assert_equal_with_gradients(layer, x, sparse, exact):
    leaves = [x, *layer.parameters()]
    a, b = sparse(), exact()
    torch.testing.assert_close(a, b, **TOLERANCE)
    probe = torch.randn(a.shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    got, want = (torch.autograd.grad(y, leaves, probe, allow_unused=True) for y in (a, b))
    names = ["x", *(name for name, _ in layer.named_parameters())]
    for name, g, w in zip(names, got, want, strict=True):
        zero = torch.zeros(())
        torch.testing.assert_close(
            zero if g is None else g, zero.expand_as(g) if w is None else w, **TOLERANCE, check_dtype=False,
            msg=lambda m, name=name: f"gradient of {name}: {m}",
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["lookup", "hypernetwork"])
@pytest.mark.parametrize("seed", range(3))
def test_edges_to_edges(kind, seed):
    layer = make_layer(kind, seed)
    h = Hypergraph.from_edges(distinct_edges(seed, 12, 0 if seed == 0 else 1, TOP), num_nodes=NODES)
    assert int(h.overlap("edges", "edges").sizes.values.max()) == 4
    x = torch.randn(h.num_edges, D_IN, dtype=torch.float64, requires_grad=True)
    assert_equal_with_gradients(
        layer,
        x,
        lambda: layer(x, h.overlap("edges", "edges")),
        lambda: dense(layer, to_tensor_sequence(h, x), h),
    )


@pytest.mark.parametrize("kind", ["lookup", "hypernetwork"])
def test_edges_to_candidates_outside(kind):
    layer = make_layer(kind)
    edges = distinct_edges(3, 16, 1, TOP)
    h = Hypergraph.from_edges(edges[:8], num_nodes=NODES)
    candidates = Hypergraph.from_edges([*edges[8:], [], edges[0]], num_nodes=NODES)
    x = torch.randn(8, D_IN, dtype=torch.float64, requires_grad=True)
    assert_equal_with_gradients(
        layer,
        x,
        lambda: layer(x, h.overlap("edges", candidates.edges())),
        lambda: dense(layer, to_tensor_sequence(h, x), candidates),
    )


@pytest.mark.parametrize("kind", ["lookup", "hypernetwork"])
@pytest.mark.parametrize("target", ["edges", "nodes", "graph"])
def test_from_nodes(kind, target):
    layer = make_layer(kind)
    h = Hypergraph.from_edges(distinct_edges(1, 9, 1, TOP), num_nodes=NODES)
    targets = {"edges": h, "nodes": singletons(), "graph": Hypergraph.from_edges([[]], num_nodes=NODES)}[
        target
    ]
    x = torch.randn(NODES, D_IN, dtype=torch.float64, requires_grad=True)
    assert_equal_with_gradients(
        layer, x, lambda: layer(x, h.overlap("nodes", target)), lambda: dense(layer, {1: x}, targets)
    )


@pytest.mark.parametrize("kind", ["lookup", "hypernetwork"])
@pytest.mark.parametrize("target", ["nodes", "graph"])
def test_edges_to_nodes_and_to_the_graph(kind, target):
    layer = make_layer(kind)
    h = Hypergraph.from_edges(distinct_edges(2, 9, 1, TOP), num_nodes=NODES)
    targets = {"nodes": singletons(), "graph": Hypergraph.from_edges([[]], num_nodes=NODES)}[target]
    x = torch.randn(9, D_IN, dtype=torch.float64, requires_grad=True)
    assert_equal_with_gradients(
        layer,
        x,
        lambda: layer(x, h.overlap("edges", target)),
        lambda: dense(layer, to_tensor_sequence(h, x), targets),
    )


@pytest.mark.parametrize("kind", ["lookup", "hypernetwork"])
def test_all_to_all(kind):
    """A node is a hyperedge of order 1, so the hyperedges here have orders 2 and above."""
    layer = make_layer(kind)
    h = Hypergraph.from_edges(distinct_edges(4, 9, 2, TOP), num_nodes=NODES)
    together = Hypergraph.from_edges([*[[v] for v in range(NODES)], *h.edges()], num_nodes=NODES)
    x = torch.randn(NODES + 9, D_IN, dtype=torch.float64, requires_grad=True)
    assert_equal_with_gradients(
        layer,
        x,
        lambda: layer(x, h.overlap("all", "all")),
        lambda: dense(layer, to_tensor_sequence(h, x[NODES:], node_features=x[:NODES]), together),
    )


@pytest.mark.parametrize("kind", ["lookup", "hypernetwork"])
def test_few_matrices_at_a_time(kind, monkeypatch):
    """The chunked path, which makes its matrices again in the backward pass, gives the same."""
    layer = make_layer(kind)
    h = Hypergraph.from_edges(distinct_edges(0, 12, 0, TOP), num_nodes=NODES)
    x = torch.randn(12, D_IN, dtype=torch.float64, requires_grad=True)
    overlap = h.overlap("edges", "all")
    whole = layer(x, overlap)
    slopes = torch.autograd.grad(whole.square().sum(), [x, *layer.parameters()])
    monkeypatch.setattr(chunked, "MOST", 3 * D_IN * D_OUT)
    assert overlap.weight_groups.values.shape[0] > 6
    found = explain(layer, x, overlap, quiet=True)
    assert found.ran("generated_matmul") == found.ran("generated_mix") == {"chunked"}
    part = layer(x, overlap)
    torch.testing.assert_close(part, whole, **TOLERANCE)
    for a, b in zip(torch.autograd.grad(part.square().sum(), [x, *layer.parameters()]), slopes, strict=True):
        torch.testing.assert_close(a, b, **TOLERANCE)


def test_ablations_drop_their_terms():
    h = Hypergraph.from_edges(distinct_edges(0, 6, 1, TOP), num_nodes=NODES)
    x, overlap = torch.randn(6, D_IN, dtype=torch.float64), h.overlap("edges", "edges")
    layer = make_layer("lookup")
    y = layer(x, overlap)
    layer.global_interaction = False
    orders = h.orders.tolist()
    for j, l in enumerate(orders):
        pooled = sum(x[i] @ layer.weight(k, l, 0) for i, k in enumerate(orders))
        torch.testing.assert_close(y[j] - layer(x, overlap)[j], pooled, **TOLERANCE)


def test_mean_divides_by_the_sources_of_a_triplet():
    h = Hypergraph.from_edges([[0, 1, 2], [0, 3], [1, 3]], num_nodes=4)
    torch.manual_seed(0)
    layer = EHNNLinear(2, 3, aggregation="mean").double()
    x = torch.randn(3, 2, dtype=torch.float64)
    y = layer(x, h.overlap("edges", [[0, 1, 2]]))
    pair = x[1:].mean(0)
    want = x[0] @ (layer.weight(3, 3, 3) + layer.weight(3, 3, 0)) + pair @ layer.weight(2, 3, 1)
    want = want + pair @ layer.weight(2, 3, 0) + layer.bias(3)
    torch.testing.assert_close(y[0], want, **TOLERANCE)


def singletons():
    return Hypergraph.from_edges([[v] for v in range(NODES)], num_nodes=NODES)
