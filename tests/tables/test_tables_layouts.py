"""Which columns of a table are nodes and sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ehnn.io import to_named_edges
from ehnn.tables import Source, read
from ehnn.tables.later import as_trained
from ehnn.tables.layouts import Layout
from ehnn.tables.sheets import read_sheet

pytestmark = pytest.mark.usefixtures("folder")


WANTED = {"s": ["ann", "Bob, jr", "cy"], "t": ["cy", "dan"]}
HIF = {
    "incidences": [{"node": n, "edge": e} for e, members in WANTED.items() for n in members],
    "nodes": [{"node": "ann", "attrs": {"team": "red"}}],
}


@pytest.mark.parametrize(
    ("name", "text", "layout"),
    [
        ("a.csv", 'node,edge\nann,s\n"Bob, jr",s\ncy,s\ncy,t\ndan,t\n', Layout()),
        ("a.csv", "person;club\nann;s\nBob, jr;s\ncy;s\ncy;t\ndan;t\n", Layout(node="person", edge="club")),
        ("a.csv", '\ufeffNode , Edge\r\nann, s\r\n"Bob, jr",s\r\ncy,s\r\n,\r\ncy,t\r\ndan,t\r\n', Layout()),
        ("a.tsv", "edge\tnode\ns\tann\ns\tBob, jr\ns\tcy\nt\tcy\nt\tdan\nt\tcy", Layout()),
        ("a.csv", 'id,members\ns,"ann;Bob, jr;cy;"\nt,cy; dan\n', Layout()),
        ("a.csv", 'set,items\ns,"ann|Bob, jr|cy|ann"\nt,cy|dan\n', Layout()),
        ("a.csv", 'id,members\ns,"[\'ann\', \'Bob, jr\', \'cy\']"\nt,"[""cy"", ""dan""]"\n', Layout()),
        ("a.csv", 'id,a,b,c\ns,ann,"Bob, jr",cy\nt,cy,dan,\n', Layout(members=("a", "b", "c"))),
        ("a.json", json.dumps(HIF), Layout()),
    ],
    ids=["pairs", "semicolons", "mark-and-windows", "tabs", "lists", "bars", "literals", "columns", "hif"],
)
def test_layouts(name: str, text: str, layout: Layout) -> None:
    Path(name).write_bytes(text.encode())
    found = to_named_edges(read_sheet(Path(name), layout).h)
    assert isinstance(found, dict)
    assert {e: sorted(set(m)) for e, m in found.items()} == {e: sorted(m) for e, m in WANTED.items()}


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("ann\tBob, jr\tcy\n\ncy\tdan\n", Layout()),
        ('ann,"Bob, jr",cy\r\ncy, dan,,\r\n', Layout()),
        ("ann;Bob, jr;cy\ncy;dan", Layout(separator=";")),
    ],
    ids=["tabs", "quoted", "separator"],
)
def test_lines(text: str, layout: Layout) -> None:
    Path("a.txt").write_text(text, encoding="utf-8", newline="")
    sheet = read_sheet(Path("a.txt"), layout)
    assert list(map(sorted, to_named_edges(sheet.h).values())) == list(map(sorted, WANTED.values()))
    assert sheet.h.edge_names == ("1", "2")


def test_white_space_separates_lines_without_another_separator() -> None:
    Path("a.txt").write_text("a b  c\nc d\n", encoding="utf-8")
    assert read_sheet(Path("a.txt"), Layout()).h.edges() == [[0, 1, 2], [2, 3]]


@pytest.mark.parametrize(
    ("name", "text", "layout", "remark"),
    [
        ("a.csv", "id,members\ns,a;b;a\nt,b;c\n", Layout(), "members that a set has twice count once: 1"),
        ("a.csv", "id,x,y\ns,a,a\nt,b,c\n", Layout(members=("x", "y")), "a set has twice count once: 1"),
        ("a.txt", "a b a\nb c d\n", Layout(), "members that a set has twice count once: 1"),
        ("a.txt", "# my sets\n#\n\na b c\n#b c d\n", Layout(), "lines that begin with '# ' are left out: 2"),
        ("a.csv", "node,edge\na,s\n,s\nb,s\n,\n", Layout(),
         "rows without a name in column 'node' are left out: 1, the first is a.csv, line 3"),
    ],
    ids=["lists", "columns", "lines", "comments", "nameless"],
)  # fmt: skip
def test_what_is_left_out_is_said(name: str, text: str, layout: Layout, remark: str) -> None:
    Path(name).write_text(text)
    sheet = read_sheet(Path(name), layout)
    assert len(sheet.remarks) == 1
    assert remark in sheet.remarks[0]
    assert "my" not in (sheet.h.node_names or ())


def test_an_empty_set_is_no_row_without_a_name() -> None:
    Path("a.csv").write_text("node,edge\na,s\n,empty\n")
    sheet = read_sheet(Path("a.csv"), Layout())
    assert (sheet.h.num_edges, sheet.remarks) == (2, ())


MATRIX = {"sets": ("x", "y"), "weight": "w"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (MATRIX, "--weight-column: a table with a column for each set has no weights"),
        (MATRIX | {"edge_weight": "v"}, "--weight-column and --edge-weight-column: a table with"),
        ({"members": ("x",), "weight": "w"}, "--weight-column is for a row per member"),
        (
            {"kind": "lines", "weight": "w", "edge": "foo", "members": ("q",)},
            "--layout lines has no columns: leave out --edge-column, --member-columns, --weight-column",
        ),
        (
            {"kind": "hif", "node": "n", "edge_weight": "v"},
            "HIF names its nodes, sets and weights itself; leave out --node-column, --edge-weight-column",
        ),
    ],
)
def test_options_that_a_layout_does_not_read_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Layout(**given)


@pytest.mark.parametrize(
    ("name", "given", "options"),
    [
        ("hif.json", {"edge_weight": "v"}, "--edge-weight-column"),
        ("a.hif", {"node": "n", "edge": "e"}, "--node-column, --edge-column"),
        ("hif.json", {"kind": "pairs"}, "--layout"),
    ],
)
def test_columns_are_not_said_of_hif(name: str, given: dict[str, Any], options: str) -> None:
    Path(name).write_text(json.dumps(HIF), encoding="utf-8")
    told = f"{name} is HIF, which names its nodes, sets and weights itself; leave out {options}$"
    with pytest.raises(ValueError, match=told):
        read_sheet(Path(name), Layout(**given))


def test_a_column_of_ids_needs_a_table_of_nodes() -> None:
    Path("a.csv").write_text("node,edge,y\na,e,p\nb,e,q\nc,e,p\nd,e,q\n", encoding="utf-8")
    with pytest.raises(ValueError, match="id_column is for a table of nodes: give nodes, or leave out 'foo'"):
        read("a.csv", "y", id_column="foo")
    reader = read("a.csv", "y").reader
    with pytest.raises(ValueError, match="--id-column is for a table of nodes"):
        as_trained(reader, Source("a.csv", id_column="foo"))
    Path("b.csv").write_text("node,x,y\na,1,0\n", encoding="utf-8")
    sheet = as_trained(reader, Source("b.csv", layout=Layout(sets=("x", "y")))).read(loose=True)
    assert to_named_edges(sheet.h) == {"x": ["a"], "y": []}
