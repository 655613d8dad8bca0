from collections import Counter
from itertools import permutations

import pytest
import torch
from hypothesis import given, settings

from ehnn import Hypergraph
from ehnn.hypergraph import batch, clique_expansion, dual, line_expansion, star_expansion, with_self_loops
from ehnn.hypergraph.products import _bound, common_columns
from ehnn.testing.strategies import batches, hypergraphs

QUICK = settings(max_examples=60, deadline=None)


def links(graph):
    assert graph.index.dtype == graph.weight.dtype == torch.int64
    pairs = list(map(tuple, graph.index.T.tolist()))
    assert len(set(pairs)) == len(pairs)
    return dict(zip(pairs, graph.weight.tolist(), strict=True))


@given(hypergraphs())
@QUICK
def test_clique_against_brute_force(h):
    graph = clique_expansion(h)
    assert graph.num_nodes == h.num_nodes
    assert links(graph) == Counter(pair for e in h.edges() for pair in permutations(e, 2))


@given(hypergraphs())
@QUICK
def test_line_against_brute_force(h):
    edges = list(map(set, h.edges()))
    shared = {(i, j): len(edges[i] & edges[j]) for i, j in permutations(range(len(edges)), 2)}
    graph = line_expansion(h)
    assert graph.num_nodes == h.num_edges
    assert links(graph) == {pair: count for pair, count in shared.items() if count}


@given(hypergraphs())
@QUICK
def test_star_against_brute_force(h):
    graph = star_expansion(h)
    there = {(v, h.num_nodes + e) for e, nodes in enumerate(h.edges()) for v in nodes}
    assert graph.num_nodes == h.num_nodes + h.num_edges
    assert links(graph) == dict.fromkeys(there | {(b, a) for a, b in there}, 1)


@given(batches())
@QUICK
def test_expansions_stay_inside_members(b):
    for graph, member in ((clique_expansion(b), b.node_batch), (line_expansion(b), b.edge_batch)):
        assert torch.equal(member[graph.index[0]], member[graph.index[1]])


@given(batches())
@QUICK
def test_the_dual_of_the_dual_is_the_batch_without_labels_and_hyperedge_weights(b):
    kept = b.replace(y=None, edge_weight=None, incidence_x=torch.rand(b.num_incidences, 2))
    assert dual(dual(kept)) == kept


@given(batches())
@QUICK
def test_the_dual_of_a_batch_is_the_batch_of_the_duals(b):
    assert dual(b) == batch(map(dual, b.unbatch()))


# ---------------------------------------------------------------------- products


@given(hypergraphs(max_nodes=6))
@QUICK
def test_common_columns_are_counted_and_bounded(h):
    row, col, count = common_columns(h.incidence, h.incidence)
    edges = list(map(set, h.edges()))
    meet = [(i, j, len(a & b)) for i, a in enumerate(edges) for j, b in enumerate(edges) if a & b]
    assert row.tolist() == sorted(row.tolist())
    assert sorted(zip(row.tolist(), col.tolist(), count.tolist(), strict=True)) == meet
    bound = _bound(h.incidence, h.incidence)
    assert len(meet) <= bound <= h.num_edges**2
    assert bound <= int((h.degrees[h.incidence.index]).sum())


def test_two_hypergraphs_over_the_same_nodes():
    a, b = Hypergraph.from_edges([[0, 1], [2]], 4), Hypergraph.from_edges([[1, 2], [3], [0, 1]], 4)
    row, col, count = common_columns(a.incidence, b.incidence)
    assert sorted(zip(row.tolist(), col.tolist(), count.tolist(), strict=True)) == [
        (0, 0, 1),
        (0, 2, 2),
        (1, 0, 1),
    ]


@pytest.mark.parametrize("expand", [clique_expansion, line_expansion])
def test_too_many_pairs_are_refused_with_the_count(expand):
    h = Hypergraph.from_edges([[0, 1, 2]] * 3)
    assert expand(h, max_pairs=9).index.shape == (2, 6)
    with pytest.raises(ValueError, match=r"up to 9 overlapping pairs between 3 and 3 .* max_pairs=8"):
        expand(h, max_pairs=8)


def test_billions_of_pairs_are_refused_at_once():
    edge = torch.arange(200_000)
    h = Hypergraph.from_incidence((torch.zeros_like(edge), edge))
    with pytest.raises(ValueError, match="up to 40,000,000,000 overlapping pairs"):
        line_expansion(h)


def test_self_loops_for_nodes_that_have_none():
    h = Hypergraph.from_edges([[0, 1], [2], []], num_nodes=4, x=torch.eye(4), y=torch.arange(4))
    looped = with_self_loops(h)
    assert looped.edges() == [[0, 1], [2], [], [0], [1], [3]]
    assert torch.equal(looped.y, h.y)
    assert with_self_loops(looped).num_edges == 6
    both = with_self_loops(batch([h, h]))
    assert both.edge_batch.tolist() == [0] * 3 + [1] * 3 + [0] * 3 + [1] * 3
    assert [g.num_edges for g in both.unbatch()] == [6, 6]
