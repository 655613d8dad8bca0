"""Bad families, the bound on pairs, caching and devices."""

import time

import pytest
import torch

import ehnn
from ehnn import Hypergraph
from ehnn.overlap import Orders, overlap

from .overlap_helpers import assert_valid, found_pairs, odd_hypergraphs

H = Hypergraph.from_edges([[0, 1, 2], [1, 2, 3]], num_nodes=4)


@pytest.mark.parametrize("role", ["source", "target"])
@pytest.mark.parametrize("nodes", [3, 5])
def test_family_over_other_nodes(role, nodes):
    other = Hypergraph.from_edges([[0, 1]], num_nodes=nodes)
    pair = (other, "edges") if role == "source" else ("edges", other)
    told = rf"{role} family must be over the same 4 nodes, got one over {nodes}"
    with pytest.raises(ValueError, match=told):
        overlap(H, *pair)


def test_family_whose_nodes_have_other_names():
    named, other = (Hypergraph.from_edges([[0, 1]], node_names=names) for names in ("ab", "ba"))
    with pytest.raises(ValueError, match="in the same order: node 0 is 'a' here and 'b' there"):
        overlap(named, "edges", other)
    plain = Hypergraph.from_edges([[0, 1]])
    for family in (named, plain, [[0, 1]]):
        assert overlap(named, "edges", family).num_targets == 1


def test_candidate_with_a_node_that_does_not_exist():
    with pytest.raises(ValueError, match="4"):
        overlap(H, "nodes", [[0, 4]])
    with pytest.raises(ValueError, match="-1"):
        overlap(H, "nodes", [[0, -1]])


@pytest.mark.parametrize("role", ["source", "target"])
@pytest.mark.parametrize("name", ["edge", "", "NODES"])
def test_unknown_family(role, name):
    pair = (name, "edges") if role == "source" else ("edges", name)
    with pytest.raises(ValueError, match=rf"{role} family must be one of .*got '{name}'"):
        overlap(H, *pair)


@pytest.mark.parametrize("role", ["source", "target"])
@pytest.mark.parametrize("given", [3, None, True])
def test_a_family_that_is_no_collection(role, given):
    pair = (given, "edges") if role == "source" else ("edges", given)
    with pytest.raises(ValueError, match=rf"{role} family must be .*, a list of hyperedges .*, got {given}"):
        overlap(H, *pair)


def test_candidate_in_two_members():
    pair = ehnn.batch([H, H])
    with pytest.raises(ValueError, match="target family has nodes of two members"):
        overlap(pair, "nodes", [[0, 1], [3, 4]])
    with pytest.raises(ValueError, match="empty candidate in the source family belongs to no member"):
        overlap(pair, [[]], "nodes")


def test_empty_candidates_of_a_batch_come_as_a_batch():
    candidates = ehnn.batch(
        [Hypergraph.from_edges([[]], num_nodes=4), Hypergraph.from_edges([[0]], num_nodes=4)]
    )
    o = overlap(ehnn.batch([H, H]), "nodes", candidates)
    assert o.target_batch.tolist() == [0, 1]
    assert found_pairs(o) == [(1, 1, 4)]


def test_bound_on_pairs_names_the_count():
    # Both hyperedges meet both: four pairs.
    with pytest.raises(ValueError, match=r"up to 4 overlapping pairs between 2 and 2 .*max_pairs=3"):
        overlap(H, "edges", "edges", max_pairs=3)
    assert overlap(H, "edges", "edges", max_pairs=4).num_pairs == 4
    # With nodes on a side the pairs are the incidences, which are there already.
    assert overlap(H, "nodes", "edges", max_pairs=1).num_pairs == 6


def test_billions_of_pairs_are_refused_at_once():
    m = 100_000  # a hub that is in every hyperedge: 10¹⁰ pairs
    edge = torch.arange(m).repeat(2)
    node = torch.cat([torch.zeros(m, dtype=torch.int64), torch.arange(1, m + 1)])
    h = Hypergraph.from_incidence(torch.stack([node, edge]), m + 1, m)
    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"up to 10,000,000,000 overlapping pairs .*max_pairs=200,000,000"):
        h.overlap("edges", "edges")
    assert time.perf_counter() - start < 1
    assert h.overlap("nodes", "edges").num_pairs == 2 * m


def test_named_families_are_kept():
    h = H.replace(y=torch.zeros(4))
    assert h.overlap("nodes", "edges") is h.overlap("nodes", "edges")
    assert h.overlap("nodes", "edges") is not h.overlap("edges", "nodes")
    assert h.replace(x=torch.ones(4, 1)).overlap("nodes", "edges") is h.overlap("nodes", "edges")
    assert h.overlap("nodes", [[0]]) is not h.overlap("nodes", [[0]])
    assert h.permute_nodes([1, 0, 2, 3]).overlap("nodes", "edges") is not h.overlap("nodes", "edges")


@pytest.mark.parametrize("target", ["nodes", "edges", [[0], [1, 2], [3]]])
@pytest.mark.parametrize("source", ["nodes", "edges"])
def test_the_method_has_the_ends_of_the_function(source, target):
    kept, made = H.overlap(source, target), overlap(H, source, target)
    assert (kept.num_sources, kept.num_targets) == (made.num_sources, made.num_targets)
    assert found_pairs(kept) == found_pairs(made)


def test_views_are_kept_and_prepared():
    o = overlap(H, "edges", "all")
    assert o.prepare() is o
    views = ("merged", "source_sizes", "weight_groups", "distinct_source_orders", "distinct_target_orders")
    assert all(view in vars(o) for view in views)
    assert o.source_sizes is o.source_sizes


@pytest.mark.parametrize("name", ["odd", "batch", "nothing"])
def test_to_device_keeps_everything(name):
    o = overlap(odd_hypergraphs()[name], "edges", "all")
    there = o.to("meta")
    assert there.source_to_group.ptr.device.type == "meta"
    assert there.source_orders.index.device.type == there.target_batch.device.type == "meta"
    assert (there.num_groups, there.num_pairs, there.num_members) == (
        o.num_groups,
        o.num_pairs,
        o.num_members,
    )
    assert (there.group_to_target is None, there.source_to_graph is None) == (
        o.group_to_target is None,
        o.source_to_graph is None,
    )
    again = o.to("cpu")
    assert found_pairs(again) == found_pairs(o)
    assert torch.equal(again.source_batch, o.source_batch)


def test_repr_says_what_it_holds():
    assert repr(overlap(H, "edges", "edges")) == "Overlap(2 sources, 2 targets, 4 pairs, 𝓘 2 to 3)"
    assert repr(overlap(H, "nodes", "edges")) == "Overlap(4 sources, 2 targets, 6 pairs, 𝓘 1)"
    assert repr(overlap(H, "graph", "edges")) == "Overlap(1 source, 2 targets, 0 pairs)"
    assert repr(H.incidence) == "SparsePattern(2 rows, 4 columns, 6 pairs)"
    assert repr(H.replace(incidence_weight=torch.arange(6.0)).overlap().merged).startswith(
        "WeightedPattern(2"
    )
    assert repr(overlap(H, "edges", "edges").sizes) == "Orders(4 rows, values [2, 3])"
    assert repr(Orders.of(torch.arange(9))) == "Orders(9 rows, values [0, 1, 2, 3, 4, 5, 6, 7], … 9 in all)"


def test_orders_share_distinct_values():
    orders = Orders.of(torch.tensor([3, 1, 3, 2]))
    assert orders.values.tolist() == [1, 2, 3]
    assert orders.expand().tolist() == [3, 1, 3, 2]
    assert orders.index.tolist() == [2, 0, 2, 1]
    assert_valid(orders.pairs)
    assert len(orders) == 4
    assert Orders.constant(5, 3, torch.device("cpu")).expand().tolist() == [5, 5, 5]
    assert Orders.constant(5, 0, torch.device("cpu")).expand().tolist() == []
    assert orders.to("meta").index.device.type == "meta"
