import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ehnn import Hypergraph, batch
from ehnn.hypergraph.pairs import pairs_from_coo
from ehnn.testing.strategies import members

QUICK = settings(max_examples=60, deadline=None)


@given(members())
@QUICK
def test_a_batch_is_the_disjoint_union(hs):
    b = batch(hs)
    starts = [sum(h.num_nodes for h in hs[:i]) for i in range(len(hs))]
    assert b.num_members == len(hs)
    assert b.num_nodes == sum(h.num_nodes for h in hs)
    shifted = [[v + s for v in e] for h, s in zip(hs, starts, strict=True) for e in h.edges()]
    assert b.edges() == shifted
    assert b.node_batch.tolist() == [i for i, h in enumerate(hs) for _ in range(h.num_nodes)]
    assert b.edge_batch.tolist() == [i for i, h in enumerate(hs) for _ in range(h.num_edges)]
    for name in ("x", "edge_x", "y", "edge_weight", "incidence_weight"):
        parts = [getattr(h, name) for h in hs]
        if hs and parts[0] is not None:
            assert torch.equal(getattr(b, name), torch.cat(parts))
        else:
            assert getattr(b, name) is None


@given(members())
@QUICK
def test_the_column_order_of_a_batch_is_what_sorting_gives(hs):
    p = batch(hs).incidence
    sorted_again, _ = pairs_from_coo(p.rows, p.index, p.num_rows, p.num_cols)
    for name in ("ptr", "index", "t_ptr", "t_index", "t_perm"):
        assert torch.equal(getattr(p, name), getattr(sorted_again, name))


@given(members())
@QUICK
def test_unbatch_gives_the_members_back(hs):
    assert batch(hs).unbatch() == hs


@given(members(), members())
@QUICK
def test_a_batch_of_batches_is_the_batch_of_all(first, second):
    attributes = ("x", "edge_x", "y", "edge_weight", "incidence_weight")
    bare = [[h.replace(**dict.fromkeys(attributes)) for h in hs] for hs in (first, second)]
    bare = [[h.replace(node_names=None, edge_names=None) for h in hs] for hs in bare]
    nested = batch([batch(bare[0]), batch(bare[1])])
    assert nested == batch(bare[0] + bare[1])
    assert nested.unbatch() == bare[0] + bare[1]


@given(members(), st.data())
@QUICK
def test_unbatch_of_a_permuted_batch_keeps_the_order_of_what_moved(hs, data):
    b = batch(hs)
    nodes = data.draw(st.permutations(range(b.num_nodes)))
    edges = data.draw(st.permutations(range(b.num_edges)))
    mixed = b.permute_nodes(nodes).permute_edges(edges).unbatch()
    start_node = start_edge = 0
    for h, found in zip(hs, mixed, strict=True):
        mine = nodes[start_node : start_node + h.num_nodes]
        mine_edges = edges[start_edge : start_edge + h.num_edges]
        rank = [sorted(mine).index(v) for v in mine]
        edge_rank = [sorted(mine_edges).index(e) for e in mine_edges]
        assert found == h.permute_nodes(rank).permute_edges(edge_rank)
        start_node, start_edge = start_node + h.num_nodes, start_edge + h.num_edges


def test_the_empty_batch():
    b = batch([])
    assert (b.num_members, b.num_nodes, b.num_edges) == (0, 0, 0)
    assert b.unbatch() == []
    assert batch([b, b]) == b


def test_a_batch_of_one_is_that_one():
    h = Hypergraph.from_edges([[0, 1], []], 3, x=torch.ones(3, 1), node_names="abc")
    assert batch([h]) == h
    assert h.unbatch() == [h]


def test_batches_of_empty_members():
    nothing = Hypergraph.from_edges([])
    b = batch([nothing, Hypergraph.from_edges([[0]], 2), nothing])
    assert b.num_members == 3
    assert [m.num_nodes for m in b.unbatch()] == [0, 2, 0]


def test_names_are_kept_only_if_all_members_have_them():
    a, b = Hypergraph.from_edges([[0]], node_names=["u"]), Hypergraph.from_edges([[0]])
    assert batch([a, b]).node_names is None
    assert batch([a, a]).node_names == ("u", "u")


def test_any_iterable_of_hypergraphs_will_do():
    h = Hypergraph.from_edges([[0]])
    assert batch(iter([h, h])) == batch((h, h)) == batch([h, h])


@pytest.mark.parametrize(
    ("hs", "message"),
    [
        (3, "a sequence of Hypergraphs, got int"),
        (Hypergraph.from_edges([[0]]), "a sequence of Hypergraphs, got Hypergraph"),
        ([Hypergraph.from_edges([[0]]), [[0]]], "got list at index 1"),
        (
            [Hypergraph.from_edges([[0]], x=[[1.0]]), Hypergraph.from_edges([[0]])],
            "x must be in all members of a batch or in none; member 1 has none",
        ),
        (
            [Hypergraph.from_edges([[0]], x=[[1.0]]), Hypergraph.from_edges([[0]], x=[[1.0, 2.0]])],
            r"x must have one width in all members of a batch, got \[\(1,\), \(2,\)\]",
        ),
        ([Hypergraph.from_edges([[0]]), Hypergraph.from_edges([[0]]).to("meta")], "one device, got"),
    ],
)
def test_what_cannot_be_batched(hs, message):
    with pytest.raises(ValueError, match=message):
        batch(hs)
