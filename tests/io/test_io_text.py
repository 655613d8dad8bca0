"""Files: named edges, one hyperedge per line, CSV, HIF; round trips and clear errors."""

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from io_strategies import TEXT, hypergraphs

import ehnn.io as eio
from ehnn import Hypergraph

FILES = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def file(tmp_path):
    """Write text or bytes to a file and give its path."""

    def write(content, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


# ---------------------------------------------------------------------- atomic writes


def test_atomic_write_replaces_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.txt"
    with eio.atomic_write(path) as f:
        f.write("old\n")
    os.chmod(path, 0o640)
    with pytest.raises(TypeError), eio.atomic_write(path) as f:
        f.writelines(["new", None])
    assert path.read_text() == "old\n"
    with eio.atomic_write(path, "wb") as f:
        f.write(b"new\r\n")
        assert path.read_text() == "old\n"
    assert path.read_bytes() == b"new\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a.txt"]
    with pytest.raises(ValueError, match="mode"), eio.atomic_write(path, "a"):
        pass


def test_atomic_write_follows_links(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with eio.atomic_write(tmp_path / "link.txt") as f:
        f.write("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


# ---------------------------------------------------------------------- named edges


def test_named_edges():
    h = eio.from_named_edges([["b", "a"], [], ["a", "c", "a"]])
    assert h.node_names == ("b", "a", "c")
    assert h.edge_names is None
    assert h.edges() == [[0, 1], [], [1, 2]]
    assert eio.to_named_edges(h) == [["b", "a"], [], ["a", "c"]]
    assert eio.to_named_edges(Hypergraph.from_edges([[1, 0]])) == [[0, 1]]
    lazy = eio.from_named_edges((edge for edge in ({1}, {2})), x=np.ones((2, 1), np.float32))
    assert lazy.num_edges == 2


def test_named_edges_faults():
    with pytest.raises(ValueError, match="'abc' as a hyperedge"):
        eio.from_named_edges(["abc"])
    with pytest.raises(ValueError, match="hashable"):
        eio.from_named_edges([[[1]]])
    with pytest.raises(ValueError, match="collections"):
        eio.from_named_edges([1, 2])
    with pytest.raises(ValueError, match="lacks 'b'"):
        eio.from_named_edges([["a", "b"]], node_names=["a"])
    with pytest.raises(ValueError, match="distinct"):
        eio.from_named_edges([["a", "b"]], node_names=["a", "a"])


@settings(max_examples=60, deadline=None)
@given(hypergraphs())
def test_named_edges_round_trip(h):
    back = eio.from_named_edges(
        eio.to_named_edges(h), node_names=h.node_names or range(h.num_nodes), x=h.x, edge_x=h.edge_x, y=h.y,
        edge_weight=h.edge_weight,
    )  # fmt: skip
    assert back == h.replace(node_names=h.node_names or range(h.num_nodes), incidence_weight=None)


# ---------------------------------------------------------------------- one hyperedge per line


def test_edge_lines_format(file):
    assert eio.read_edge_lines(file("0 1\n\n 2\t1 \n")).edges() == [[0, 1], [], [1, 2]]
    assert eio.read_edge_lines(file("1,2\r\n3, 1", "b"), separator=",", base=1).edges() == [[0, 1], [0, 2]]
    assert eio.read_edge_lines(file("\n0\n\n", "c"), skip_blank=True).edges() == [[0]]
    assert eio.read_edge_lines(file("", "d"), num_nodes=3) == Hypergraph.from_edges([], num_nodes=3)
    assert eio.read_edge_lines(file("\ufeff0 1\n", "e")).num_nodes == 2
    assert eio.read_edge_lines(file("7\n", "f"), num_nodes=10).num_nodes == 10
    h = eio.read_edge_lines(file("ann bob\nbob é\n", "g"), named=True)
    assert h.node_names == ("ann", "bob", "é")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("0 1\n2 x\n", {}, "line 2: 'x' is not a node number"),
        ("0 1\n2 -1\n", {}, "line 2: node number -1 must be from 0"),
        ("1\n0\n", {"base": 1}, "line 2: node number 0 must be from 1"),
        ("0\n5\n", {"num_nodes": 3}, "line 2: node number 5 must be from 0 to 2"),
        ("0,1\n2,,1\n", {"separator": ","}, "line 2: '' is not a node number"),
        ("1.5\n", {}, "line 1: '1.5' is not"),
        ("1_0\n", {}, "line 1: '1_0' is not"),
        ("0\n1000000000000000\n", {}, "line 2: node number 1000000000000000 is beyond"),
        ("9" * 30, {}, "line 1: node number 9+ must be"),
        ("9" * 5000, {}, "line 1: '9+"),
        (b"0 1\n\xff\n", {}, "line 2: byte 0xff is not UTF-8"),
        ("0", {"base": 2}, "base must be 0 or 1"),
        ("0", {"separator": ""}, "separator"),
    ],
)
def test_edge_lines_faults(file, content, options, message):
    with pytest.raises(ValueError, match=message):
        eio.read_edge_lines(file(content), **options)


@FILES
@given(hypergraphs(), st.sampled_from([" ", ",", ";", "\t", ", "]), st.sampled_from([0, 1]))
def test_edge_lines_round_trip(tmp_path, h, separator, base):
    path = tmp_path / "lines.txt"
    eio.write_edge_lines(h, path, separator=separator, base=base)
    back = eio.read_edge_lines(path, separator=separator, base=base, num_nodes=h.num_nodes)
    assert back == Hypergraph.from_incidence(h.index, h.num_nodes, h.num_edges)


@FILES
@given(hypergraphs(names=TEXT), st.sampled_from([" ", ",", "\t"]))
def test_edge_lines_with_names_come_back_or_are_refused(tmp_path, h, separator):
    path = tmp_path / "names.txt"
    names = h.node_names or range(h.num_nodes)
    try:
        eio.write_edge_lines(h, path, separator=separator, named=True)
    except ValueError:
        awkward = [v for v in names if separator in v or v.split() != [v] or v[0] == "\ufeff"]
        assert awkward
        return
    back = eio.read_edge_lines(path, separator=separator, named=True)
    expected = [{str(names[v]) for v in edge} for edge in h.edges()]
    assert [set(edge) for edge in eio.to_named_edges(back)] == expected


# ---------------------------------------------------------------------- CSV


def test_csv_of_incidences(file):
    path = file(
        '\ufeffperson,club,age,sort\n"Doe, Jo",chess,30,b\nann,chess,,a\nann,go,41.5,a\nzed,,20,b\n,none,,\n'
    )
    h = eio.read_csv(path, node="person", edge="club", node_features=["age"], label="sort")
    assert h.node_names == ("Doe, Jo", "ann", "zed")
    assert h.edge_names == ("chess", "go", "none")
    assert h.edges() == [[0, 1], [1], []]
    assert h.x.tolist() == [[30.0], [41.5], [20.0]]
    assert h.y.tolist() == [1, 0, 1]


def test_csv_of_numbers(file):
    path = file("edge,node\n1,2\n0,0\n1,1\n")
    assert eio.read_csv(path) == Hypergraph.from_edges([[0], [1, 2]])
    assert eio.read_csv(path, names="text").node_names == ("2", "0", "1")
    assert eio.read_csv(path, names="number").node_names == (2, 0, 1)
    indexed = eio.read_csv(file("edge,node\n1,4\n", "b"), names="index", num_nodes=6)
    assert indexed == Hypergraph.from_edges([[], [4]], num_nodes=6)


def test_csv_tables(file):
    pairs = file("node;edge;weight\nb;e;2\na;e;3\n", "pairs.csv")
    nodes = file("node;y;x0\na;1;0.5\nb;0;1.5\nc;2;2.5\n", "nodes.csv")
    edges = file("edge;edge_weight\nf;1\ne;4\n", "edges.csv")
    h = eio.read_csv(pairs, nodes=nodes, edges=edges, delimiter=";")
    assert h.node_names == ("a", "b", "c")
    assert h.edge_names == ("f", "e")
    assert h.edges() == [[], [0, 1]]
    assert h.incidence_weight.tolist() == [3, 2]
    assert h.edge_weight.tolist() == [1, 4]
    assert (h.y.tolist(), h.x.tolist()) == ([1, 0, 2], [[0.5], [1.5], [2.5]])
    assert eio.read_csv(pairs, delimiter=";", weight="").incidence_weight is None
    with pytest.raises(ValueError, match=r"pairs.csv, line 2: node 'b' is not in .*few.csv"):
        eio.read_csv(pairs, nodes=file("node\na\n", "few.csv"), delimiter=";")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "is empty"),
        ("\n\n", {}, "is empty"),
        ("Nodes,edge\na,b\n", {}, r"line 1: .*'node'; found \['Nodes', 'edge'\].*did you mean 'Nodes'"),
        ("node,edge\na,b\n", {"label": "club"}, "no column 'club'"),
        ("node,edge\na,b\na\n", {}, "line 3: expected 2 cells, got 1"),
        ("node,edge\na,b\n\na,b,c\n", {}, "line 4: expected 2 cells, got 3"),
        ("node,node\na,b\n", {}, "'node' appears twice"),
        ("node,edge\n,\n", {}, "line 2: columns 'node' and 'edge' are both blank"),
        ("node,edge,weight\na,b,1\na,c,?\n", {}, "line 3: column 'weight' must be a number, got '\\?'"),
        ("node,edge,weight\na,b,\n", {}, "line 2: column 'weight' must be a number, got ''"),
        ("node,edge,x0\na,b,1\na,c,2\n", {}, "line 3: column 'x0' says '2' of 'a', which had '1' before"),
        ("node,edge,y\na,b,u\na,c,v\n", {}, "line 3: column 'y' says 'v' of 'a'"),
        ("node,edge,x0\na,b,1\nc,b,\n", {}, "no line gives 'c' a value in column 'x0'"),
        ('node,edge\n"a,b\n', {}, "line 2: unexpected end"),
        ('node,edge\n"a\n\n",b\nc\n', {}, "line 5: expected 2 cells"),
        (b"node,edge\n\xe9,b\n", {}, "line 2: byte 0xe9"),
        ("node,edge\n1000000000000000,0\n", {"names": "index"}, "node number 1000000000000000 is beyond"),
        ("node,edge\n-1,0\n", {"names": "index"}, "negative"),
        ("node,edge\na,0\n", {"names": "number"}, "line 2: column 'node' must be a whole number, got 'a'"),
        ("node,edge\na,b\n", {"names": "numbers"}, "names must be one of"),
        ("node,edge\na,b\n", {"delimiter": "::"}, "delimiter"),
    ],
)  # fmt: skip
def test_csv_faults(file, content, options, message):
    with pytest.raises(ValueError, match=message):
        eio.read_csv(file(content), **options)


def in_default_dtype(h, **changes):
    tensors = {k: getattr(h, k) for k in ("x", "edge_x", "edge_weight", "incidence_weight")}
    return h.replace(**{k: v if v is None else v.float() for k, v in tensors.items()}, **changes)


@FILES
@given(hypergraphs(names=TEXT), st.booleans(), st.booleans(), st.sampled_from(",;\t"))
def test_csv_round_trip(tmp_path, h, node_table, edge_table, delimiter):
    tables = {"nodes": tmp_path / "nodes.csv"} if node_table else {}
    tables |= {"edges": tmp_path / "edges.csv"} if edge_table else {}
    eio.write_csv(h, tmp_path / "pairs.csv", **tables, delimiter=delimiter)
    named = {"node_names": h.node_names or None, "edge_names": h.edge_names or None}
    back = eio.read_csv(tmp_path / "pairs.csv", **tables, delimiter=delimiter)
    # Text that spells exactly the numbers of the rows is taken for them.
    assume(not any(set(v) == set(map(str, range(len(v)))) for v in named.values() if v))
    assert back == in_default_dtype(h, **named)


def test_csv_everything_survives(full, tmp_path):
    eio.write_csv(full, tmp_path / "all.csv")
    back = eio.read_csv(tmp_path / "all.csv")
    text = {k: tuple(map(str, getattr(full, k))) for k in ("node_names", "edge_names")}
    assert back == in_default_dtype(full, **text)


def test_csv_refuses_names_it_cannot_tell_apart(tmp_path):
    for names in (["", "a"], [1, "1"]):
        with pytest.raises(ValueError, match="distinct as text, and not blank"):
            eio.write_csv(Hypergraph.from_edges([[0, 1]], node_names=names), tmp_path / "a.csv")


def test_a_large_csv_loads_in_seconds(tmp_path):
    rng = np.random.default_rng(0)
    node, edge = rng.integers(0, 30_000, 200_000), rng.integers(0, 40_000, 200_000)
    lines = [f"n{v},e{e},{v / 7}" for v, e in zip(node.tolist(), edge.tolist(), strict=True)]
    (tmp_path / "big.csv").write_text("node,edge,x0\n" + "\n".join(lines))
    start = time.perf_counter()
    h = eio.read_csv(tmp_path / "big.csv")
    assert time.perf_counter() - start < 10
    assert h.num_nodes == len(np.unique(node))


# ---------------------------------------------------------------------- HIF


@FILES
@given(hypergraphs(min_width=0))
def test_hif_round_trip(tmp_path, h):
    eio.write_hif(h, tmp_path / "h.json")
    assert eio.read_hif(tmp_path / "h.json") == h


def test_hif_keeps_numbers_and_text_apart(tmp_path):
    h = Hypergraph.from_edges([[0, 1, 2]], node_names=[1, "1", 0], edge_names=[0])
    eio.write_hif(h, tmp_path / "h.json")
    assert eio.read_hif(tmp_path / "h.json") == h


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int8, torch.bool, torch.uint8])
def test_hif_keeps_dtypes(dtype):
    h = Hypergraph.from_edges([[0, 1]], x=torch.tensor([[1, 0], [0, 1]]).to(dtype), y=torch.tensor([0.5, 2]))
    assert eio.from_hif_dict(eio.to_hif_dict(h)) == h


def test_hif_is_strict_json_even_with_nan(tmp_path):
    x = torch.tensor([[float("nan"), 1.0], [float("inf"), -float("inf")]])
    h = Hypergraph.from_edges([[0, 1]], x=x, y=torch.tensor([float("nan"), 1.0]))
    eio.write_hif(h, tmp_path / "h.json")
    json.loads((tmp_path / "h.json").read_text(), parse_constant=pytest.fail)
    back = eio.read_hif(tmp_path / "h.json")
    assert torch.equal(back.x.nan_to_num(7), x.nan_to_num(7))
    assert back.y.isnan().tolist() == [True, False]
    with pytest.raises(ValueError, match="edge_weight must be finite"):
        eio.to_hif_dict(h.replace(edge_weight=torch.tensor([float("nan")])))
    with pytest.raises(ValueError, match="complex64"):
        eio.to_hif_dict(h.replace(x=x.to(torch.complex64)))


def test_hif_attributes_are_chosen_by_name():
    data = {
        "nodes": [
            {"node": "a", "attrs": {"age": 1, "club": "x"}},
            {"node": "b", "attr": {"age": 2, "club": "w"}},
        ],
        "incidences": [{"node": "a", "edge": 5, "weight": 2}, {"node": "b", "edge": 5}],
    }
    h = eio.from_hif_dict(data, x="age", y="club")
    assert (h.x.tolist(), h.y.tolist(), h.incidence_weight.tolist()) == ([[1], [2]], [1, 0], [2, 1])
    assert h.edge_names == (5,)


PAIR = {"node": 0, "edge": 0}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{", "line 1, column 2"),
        ("", "line 1"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "digits"),
        ([], "expected a JSON object"),
        ({"incidence": []}, "'incidences' is missing.*did you mean 'incidence'"),
        ({"incidences": {}}, "incidences must be a list"),
        ({"incidences": [PAIR, 3]}, r"incidences\[1\] must be an object, got 3"),
        ({"incidences": [PAIR, {"node": 1}]}, r"incidences\[1\] must have 'edge'.*got \['node'\]"),
        ({"incidences": [{"node": True, "edge": 0}]}, r"incidences\[0\] must have 'node'.*got True"),
        ({"incidences": [{"node": [1], "edge": 0}]}, r"incidences\[0\] must have 'node'.*got \[1\]"),
        ({"incidences": [PAIR | {"weight": "2"}]}, r"incidences\[0\].weight must be a number, got '2'"),
        ({"incidences": [PAIR | {"weight": 10**400}]}, "incidence_weight must be numbers"),
        ({"incidences": [PAIR], "nodes": [{"node": 0}, {"node": 0}]}, r"nodes\[1\] lists 0 a second time"),
        ({"incidences": [PAIR], "nodes": [{"node": 0, "attrs": 3}]}, r"nodes\[0\].attrs must be an object"),
        ({"incidences": [PAIR], "network-type": "directed"}, "directed"),
        ({"incidences": [PAIR], "network-type": ["x"]}, "network-type must be one of"),
        ({"incidences": [PAIR], "metadata": 3}, "metadata must be an object"),
        ({"incidences": [PAIR], "metadata": {"ehnn": {"version": 2}}}, "version 1"),
    ],
)
def test_hif_faults(file, data, message):
    path = file(data if isinstance(data, str) else json.dumps(data), "h.json")
    with pytest.raises(ValueError, match=message) as caught:
        eio.read_hif(path)
    assert "h.json" in str(caught.value)


def test_hif_directed_may_be_read_as_undirected():
    data = {"network-type": "directed", "incidences": [PAIR | {"direction": "head"}]}
    assert eio.from_hif_dict(data, ignore_direction=True) == Hypergraph.from_edges([[0]])


# ---------------------------------------------------------------------- real files

DATA = Path(os.environ.get("EHNN_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


@pytest.mark.parametrize(
    ("name", "shape"), [("house-committees", (1290, 341)), ("walmart-trips", (88860, 69906))]
)
def test_real_files_are_read_and_written_back(name, shape, tmp_path):
    path = DATA / "hypergraphs" / name / f"hyperedges-{name}.txt"
    if not path.exists():
        pytest.skip(f"{path.name} is not there; set EHNN_DATA to the folder that holds hypergraphs/{name}")
    h = eio.read_edge_lines(path, separator=",", base=1)
    assert (h.num_nodes, h.num_edges) == shape
    eio.write_edge_lines(h, tmp_path / "back.txt", separator=",", base=1)
    assert eio.read_edge_lines(tmp_path / "back.txt", separator=",", base=1) == h
