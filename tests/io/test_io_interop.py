"""Round trips through the objects of other libraries, whole and property-based."""

import io
import json
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from io_strategies import FLOATS, hypergraphs

import ehnn.io as eio
from ehnn import Hypergraph

nx = pytest.importorskip("networkx")
sp = pytest.importorskip("scipy.sparse")
pyg = pytest.importorskip("torch_geometric.data")
HyperGraphData = pytest.importorskip("torch_geometric.data.hypergraph_data").HyperGraphData
xgi = pytest.importorskip("xgi")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    hnx = pytest.importorskip("hypernetx")

ROUND_TRIPS = {
    "hif": lambda h: eio.from_hif_dict(json.loads(json.dumps(eio.to_hif_dict(h)))),
    "pyg": lambda h: eio.from_pyg(eio.to_pyg(h)),
    "networkx": lambda h: eio.from_networkx(eio.to_networkx(h)),
    "xgi": lambda h: eio.from_xgi(eio.to_xgi(h)),
    "hypernetx": lambda h: eio.from_hypernetx(eio.to_hypernetx(h)),
}
TO = [eio.to_scipy, eio.to_pyg, eio.to_pyg_bipartite, eio.to_networkx, eio.to_xgi, eio.to_hypernetx]
TO += [eio.to_hif_dict, eio.to_named_edges]
FROM = [eio.from_scipy, eio.from_pyg, eio.from_pyg_bipartite, eio.from_networkx, eio.from_xgi]
FROM += [eio.from_hypernetx, eio.from_hif_dict]


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_everything_survives(name, full):
    assert ROUND_TRIPS[name](full) == full


@pytest.mark.parametrize("name", ["hif", "pyg", "networkx", "xgi"])
def test_any_hypergraph_survives(name):
    @settings(max_examples=60, deadline=None)
    @given(hypergraphs(min_width=0))
    def check(h):
        assert ROUND_TRIPS[name](h) == h

    check()


@settings(max_examples=25, deadline=None)
@given(hypergraphs(min_width=0))
def test_any_hypergraph_survives_hypernetx(h):
    assert ROUND_TRIPS["hypernetx"](h) == h


@settings(max_examples=60, deadline=None)
@given(hypergraphs(min_width=0))
def test_any_hypergraph_survives_bipartite_pyg(h):
    back = eio.from_pyg_bipartite(eio.to_pyg_bipartite(h))
    assert back == h


@settings(max_examples=60, deadline=None)
@given(hypergraphs(weights=FLOATS.filter(lambda v: v != 1)))
def test_structure_and_weights_survive_scipy(h):
    matrix = eio.to_scipy(h)
    assert matrix.shape == (h.num_nodes, h.num_edges)
    weight = h.incidence_weight if h.num_incidences else None
    bare = Hypergraph.from_incidence(h.index, h.num_nodes, h.num_edges, incidence_weight=weight)
    for form in ("csr", "csc", "coo"):
        assert eio.from_scipy(matrix.asformat(form)) == bare


def test_parallel_edges_with_different_weights_are_refused():
    graph = nx.MultiGraph()
    graph.add_nodes_from([("ann", {"bipartite": 0}), ("chess", {"bipartite": 1})])
    graph.add_edge("ann", "chess", weight=2)
    graph.add_edge("ann", "chess", weight=2)
    assert eio.from_networkx(graph).incidence_weight.tolist() == [2]
    graph.add_edge("ann", "chess", weight=3)
    with pytest.raises(ValueError, match=r"'ann' is given twice in hyperedge 'chess', with .* 2.0 and 3.0"):
        eio.from_networkx(graph)


def test_scipy_adds_up_repeated_entries_and_refuses_zeros():
    matrix = sp.coo_array((np.array([1.0, 2.0]), ([0, 0], [1, 1])), shape=(2, 3))
    assert eio.from_scipy(matrix).incidence_weight.tolist() == [3.0]
    with pytest.raises(ValueError, match="zeros"):
        eio.to_scipy(Hypergraph.from_incidence(([0], [0]), incidence_weight=torch.zeros(1)))
    with pytest.raises(ValueError, match="real"):
        eio.from_scipy(sp.coo_array(np.ones((2, 2), dtype=complex)))


@pytest.mark.parametrize("convert", TO)
def test_batches_are_refused(convert, batch_of_two):
    with pytest.raises(ValueError, match="batch"):
        convert(batch_of_two)
    with pytest.raises(ValueError, match="Hypergraph"):
        convert([[0, 1]])


@pytest.mark.parametrize("convert", FROM)
def test_wrong_types_are_refused(convert):
    with pytest.raises(ValueError, match="got"):
        convert([[0, 1], [1, 2]])


@pytest.mark.parametrize("convert", [eio.to_networkx, eio.to_xgi, eio.to_hypernetx, eio.to_hif_dict])
def test_names_that_are_not_distinct_are_refused(convert):
    with pytest.raises(ValueError, match=r"distinct.*'a'"):
        convert(Hypergraph.from_edges([[0, 1]], node_names=["a", "a"]))


def test_missing_library_names_the_extra():
    from ehnn._utils.optional import require

    with pytest.raises(ImportError, match=r"pip install '\.\[interop\]'"):
        require("no_such_library_at_all.data")


# ---------------------------------------------------------------------- PyG


def test_pyg_sees_what_it_expects(full):
    data = eio.to_pyg(full)
    assert (data.num_nodes, data.num_node_features) == (5, 2)
    assert data.edge_index.shape == (2, 5)
    assert data.edge_attr.shape == (4, 3)
    foreign = HyperGraphData(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 1, 2], [0, 0, 1]]))
    h = eio.from_pyg(foreign)
    assert (h.num_nodes, h.num_edges, h.edges()) == (4, 2, [[0, 1], [2]])


def test_pyg_with_a_hyperedge_index_beside_a_graph():
    index = torch.tensor([[0, 1, 2], [0, 0, 1]])
    graph = {"edge_index": torch.tensor([[0, 1], [3, 2]]), "edge_attr": torch.zeros(2, 5)}
    data = pyg.Data(x=torch.ones(4, 1), hyperedge_index=index, hyperedge_attr=torch.ones(2, 3), **graph)
    h = eio.from_pyg(data)
    assert (h.num_nodes, h.edges(), h.edge_x.shape) == (4, [[0, 1], [2]], (2, 3))
    with pytest.raises(ValueError, match="hyperedge_index must be a tensor of shape"):
        eio.from_pyg(pyg.Data(hyperedge_index=index[0]))


def test_bipartite_pyg_is_a_star_expansion():
    h = Hypergraph.from_edges([[0, 1], [1, 2], []], x=torch.ones(3, 2))
    data = eio.to_pyg_bipartite(h)
    assert data.num_nodes == 6
    assert data.is_undirected()
    assert data.validate()
    assert data.node_type.tolist() == [0, 0, 0, 1, 1, 1]
    one_way = pyg.Data(edge_index=data.edge_index[:, :4], num_vertices=3, num_hyperedges=3, num_nodes=6)
    assert eio.from_pyg_bipartite(one_way) == h.replace(x=None)
    with pytest.raises(ValueError, match="join nodes"):
        eio.from_pyg_bipartite(
            pyg.Data(edge_index=torch.tensor([[0], [1]]), num_vertices=3, num_hyperedges=3)
        )
    with pytest.raises(ValueError, match="num_vertices"):
        eio.from_pyg_bipartite(pyg.Data(edge_index=torch.tensor([[0], [3]])))


def test_pyg_batches_are_refused(full):
    loaded = pyg.Batch.from_data_list([eio.to_pyg(full)] * 2)
    with pytest.raises(ValueError, match="to_data_list"):
        eio.from_pyg(loaded)


# ---------------------------------------------------------------------- NetworkX


def test_davis_southern_women():
    graph = nx.davis_southern_women_graph()
    h = eio.from_networkx(graph)
    assert (h.num_nodes, h.num_edges, h.num_incidences) == (18, 14, 89)
    assert h.node_names[0] == "Evelyn Jefferson"
    assert set(h.edge_names) == {f"E{i}" for i in range(1, 15)}
    assert nx.is_bipartite(eio.to_networkx(h))
    assert eio.from_networkx(eio.to_networkx(h)) == h
    assert nx.utils.graphs_equal(nx.Graph(eio.to_networkx(h).edges), nx.Graph(graph.edges))


def test_networkx_attributes_are_chosen_by_name():
    graph = nx.Graph([("u", "e", {"weight": 2})])
    graph.add_node("v", age=3, height=1.5, club="red")
    graph.nodes["u"].update(age=4, height=2, club="blue")
    h = eio.from_networkx(graph, nodes=["u", "v"], x=["age", "height"], y="club")
    assert h.x.tolist() == [[4, 2], [3, 1.5]]
    assert h.y.tolist() == [0, 1]
    assert h.incidence_weight.tolist() == [2]
    with pytest.raises(ValueError, match=r"node 'u' has no attribute 'agee'.*did you mean 'age'"):
        eio.from_networkx(graph, nodes=["u", "v"], x="agee")


def test_networkx_faults_are_named():
    with pytest.raises(ValueError, match="graph node 'u' has bipartite=None"):
        eio.from_networkx(nx.Graph([("u", "e")]))
    graph = nx.Graph([(0, 1)])
    with pytest.raises(ValueError, match="not bipartite: 0 and 1"):
        eio.from_networkx(graph, nodes=[0, 1])
    with pytest.raises(ValueError, match="not in the graph"):
        eio.from_networkx(graph, nodes=[5])


# ---------------------------------------------------------------------- XGI, HyperNetX and HIF files


def test_xgi_sees_the_same_hypergraph(full):
    theirs = eio.to_xgi(full)
    assert (theirs.num_nodes, theirs.num_edges) == (5, 4)
    assert theirs.edges.members("second") == set()
    assert theirs.edges.members(3) == {"bob, the 2nd", 7, "ann"}
    with pytest.raises(ValueError, match="got dict"):
        eio.from_xgi({})


def test_xgi_reads_our_file_and_we_read_its(full, tmp_path):
    eio.write_hif(full, tmp_path / "ours.json")
    theirs = xgi.read_hif(tmp_path / "ours.json")
    assert theirs.edges.members(dtype=dict) == eio.to_xgi(full).edges.members(dtype=dict)
    assert theirs.nodes["ann"]["x"] == full.x[0].tolist()
    xgi.write_hif(theirs, tmp_path / "theirs.json")
    with pytest.warns(UserWarning, match="weight: ehnn wrote weights, and another program has lost them"):
        back = eio.read_hif(tmp_path / "theirs.json", x="x", y="y")
    # XGI lists nodes in the order of a set and keeps no weights: compare by name.
    order = [back.node_names.index(v) for v in full.node_names]
    assert torch.equal(back.x[order], full.x)
    assert torch.equal(back.y[order], full.y)
    ours, theirs = eio.to_named_edges(full), eio.to_named_edges(back)
    assert {e: set(v) for e, v in ours.items()} == {e: set(v) for e, v in theirs.items()}


def test_xgi_own_hypergraph(tmp_path):
    theirs = xgi.Hypergraph([[1, 2, 3], [3, 4], []])
    theirs.add_node("alone", colour="red")
    xgi.write_hif(theirs, tmp_path / "theirs.json")
    h = eio.read_hif(tmp_path / "theirs.json")
    assert set(h.node_names) == {1, 2, 3, 4, "alone"}
    assert sorted(h.orders.tolist()) == [0, 2, 3]
    assert eio.from_xgi(theirs).edges() == [[0, 1, 2], [2, 3], []]


@pytest.fixture
def no_network(monkeypatch):
    """HyperNetX fetches the schema for every file; a schema that says as much stands in for it."""
    import hypernetx.hif

    ids = {"type": ["string", "integer"]}
    record = {"properties": {"node": ids, "edge": ids, "weight": {"type": "number"}}}
    records = {"type": "array", "items": {"type": "object"} | record}
    properties = {"incidences": records, "nodes": records, "edges": records, "metadata": {"type": "object"}}
    schema = {"type": "object", "properties": properties, "required": ["incidences"]}
    answer = type("Answer", (), {"text": json.dumps(schema)})
    monkeypatch.setattr(hypernetx.hif.requests, "get", lambda url: answer)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # HyperNetX leaves its files open
def test_hypernetx_reads_our_file_and_we_read_its(full, tmp_path, no_network):
    eio.write_hif(full, tmp_path / "ours.json")
    theirs = hnx.from_hif(filename=str(tmp_path / "ours.json"))
    assert set(theirs.edges["first"]) == {"ann", 'q"q'}
    assert theirs.edges["first"].weight == 0.5
    hnx.to_hif(theirs, filename=str(tmp_path / "theirs.json"))
    back = eio.read_hif(tmp_path / "theirs.json", x="x", y="y")
    # HyperNetX writes no isolated nodes and no empty hyperedges.
    assert back.num_incidences == full.num_incidences
    row = back.node_names.index("ann")
    assert torch.equal(back.x[row], full.x[0])
    assert back.edge_weight[back.edge_names.index("first")] == 0.5
    pairs = {(back.node_names[v], back.edge_names[e]) for v, e in back.index.T.tolist()}
    assert pairs == {(full.node_names[v], full.edge_names[e]) for v, e in full.index.T.tolist()}


def test_hypernetx_own_hypergraph():
    theirs = hnx.Hypergraph(
        {"a": {1: {"weight": 2.0}, 2: {}}, "b": {2: {"weight": 0.5}}}, node_properties={5: {"z": 4}}
    )
    h = eio.from_hypernetx(theirs)
    assert h.node_names == (5, 1, 2)
    assert h.edge_names == ("a", "b")
    assert h.incidence_weight.tolist() == [2.0, 1.0, 0.5]
    assert h.edge_weight is None


def test_hypernetx_sees_the_same_hypergraph(full):
    theirs = eio.to_hypernetx(full)
    assert theirs.shape == (4, 2)  # neither isolated nodes nor empty hyperedges
    assert theirs.edges["first"].weight == 0.5
    assert theirs.nodes["ann"].x == full.x[0].tolist()


def test_readers_do_not_care_about_json_layout(full):
    text = json.dumps(eio.to_hif_dict(full), indent=3, sort_keys=True)
    assert eio.from_hif_dict(json.load(io.StringIO(text))) == full
