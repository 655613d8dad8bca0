"""CSV: round trips and clear errors."""

import time

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from io_strategies import FILES, TEXT, hypergraphs

import ehnn.io as eio
from ehnn import Hypergraph


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


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("red", "", "NA", "blue"), [1, -1, -1, 0]),
        (("3", "NaN", "", "0"), [3, -1, -1, 0]),
        (("1.5", "null", "nan", "-1"), [1.5, float("nan"), float("nan"), -1.0]),
    ],
    ids=["classes", "whole-numbers", "numbers"],
)
def test_csv_with_missing_labels(file, tmp_path, cells, expected):
    rows = "".join(f"n{i},e,{cell}\n" for i, cell in enumerate(cells))
    h = eio.read_csv(file("node,edge,team\n" + rows), label="team")
    assert np.array_equal(h.y.numpy(), expected, equal_nan=True)
    assert h.y.is_floating_point() == isinstance(expected[0], float)
    eio.write_csv(h, tmp_path / "again.csv")
    assert np.array_equal(eio.read_csv(tmp_path / "again.csv").y.numpy(), expected, equal_nan=True)
    nodes = file("node,team\n" + rows.replace(",e,", ","), "nodes.csv")
    assert np.array_equal(
        eio.read_csv(file("node,edge\nn0,e\n", "pairs.csv"), nodes=nodes, label="team").y, h.y, equal_nan=True
    )


def test_csv_loses_outer_white_space(file):
    h = eio.read_csv(file("node, edge ,y\n a ,e,u\na, f, u\n\u00a0b,e ,v\n"))
    assert (h.node_names, h.edge_names, h.y.tolist()) == (("a", "b"), ("e", "f"), [0, 1])


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
        ("node,edge,weight\na,b,1\na,c,1\na,b,2\n", {}, "line 4: column 'weight' says '2' .* line 2 says"),
        ("node,edge,x0\na,b,1\na,c,2\n", {}, "line 3: column 'x0' gives '2' for 'a', but an earlier"),
        ("node,edge,y\na,b,u\na,c,v\n", {}, "line 3: column 'y' gives 'v' for 'a'"),
        ("node,edge,x0\na,b,1\nc,b,\n", {}, "no line gives 'c' a value in column 'x0'"),
        ("node,edge,x0\na,b,1\nc,b,NA\n", {}, "line 3: column 'x0' must be a number, got 'NA'"),
        ("node,edge,y\na,b,\nc,b,NA\n", {}, "column 'y' has no label at all"),
        ("node,edge, node\na,b,c\n", {}, "'node' appears twice"),
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
    trimmed = {
        k: getattr(h, k) and [name.strip() for name in getattr(h, k)] for k in ("node_names", "edge_names")
    }
    assume(all("" not in v and len(set(v)) == len(v) for v in trimmed.values() if v))
    tables = {"nodes": tmp_path / "nodes.csv"} if node_table else {}
    tables |= {"edges": tmp_path / "edges.csv"} if edge_table else {}
    eio.write_csv(h, tmp_path / "pairs.csv", **tables, delimiter=delimiter)
    named = {key: tuple(names) if names else None for key, names in trimmed.items()}
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
    for names in (["", "a"], [1, "1"], [" ", "a"], ["a", "a "]):
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


def test_minus_one_as_a_class_is_told(tmp_path):
    """It means that there is no label: of classes -1 and 1 one would be lost without a word."""
    path = tmp_path / "a.csv"
    path.write_text("node,edge,kind\na,1,-1\nb,1,1\n")
    with pytest.warns(UserWarning, match="column 'kind' has -1, which means that there is no label"):
        assert eio.read_csv(path, label="kind").y.tolist() == [-1, 1]
