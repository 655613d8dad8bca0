"""Features, equality, hashing and display."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from ehnn import Hypergraph, batch
from ehnn.testing.strategies import hypergraphs

QUICK = settings(max_examples=60, deadline=None)


@given(hypergraphs(features=True))
@QUICK
def test_features_of_all(h):
    f = h.features("all")
    n, dv, de = h.num_nodes, h.x.shape[1], h.edge_x.shape[1]
    assert f.shape == (n + h.num_edges, dv + de)
    assert torch.equal(f[:n, :dv], h.x)
    assert torch.equal(f[n:, dv:], h.edge_x)
    assert not f[:n, dv:].any()
    assert not f[n:, :dv].any()
    assert h.features("nodes") is h.x
    assert h.features("edges") is h.edge_x


def test_features_of_all_from_one_side():
    h = Hypergraph.from_edges([[0, 1]], x=[[1.0], [2.0]])
    assert h.features("all").tolist() == [[1.0], [2.0], [0.0]]
    h = Hypergraph.from_edges([[0, 1]], edge_x=[[3.0]])
    assert h.features("all").tolist() == [[0.0], [0.0], [3.0]]


@pytest.mark.parametrize(
    ("family", "message"),
    [
        ("nodes", "no features of 'nodes': x is None"),
        ("edges", "no features of 'edges': edge_x is None"),
        ("all", "no features of 'all': x and edge_x is None"),
        ("hyperedges", "family must be one of .* got 'hyperedges'"),
        (["nodes"], "family must be one of"),
    ],
)
def test_features_that_are_not_there(family, message):
    with pytest.raises(ValueError, match=message):
        Hypergraph.from_edges([[0]]).features(family)


def test_python_floats_take_the_default_dtype_and_arrays_keep_theirs():
    assert Hypergraph.from_edges([[0]], x=[[1.0]]).x.dtype == torch.get_default_dtype()
    assert Hypergraph.from_edges([[0]], x=np.ones((1, 1))).x.dtype == torch.float64
    assert Hypergraph.from_edges([[0]], x=torch.ones(1, 1, dtype=torch.bfloat16)).x.dtype == torch.bfloat16
    assert Hypergraph.from_edges([[0]], y=[3]).y.dtype == torch.int64


def test_read_only_and_reversed_arrays_are_taken_without_a_warning():
    x = np.arange(6.0).reshape(3, 2)
    x.setflags(write=False)
    h = Hypergraph.from_edges([[0, 1, 2]], x=x, y=np.arange(3)[::-1])
    assert torch.equal(h.x, torch.arange(6.0, dtype=torch.float64).reshape(3, 2))
    assert h.y.tolist() == [2, 1, 0]


def test_gradients_flow_through_attributes():
    x = torch.ones(2, 1, requires_grad=True)
    h = Hypergraph.from_edges([[0, 1]], x=x, edge_x=torch.ones(1, 1))
    h.permute_nodes([1, 0]).features("all").sum().backward()
    assert x.grad.tolist() == [[1.0], [1.0]]


# ---------------------------------------------------------------------- equality

FULL = {
    "x": torch.ones(3, 2),
    "edge_x": torch.ones(2, 2),
    "y": torch.tensor([0, 1, 2]),
    "edge_weight": torch.ones(2),
    "incidence_weight": torch.ones(4),
    "node_names": ("a", "b", "c"),
    "edge_names": (1, 2),
}


def full():
    return Hypergraph.from_edges([[0, 1], [1, 2]]).replace(**FULL)


def test_equal():
    assert full() == full()
    assert hash(full()) == hash(full())
    assert len({full(), full()}) == 1


@pytest.mark.parametrize("name", FULL)
def test_every_attribute_counts(name):
    value = FULL[name]
    other = value * 2 if isinstance(value, torch.Tensor) and name != "y" else None
    assert full() != full().replace(**{name: None})
    assert full().replace(**{name: None}) != full()
    if other is not None:
        assert full() != full().replace(**{name: other})
        assert full() != full().replace(**{name: value.double()})


@pytest.mark.parametrize(
    "other",
    [
        Hypergraph.from_edges([[0, 1], [1, 2]], 4),
        Hypergraph.from_edges([[0, 1], [1, 2], []]),
        Hypergraph.from_edges([[0, 1], [0, 2]]),
        Hypergraph.from_edges([[1, 2], [0, 1]]),
        batch([Hypergraph.from_edges([[0, 1], [1, 2]]), Hypergraph.from_edges([])]),
        [[0, 1], [1, 2]],
        None,
    ],
)
def test_not_equal(other):
    assert Hypergraph.from_edges([[0, 1], [1, 2]]) != other


# ---------------------------------------------------------------------- display


@pytest.mark.parametrize(
    ("h", "text"),
    [
        (Hypergraph.from_edges([]), "Hypergraph(0 nodes, 0 hyperedges, 0 incidences)"),
        (Hypergraph.from_edges([[0]]), "Hypergraph(1 node, 1 hyperedge, 1 incidence, order 1)"),
        (
            Hypergraph.from_edges([[0, 1], []]),
            "Hypergraph(2 nodes, 2 hyperedges, 2 incidences, orders 0 to 2)",
        ),
        (batch([]), "Hypergraph(0 nodes, 0 hyperedges, 0 incidences, batch of 0)"),
        (
            Hypergraph.from_edges([[0, 1]], x=[[1.0, 2.0], [3.0, 4.0]], y=[0, 1], edge_weight=[2.0]),
            "Hypergraph(2 nodes, 1 hyperedge, 2 incidences, order 2, x [2, 2] float32, y [2] int64, "
            "edge_weight [1] float32)",
        ),
    ],
)
def test_repr(h, text):
    assert repr(h) == text
