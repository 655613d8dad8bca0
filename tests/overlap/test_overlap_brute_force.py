"""Every pair of families against Python sets."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ehnn import Hypergraph
from ehnn.overlap import overlap
from ehnn.testing.strategies import batches, hypergraphs

from .overlap_helpers import assert_valid, brute_pairs, dense, family_sets, found_pairs, odd_hypergraphs

HYPERGRAPHS = odd_hypergraphs()
NAMED = ("nodes", "edges", "all", "graph")


def check(h: Hypergraph, source: object, target: object) -> None:
    h = h.replace(edge_weight=None, incidence_weight=None)  # tests/nn/test_weights.py has them
    o = overlap(h, source, target)
    sources, targets = family_sets(h, source), family_sets(h, target)
    assert (o.num_sources, o.num_targets) == (len(sources), len(targets))
    assert found_pairs(o) == brute_pairs(sources, targets)
    assert o.num_pairs == len(brute_pairs(sources, targets))
    assert o.source_orders.expand().tolist() == [len(s) for s in sources]
    assert o.target_orders.expand().tolist() == [len(t) for t in targets]
    assert o.distinct_source_orders == tuple(sorted({len(s) for s in sources}))
    assert o.distinct_target_orders == tuple(sorted({len(t) for t in targets}))
    check_groups(o, sources, targets)
    check_views(o)
    check_batch(h, o, sources, targets)


def check_groups(o, sources, targets):
    assert_valid(o.source_to_group)
    want = sorted({(j, size) for j, size, _ in brute_pairs(sources, targets)})
    got = list(zip(o.group_target.tolist(), o.sizes.expand().tolist(), strict=True))
    if o.group_to_target is None:  # group j is target j; a target that meets nothing has an empty group
        assert o.num_groups == o.num_targets
        want = want if len(want) == o.num_targets else got
    else:
        assert_valid(o.group_to_target)
        assert torch.equal(
            o.group_to_target.ptr.diff(), torch.bincount(o.group_target, minlength=o.num_targets)
        )
    assert got == want


def check_views(o):
    """merged, slots and triplets hold the same pairs as the groups."""
    target, source, _ = o.pairs()
    any_overlap = torch.zeros(o.num_targets, o.num_sources, dtype=torch.int64)
    any_overlap[target, source] = 1
    assert torch.equal(dense(o.merged), any_overlap)
    assert o.sizes_and_pool.expand().tolist() == o.sizes.expand().tolist() + [0] * o.num_members
    everything = torch.arange(o.num_members).unsqueeze(1) == o.source_batch
    assert torch.equal(dense(o.everything), everything.to(torch.int64))
    check_slots(o)
    check_triplets(o)


def check_slots(o):
    slots = o.source_sizes
    assert_valid(slots.slot_to_group)
    place = torch.arange(o.num_sources) if slots.source_to_slot is None else slots.source_to_slot.index
    assert slots.slot_to_group.num_cols == place.shape[0]
    assert torch.equal(place[slots.slot_to_group.index], o.source_to_group.index)
    assert torch.equal(
        slots.sizes.expand()[slots.slot_to_group.index], o.sizes.expand()[o.source_to_group.rows]
    )
    if slots.source_to_slot is not None:
        assert_valid(slots.source_to_slot)
        assert slots.source_to_slot.lengths.eq(1).all()


def check_triplets(o):
    t = o.weight_groups
    for pairs in (t.source_to_group, t.group_to_target, t.source_to_graph):
        assert_valid(pairs)
    assert t.group_to_target.t_lengths.eq(1).all()
    assert tuple(t.ptr.tolist()) == t.ends
    fine_target, values = t.group_to_target.t_index, t.values[torch.repeat_interleave(t.ptr.diff())]
    k, l = o.source_orders.expand(), o.target_orders.expand()
    assert torch.equal(l[fine_target], values[:, 1])
    rows = t.source_to_group.rows
    assert torch.equal(k[t.source_to_group.index], values[rows, 0])
    want = sorted(zip(*(v.tolist() for v in o.pairs()), strict=True))
    got = zip(
        fine_target[rows].tolist(), t.source_to_group.index.tolist(), values[rows, 2].tolist(), strict=True
    )
    assert sorted(got) == want
    assert len({tuple(v) for v in t.values.tolist()}) == t.values.shape[0]
    num_k = o.source_orders.values.shape[0]
    assert t.source_to_graph.num_rows == o.num_members * num_k
    assert t.source_to_graph.t_lengths.eq(1).all()
    assert torch.equal(t.source_to_graph.t_index, o.source_batch * num_k + o.source_orders.index)


def check_batch(h, o, sources, targets):
    assert o.num_members == h.num_members
    for batch, sets in ((o.source_batch, sources), (o.target_batch, targets)):
        for member, nodes in zip(batch.tolist(), sets, strict=True):
            assert all(h.node_batch[v] == member for v in nodes)
    if o.source_to_graph is None:
        assert h.num_members == 1
        assert o.graph_to_target is None
    else:
        assert_valid(o.source_to_graph)
        want = torch.arange(h.num_members).unsqueeze(1) == o.source_batch
        assert torch.equal(dense(o.source_to_graph), want.to(torch.int64))
        assert_valid(o.graph_to_target)
        assert torch.equal(o.graph_to_target.index, o.target_batch)


@pytest.mark.parametrize("name", HYPERGRAPHS)
@pytest.mark.parametrize("source", NAMED)
@pytest.mark.parametrize("target", NAMED)
def test_named_families(name, source, target):
    check(HYPERGRAPHS[name], source, target)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("named", NAMED)
def test_candidates_outside_the_hyperedges(side, named):
    h = HYPERGRAPHS["odd"]
    candidates = [[0, 4], [], [1, 2], [1, 2], [6], [0, 1, 2, 3, 4, 5, 6]]
    for family in (candidates, Hypergraph.from_edges(candidates, num_nodes=7)):
        pair = (family, named) if side == 0 else (named, family)
        check(h, *pair)
    check(h, candidates, Hypergraph.from_edges([[2, 3]], num_nodes=7))
    check(h, candidates, [])


def test_candidates_of_a_batch():
    h = HYPERGRAPHS["batch"]
    check(h, "nodes", [[0, 1], [7, 8], [5]])
    o = overlap(h, "edges", [[0, 1], [7, 8], [5]])
    assert o.target_batch.tolist() == [0, 2, 1]
    check(h, "all", h)


def test_one_group_per_target_has_no_gather():
    h = Hypergraph.from_edges([[0, 1], [1, 2]])
    assert overlap(h, "nodes", "edges").group_to_target is None
    assert overlap(h, "nodes", "nodes").group_to_target is None
    assert overlap(Hypergraph.from_edges([[0, 1], []]), "nodes", "edges").group_to_target is not None


@pytest.mark.parametrize("targets", [[[], [0, 1, 2]], [[0, 1, 2], []], [[3], [0, 1, 2], [0]]])
def test_as_many_groups_as_targets_but_not_one_each(targets):
    h = Hypergraph.from_edges([[0], [0, 1]], num_nodes=4)
    o = overlap(h, "edges", targets)
    assert o.num_groups == o.num_targets
    assert o.group_to_target is not None
    check(h, "edges", targets)


@settings(max_examples=25, deadline=None)
@given(st.one_of(hypergraphs(max_nodes=6, max_edges=6), batches(max_members=3)), st.data())
def test_any_hypergraph(h, data):
    pair = data.draw(st.tuples(st.sampled_from(NAMED), st.sampled_from(NAMED)))
    check(h, *pair)
