"""Files: atomic writes, named edges, one hyperedge per line; round trips and clear errors."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from io_strategies import FILES, TEXT, hypergraphs

import ehnn.io as eio
from ehnn import Hypergraph
from ehnn._utils.atomic import atomic_write
from ehnn.io._support import read_text


def test_atomic_write_replaces_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.txt"
    with atomic_write(path) as f:
        f.write("old\n")
    os.chmod(path, 0o640)
    with pytest.raises(TypeError), atomic_write(path) as f:
        f.writelines(["new", None])
    assert path.read_text() == "old\n"
    with atomic_write(path, "wb") as f:
        f.write(b"new\r\n")
        assert path.read_text() == "old\n"
    assert path.read_bytes() == b"new\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a.txt"]
    with pytest.raises(ValueError, match="mode"), atomic_write(path, "a"):
        pass


def test_atomic_write_follows_links(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with atomic_write(tmp_path / "link.txt") as f:
        f.write("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_named_edges():
    h = eio.from_named_edges([["b", "a"], [], ["a", "c", "a"]])
    assert h.node_names == ("b", "a", "c")
    assert h.edge_names is None
    assert h.edges() == [[0, 1], [], [1, 2]]
    assert eio.to_named_edges(h) == [["b", "a"], [], ["a", "c"]]
    assert eio.to_named_edges(Hypergraph.from_edges([[1, 0]])) == [[0, 1]]
    lazy = eio.from_named_edges((edge for edge in ({1}, {2})), x=np.ones((2, 1), np.float32))
    assert lazy.num_edges == 2


def test_hyperedges_of_one_name_are_not_lost():
    h = Hypergraph.from_edges([[0], [1], [0, 1]], edge_names=["a", "b", "a"])
    with pytest.raises(ValueError, match=r"edge_names must be distinct .*, got 'a' twice"):
        eio.to_named_edges(h)
    assert eio.to_named_edges(h.replace(edge_names=["a", "b", "c"])) == {"a": [0], "b": [1], "c": [0, 1]}


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan")])
def test_missing_names_are_refused(missing):
    with pytest.raises(ValueError, match=r"hyperedge 1 \(from 0\) has a missing node"):
        eio.from_named_edges([["a", "b"], ["b", missing]])
    with pytest.raises(ValueError, match="hyperedge 'f' has a missing node"):
        eio.from_named_edges({"e": ["a", "b"], "f": {missing}})
    with pytest.raises(ValueError, match=r"hyperedge 1 \(from 0\) has a missing name"):
        eio.from_named_edges({"e": ["a", "b"], missing: ["a"]})
    with pytest.raises(ValueError, match=r"node_names has a missing name in row 1"):
        eio.from_named_edges([["a"]], node_names=["a", missing])


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


@pytest.mark.parametrize(
    ("name", "shape"), [("house-committees", (1290, 341)), ("walmart-trips", (88860, 69906))]
)
def test_real_files_are_read_and_written_back(name, shape, tmp_path, real_data):
    path = real_data / "hypergraphs" / name / f"hyperedges-{name}.txt"
    h = eio.read_edge_lines(path, separator=",", base=1)
    assert (h.num_nodes, h.num_edges) == shape
    eio.write_edge_lines(h, tmp_path / "back.txt", separator=",", base=1)
    assert eio.read_edge_lines(tmp_path / "back.txt", separator=",", base=1) == h


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_with_and_without_a_mark(tmp_path, encoding):
    """`bcp -w` of SQL Server writes no mark."""
    path = tmp_path / "a.txt"
    path.write_bytes("ann bob\nZoë Łucja\n".encode(encoding))
    assert read_text(path) == "ann bob\nZoë Łucja\n"
