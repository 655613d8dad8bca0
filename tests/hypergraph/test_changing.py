"""Permutations, sub-hypergraphs, replacement and moving: new hypergraphs from old ones."""

import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ehnn import Hypergraph
from ehnn.testing.strategies import batches, hypergraphs

QUICK = settings(max_examples=60, deadline=None)


def random_permutation(draw, size):
    return draw(st.permutations(range(size)))


def weights_of(h):
    """{(node, hyperedge): weight}, or the incidences alone."""
    keys = map(tuple, h.index.T.tolist())
    values = [None] * h.num_incidences if h.incidence_weight is None else h.incidence_weight.tolist()
    return dict(zip(keys, values, strict=True))


def rows_of(value):
    return None if value is None else value.tolist() if isinstance(value, torch.Tensor) else list(value)


# ---------------------------------------------------------------------- permutations


@given(st.one_of(hypergraphs(), batches()), st.data())
@QUICK
def test_permuting_nodes_moves_all_that_belongs_to_them(h, data):
    perm = random_permutation(data.draw, h.num_nodes)
    p = h.permute_nodes(perm)
    assert [sorted(perm[v] for v in e) for e in h.edges()] == p.edges()
    assert weights_of(p) == {(perm[v], e): w for (v, e), w in weights_of(h).items()}
    for name in ("x", "y", "node_names", "node_batch"):
        old, new = rows_of(getattr(h, name)), rows_of(getattr(p, name))
        assert (old is None and new is None) or all(new[perm[v]] == old[v] for v in range(h.num_nodes))
    for name in ("edge_x", "edge_weight", "edge_names", "edge_batch"):
        assert rows_of(getattr(p, name)) == rows_of(getattr(h, name))


@given(st.one_of(hypergraphs(), batches()), st.data())
@QUICK
def test_permuting_hyperedges_moves_all_that_belongs_to_them(h, data):
    perm = random_permutation(data.draw, h.num_edges)
    p = h.permute_edges(perm)
    assert all(p.edges()[perm[e]] == nodes for e, nodes in enumerate(h.edges()))
    assert weights_of(p) == {(v, perm[e]): w for (v, e), w in weights_of(h).items()}
    for name in ("edge_x", "edge_weight", "edge_names", "edge_batch"):
        old, new = rows_of(getattr(h, name)), rows_of(getattr(p, name))
        assert (old is None and new is None) or all(new[perm[e]] == old[e] for e in range(h.num_edges))
    for name in ("x", "y", "node_names", "node_batch"):
        assert rows_of(getattr(p, name)) == rows_of(getattr(h, name))


@given(st.one_of(hypergraphs(), batches()), st.data())
@QUICK
def test_permutations_compose_commute_and_undo(h, data):
    a, b = (torch.tensor(random_permutation(data.draw, h.num_nodes), dtype=torch.int64) for _ in range(2))
    e = torch.tensor(random_permutation(data.draw, h.num_edges), dtype=torch.int64)
    assert h.permute_nodes(a).permute_nodes(b) == h.permute_nodes(b[a])
    assert h.permute_nodes(a).permute_edges(e) == h.permute_edges(e).permute_nodes(a)
    assert h.permute_nodes(a).permute_nodes(torch.argsort(a)) == h
    assert h.permute_edges(e).permute_edges(torch.argsort(e)) == h
    assert h.permute_nodes(range(h.num_nodes)) == h


# ---------------------------------------------------------------------- sub-hypergraphs


@given(hypergraphs(), st.data(), st.booleans())
@QUICK
def test_subhypergraph_against_brute_force(h, data, whole):
    nodes = data.draw(st.permutations(range(h.num_nodes)))[: data.draw(st.integers(0, h.num_nodes))]
    sub = h.subhypergraph(nodes, whole_edges=whole)
    cut = [[v for v in e if v in nodes] for e in h.edges()]
    kept = [e for e, c in enumerate(cut) if c and (not whole or len(c) == len(h.edges()[e]))]
    assert sub.num_nodes == len(nodes)
    assert sub.edges() == [sorted(nodes.index(v) for v in cut[e]) for e in kept]
    old = weights_of(h)
    assert weights_of(sub) == {
        (nodes.index(v), i): old[v, e] for i, e in enumerate(kept) for v in cut[e]
    }  # fmt: skip
    for name, rows in (
        ("x", nodes),
        ("y", nodes),
        ("node_names", nodes),
        ("edge_x", kept),
        ("edge_names", kept),
    ):
        value = rows_of(getattr(h, name))
        assert rows_of(getattr(sub, name)) == (None if value is None else [value[i] for i in rows])


@given(hypergraphs())
@QUICK
def test_subhypergraph_on_all_nodes_drops_only_empty_hyperedges(h):
    sub = h.subhypergraph(range(h.num_nodes))
    assert sub.edges() == [e for e in h.edges() if e]
    assert sub == h.subhypergraph(range(h.num_nodes), whole_edges=True)


def test_subhypergraph_of_a_batch_remembers_its_members():
    from ehnn import batch

    both = batch([Hypergraph.from_edges([[0, 1]]), Hypergraph.from_edges([[0, 1, 2]])])
    sub = both.subhypergraph([4, 3, 0])
    assert sub.num_members == 2
    assert sub.node_batch.tolist() == [1, 1, 0]
    assert [m.edges() for m in sub.unbatch()] == [[[0]], [[0, 1]]]


# ---------------------------------------------------------------------- replace, frozen, copies


def test_replace_changes_attributes_only():
    h = Hypergraph.from_edges([[0, 1], [1]], x=[[1.0], [2.0]])
    new = h.replace(x=None, edge_x=torch.ones(2, 3), y=[0, 1], node_names=["a", "b"])
    assert new.x is None
    assert h.x is not None
    assert new.incidence is h.incidence
    assert new.edge_x.shape == (2, 3)
    assert new.y.tolist() == [0, 1]
    assert new.node_names == ("a", "b")
    assert new.replace() == new


def test_replace_shares_overlaps_and_a_new_structure_does_not():
    h = Hypergraph.from_edges([[0, 1], [1]])
    found = h.overlap("nodes", "edges")
    assert h.overlap("nodes", "edges") is found
    assert h.replace(x=torch.ones(2, 1)).overlap("nodes", "edges") is found
    assert h.permute_nodes([1, 0]).overlap("nodes", "edges") is not found
    assert h.subhypergraph([0, 1]).overlap("nodes", "edges") is not found


def test_frozen():
    import dataclasses

    h = Hypergraph.from_edges([[0]])
    with pytest.raises(dataclasses.FrozenInstanceError):
        h.x = torch.ones(1, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        h.incidence.ptr = torch.zeros(1)


@given(st.one_of(hypergraphs(), batches()))
@QUICK
def test_copies_are_equal(h):
    assert pickle.loads(pickle.dumps(h)) == h
    assert copy.deepcopy(h) == h
    assert copy.copy(h) == h


def test_copies_with_overlaps():
    h = Hypergraph.from_edges([[0, 1], [1]])
    h.overlap("nodes", "edges")
    assert pickle.loads(pickle.dumps(h)) == h
    assert copy.deepcopy(h).overlap("nodes", "edges").num_pairs == 3


def test_to():
    h = Hypergraph.from_edges([[0, 1], [1]], x=[[1.0], [2.0]], y=[0, 1], node_names="ab")
    assert h.to("cpu") is h
    moved = h.to("meta")
    assert {moved.device.type, moved.x.device.type, moved.y.device.type, moved.node_batch.device.type} == {
        "meta"
    }
    assert (moved.num_nodes, moved.num_edges, moved.node_names) == (2, 2, ("a", "b"))
    if torch.cuda.is_available():
        assert h.to("cuda").to("cpu") == h


@pytest.mark.skipif(not torch.cuda.is_available(), reason="page-locked memory needs a GPU")
def test_pin_memory():
    h = Hypergraph.from_edges([[0, 1], [1]], x=[[1.0], [2.0]])
    pinned = h.pin_memory()
    assert pinned.x.is_pinned()
    assert pinned.incidence.t_perm.is_pinned()
    assert pinned == h


def test_a_hypergraph_built_in_inference_mode_can_be_trained_on():
    x = torch.randn(4, 3)
    with torch.inference_mode():
        h = Hypergraph.from_edges([[0, 1, 2], [2, 3]], num_nodes=4, x=x)
    from ehnn.nn.baselines import HGNN

    model = HGNN(3, 2)
    model(h).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
