"""Direction, roles and features of incidences in files and other libraries."""

import json

import pytest
import scipy.sparse
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ehnn.io as eio
from ehnn import Hypergraph
from ehnn.estimators.inputs import as_hypergraph


def directed(both=True, weights=True):
    sides = [([0, 1], [2]), ([2], [3, 0]), ([], [4]), ([4], []), ([], [])]
    sides += [([1, 3], [3, 5])] if both else []
    h = Hypergraph.from_directed(sides, num_nodes=7)
    if not weights:
        return h
    return h.replace(
        incidence_weight=torch.arange(h.num_incidences) + 0.5, edge_weight=torch.arange(h.num_edges) + 2.0
    )


@st.composite
def marked(draw, max_roles=4):
    n = draw(st.integers(0, 5))
    edges = draw(st.lists(st.lists(st.integers(0, n - 1), unique=True) if n else st.just([]), max_size=4))
    roles = [draw(st.lists(st.integers(0, max_roles - 1), min_size=len(e), max_size=len(e))) for e in edges]
    h = Hypergraph.from_edges(edges, n, roles=roles)
    if draw(st.booleans()):
        h = h.replace(incidence_weight=torch.rand(h.num_incidences) + 0.5)
    if draw(st.booleans()):
        h = h.replace(num_roles=max(h.num_roles, draw(st.integers(1, 6))))
    return h


quick = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@quick
@given(marked(), st.booleans())
def test_hif_carries_roles(tmp_path, h, features):
    h = h.replace(incidence_x=torch.rand(h.num_incidences, 2)) if features else h
    eio.write_hif(h, tmp_path / "h.json")
    assert eio.read_hif(tmp_path / "h.json") == h


def test_hif_of_others_has_direction():
    def pair(node, edge, side):
        return {"node": node, "edge": edge, "direction": side}

    records = [pair("a", "r", "tail"), pair("b", "r", "tail"), pair("b", "r", "head"), pair("c", "r", "head")]
    data = {"network-type": "directed", "incidences": records}
    h = eio.from_hif_dict(data)
    assert (h.node_names, h.edges(), h.roles.tolist()) == (("a", "b", "c"), [[0, 1, 2]], [0, 2, 1])
    plain = eio.from_hif_dict(data, ignore_direction=True)
    assert (plain.edges(), plain.roles) == ([[0, 1, 2]], None)
    del records[1]["direction"]
    with pytest.raises(ValueError, match=r"incidences\[1\].direction must be 'tail' or 'head'"):
        eio.from_hif_dict(data)
    written = eio.to_hif_dict(directed())
    assert written["network-type"] == "directed"
    assert json.loads(json.dumps(written))["incidences"][0]["direction"] == "tail"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_roles": 99}, "99 as its number of roles"),
        ({"num_roles": "two"}, "as its number of roles"),
        ({"num_roles": 4}, "has no attribute 'role'"),
    ],
)
def test_damaged_metadata_is_refused(change, message):
    data = eio.to_hif_dict(Hypergraph.from_edges([[0, 1]]))
    data["metadata"]["ehnn"] |= change
    with pytest.raises(ValueError, match=message):
        eio.from_hif_dict(data)


def test_xgi_reads_our_directed_file(tmp_path):
    xgi = pytest.importorskip("xgi")
    eio.write_hif(directed(), tmp_path / "ours.json")
    theirs = xgi.read_hif(tmp_path / "ours.json")
    assert theirs.edges.dimembers(dtype=dict) == eio.to_xgi(directed()).edges.dimembers(dtype=dict)
    xgi.write_hif(theirs, tmp_path / "theirs.json")
    with pytest.warns(UserWarning, match="weight: ehnn wrote weights, and another program has lost them"):
        found = eio.read_hif(tmp_path / "theirs.json")
    assert sorted(found.roles.tolist()) == sorted(directed().roles.tolist())


def test_xgi_directed():
    xgi = pytest.importorskip("xgi")
    h = directed()
    other = eio.to_xgi(h)
    assert isinstance(other, xgi.DiHypergraph)
    assert other.edges.dimembers(5) == ({1, 3}, {3, 5})
    assert eio.from_xgi(other) == h
    theirs = xgi.DiHypergraph([([1, 2], [2, 3]), ([3], [1])])
    found = eio.from_xgi(theirs)
    assert (found.node_names, found.roles.tolist()) == ((1, 2, 3), [0, 2, 1, 1, 0])
    assert as_hypergraph(theirs) == found
    with pytest.raises(ValueError, match="to_xgi cannot carry 4 roles"):
        eio.to_xgi(h.replace(num_roles=4))


@pytest.mark.filterwarnings("ignore")
def test_hypernetx_cells_have_weights_and_roles():
    pytest.importorskip("hypernetx")
    for h in (directed(), directed().replace(num_roles=5)):
        assert eio.from_hypernetx(eio.to_hypernetx(h)) == h


@quick
@given(marked())
def test_csv_carries_roles(tmp_path, h):
    eio.write_csv(h, tmp_path / "h.csv")
    found = eio.read_csv(tmp_path / "h.csv")
    want = h.replace(num_roles=None) if h.num_incidences else h.replace(roles=None, incidence_weight=None)
    if h.num_incidences:
        assert found == want
    else:
        assert found.edges() == h.edges()


def test_csv_of_others(tmp_path):
    path = tmp_path / "reactions.csv"
    path.write_text("node,edge,side,stoich\na,r,tail,2\nb,r,head,1\nb,s,tail,3\nb,s,head,1\n")
    with pytest.raises(ValueError, match=r"line 5: column 'stoich' says '1' .* line 4 says '3'"):
        eio.read_csv(path, role="side", weight="stoich")
    path.write_text("node,edge,side,stoich\na,r,tail,2\nb,r,head,1\nb,s,tail,3\nb,s,head,3\n")
    h = eio.read_csv(path, role="side", weight="stoich")
    assert (h.roles.tolist(), h.incidence_weight.tolist()) == ([0, 1, 2], [2, 1, 3])
    assert eio.read_csv(path, weight="stoich").roles is None  # only the column that write_csv writes is found
    path.write_text("node,edge,part\na,r,soloist\nb,r,chorus\nc,r,chorus\n")
    assert eio.read_csv(path, role="part").roles.tolist() == [1, 0, 0]
    for cell, message in [
        ("", "is blank"),
        ("-1", "from 0 to 31, got -1"),
        ("32", "got 32"),
        ("x", "whole number"),
    ]:
        path.write_text(f"node,edge,part\na,r,0\nb,r,{cell}\n")
        with pytest.raises(ValueError, match=f"line 3.*{message}"):
            eio.read_csv(path, role="part")


def test_scipy_signs():
    h = directed(both=False).replace(edge_weight=None)
    matrix = eio.to_scipy(h, signed=True)
    assert matrix.toarray()[:, 0].tolist() == [-0.5, -1.5, 2.5, 0, 0, 0, 0]
    back = eio.from_scipy(matrix, signed=True)
    assert back == h
    with pytest.raises(ValueError, match="a node in both"):
        eio.to_scipy(directed(), signed=True)
    with pytest.raises(ValueError, match="no roles"):
        eio.to_scipy(Hypergraph.from_edges([[0]]), signed=True)
    with pytest.raises(ValueError, match="to_scipy cannot carry 2 roles"):
        eio.to_scipy(h)
    reactions = scipy.sparse.csr_array([[-1, 0], [1, -2], [0, 1]])
    found = eio.from_scipy(reactions, signed=True)
    assert (found.roles.tolist(), found.incidence_weight.tolist(), found.num_roles) == (
        [0, 1, 0, 1],
        [1, 1, 2, 1],
        2,
    )
    unsigned = eio.from_scipy(scipy.sparse.csr_array([[1], [1]]), signed=True)
    assert (unsigned.roles.tolist(), unsigned.incidence_weight) == ([1, 1], None)


def test_what_cannot_carry_roles_refuses_them(tmp_path):
    pytest.importorskip("torch_geometric")
    h = directed()
    for write in (eio.to_networkx, eio.to_pyg, eio.to_pyg_bipartite):
        with pytest.raises(ValueError, match=r"cannot carry 3 roles: h\.replace"):
            write(h)
    with pytest.raises(ValueError, match="write_csv cannot carry incidence_x"):
        eio.write_csv(h.replace(incidence_x=torch.ones(h.num_incidences, 1)), tmp_path / "h.csv")
