"""Roles and features of incidences: building, changing, batching, and input that is refused."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ehnn
from ehnn import Hypergraph
from ehnn.hypergraph import dual, with_self_loops
from ehnn.hypergraph.roles import MAX_ROLES
from ehnn.tasks.hyperedges.sets import keep_edges


def by_name(h):
    """(node name, hyperedge name) → (role, feature, weight)."""
    node, edge = h.index.tolist()
    rows = zip(h.roles.tolist(), h.incidence_x[:, 0].tolist(), h.incidence_weight.tolist(), strict=True)
    names = [(h.node_names[v], h.edge_names[e]) for v, e in zip(node, edge, strict=True)]
    return dict(zip(names, rows, strict=True))


@st.composite
def marked(draw):
    n = draw(st.integers(1, 6))
    edges = draw(st.lists(st.lists(st.integers(0, n - 1), unique=True), max_size=5))
    roles = [draw(st.lists(st.integers(0, 3), min_size=len(e), max_size=len(e))) for e in edges]
    names = {"node_names": [f"v{i}" for i in range(n)], "edge_names": [f"e{i}" for i in range(len(edges))]}
    h = Hypergraph.from_edges(edges, n, roles=roles, **names)
    count = torch.arange(h.num_incidences, dtype=torch.float32)
    return h.replace(incidence_x=count.unsqueeze(1), incidence_weight=count + 1)


def test_roles_follow_the_sorted_incidences():
    h = Hypergraph.from_edges([[2, 0], [1], []], roles=[[5, 1], [0], []])
    assert h.index.tolist() == [[0, 2, 1], [0, 0, 1]]
    assert (h.roles.tolist(), h.num_roles, h.roles.dtype) == ([1, 5, 0], 6, torch.int64)
    same = Hypergraph.from_incidence([[1, 2, 0], [1, 0, 0]], 3, 3, roles=[0, 5, 1])
    assert same == h
    assert repr(h) == "Hypergraph(3 nodes, 3 hyperedges, 3 incidences, orders 0 to 2, 6 roles)"
    assert (Hypergraph.from_edges([[0, 1]]).roles, Hypergraph.from_edges([[0, 1]]).num_roles) == (None, 1)


def test_directed():
    h = Hypergraph.from_directed(
        [([0, 1], [2]), ((), [0]), ({3}, set())], num_nodes=5, edge_weight=[1, 2, 3.0]
    )
    assert h.edges() == [[0, 1, 2], [0], [3]]
    assert (h.roles.tolist(), h.num_roles) == ([0, 0, 1, 1, 0], 2)
    assert h.edge_weight.tolist() == [1, 2, 3]
    assert Hypergraph.from_directed([([0], [])]).num_roles == 2  # stored, not guessed from what occurs
    assert Hypergraph.from_directed([]).num_roles == 2
    catalyst = Hypergraph.from_directed([([0, 1], [1, 2])])
    assert (catalyst.edges(), catalyst.roles.tolist(), catalyst.num_roles) == ([[0, 1, 2]], [0, 2, 1], 3)


@settings(max_examples=20, deadline=None)
@given(marked(), st.randoms(use_true_random=False))
def test_incidences_keep_their_rows(h, random):
    want = by_name(h)
    nodes, edges = list(range(h.num_nodes)), list(range(h.num_edges))
    random.shuffle(nodes)
    random.shuffle(edges)
    assert by_name(h.permute_nodes(nodes).permute_edges(edges)) == want
    some = nodes[: len(nodes) // 2]
    kept = {h.node_names[v] for v in some}
    assert by_name(h.subhypergraph(some)) == {k: v for k, v in want.items() if k[0] in kept}
    mask = torch.tensor([e % 2 == 0 for e in range(h.num_edges)], dtype=torch.bool)
    left = by_name(keep_edges(h, mask))
    assert left == {k: v for k, v in want.items() if int(k[1][1:]) % 2 == 0}


@settings(max_examples=20, deadline=None)
@given(marked(), marked())
def test_batches_keep_roles(a, b):
    both = ehnn.batch([a, b])
    assert both.num_roles == max(a.num_roles, b.num_roles)
    assert torch.equal(both.roles, torch.cat([a.roles, b.roles]))
    for found, member in zip(both.unbatch(), (a, b), strict=True):
        assert by_name(found) == by_name(member)


def test_changed_roles_change_the_relation():
    h = Hypergraph.from_directed([([0, 1], [2])])
    o = h.overlap("nodes", "edges")
    assert h.replace(x=torch.ones(3, 1)).overlap("nodes", "edges") is o
    back = h.replace(roles=[1, 1, 0])
    assert back.overlap("nodes", "edges") is not o
    assert h != back
    plain = h.replace(roles=None)
    assert (plain.num_roles, plain.overlap("nodes", "edges").num_roles) == (1, (1, 1))


def test_the_dual_keeps_roles():
    h = Hypergraph.from_directed([([0, 1], [2]), ([2], [0])])
    d = dual(h)
    ends = zip(*d.index.tolist(), d.roles.tolist(), strict=True)
    assert sorted((v, e, r) for e, v, r in ends) == sorted(
        zip(*h.index.tolist(), h.roles.tolist(), strict=True)
    )


def test_features_of_incidences():
    h = Hypergraph.from_edges([[0, 1]])
    with pytest.raises(ValueError, match="no features of 'incidences': incidence_x is None"):
        h.features("incidences")
    assert h.replace(incidence_x=[[1.0], [2.0]]).features("incidences").tolist() == [[1], [2]]
    with pytest.raises(ValueError, match=r"incidence_x must have one row per incidence \(2\), got 1"):
        h.replace(incidence_x=[[1.0]])


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ([[0, 1]], "nested like edges: 2 hyperedges, got 1 lists"),
        ([[0, 1], [0, 1]], r"hyperedge 1 has 1 nodes, got \(0, 1\)"),
        ([[0, -1], [0]], "roles must not be negative, got -1"),
        ([[0, MAX_ROLES], [0]], f"roles must be below {MAX_ROLES}, got {MAX_ROLES}"),
        ([[0, 0.5], [0]], "roles must be integers"),
        ([["tail", "head"], ["tail"]], "roles must be integers"),
        ([0, 1], "roles must be nested like edges"),
        (7, "roles must be nested like edges"),
    ],
)
def test_bad_roles_are_refused(roles, message):
    with pytest.raises(ValueError, match=message):
        Hypergraph.from_edges([[0, 1], [2]], roles=roles)


def test_two_roles_of_a_node_are_refused():
    with pytest.raises(ValueError, match="node 1 has roles 0 and 2 in hyperedge 1; a node has one role"):
        Hypergraph.from_edges([[0], [0, 1, 1]], roles=[[0], [0, 2, 0]])
    h = Hypergraph.from_edges([[0], [1, 0, 1]], roles=[[0], [1, 0, 1]])  # the same twice is one incidence
    assert (h.edges(), h.roles.tolist()) == ([[0], [0, 1]], [0, 0, 1])


@pytest.mark.parametrize("edge", [[0, 1, 2], [0, 1], 5, ([0], [1], [2])])
def test_mixed_directed_and_undirected_is_refused(edge):
    with pytest.raises(ValueError, match=r"directed hyperedge 1 must be \(tail, head\)"):
        Hypergraph.from_directed([([0], [1]), edge])


def test_members_with_and_without_roles_are_refused():
    with pytest.raises(ValueError, match="roles must be in all members of a batch or in none"):
        ehnn.batch([Hypergraph.from_edges([[0]]), Hypergraph.from_directed([([0], [1])])])


def test_wrong_counts_of_roles_are_refused():
    h = Hypergraph.from_edges([[0, 1]])
    for changes, message in [
        ({"num_roles": 2}, "num_roles must be 1 for a hypergraph without roles"),
        ({"roles": [0, 1], "num_roles": 1}, "roles must be below 1, got 1"),
        ({"roles": [0, 1], "num_roles": MAX_ROLES + 1}, f"num_roles must be at most {MAX_ROLES}"),
        ({"roles": [0]}, r"roles must have one row per incidence \(2\), got 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            h.replace(**changes)


def test_what_does_not_take_roles_says_so():
    h = Hypergraph.from_directed([([0], [1]), ([1], [2])])
    with pytest.raises(ValueError, match="with_self_loops does not take roles"):
        with_self_loops(h)
