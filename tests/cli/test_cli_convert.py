"""``ehnn data convert``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("typer")


from ehnn.io import read_csv, read_hif, to_named_edges
from ehnn.tables.layouts import Layout
from ehnn.tables.sheets import read_sheet

from .own_tables import members, run

pytestmark = pytest.mark.usefixtures("folder")


def test_convert_there_and_back(pairs: Path) -> None:
    before = pairs.read_bytes()
    run("data", "convert", pairs, "a.hif.json", "--node-column", "person", "--edge-column", "club")
    run("data", "convert", "a.hif.json", "b.csv")
    run("data", "convert", "b.csv", "c.hif.json")
    first, again = read_hif("a.hif.json"), read_hif("c.hif.json")
    assert first == again == read_csv("b.csv", names="text")
    assert first.node_names[:2] == (members()[0][0], members()[1][0])
    said = run("data", "convert", "b.csv", "d.txt")
    assert "do not carry names of sets" in said
    sets = list(map(sorted, to_named_edges(first).values()))
    assert list(map(sorted, to_named_edges(read_sheet(Path("d.txt"), Layout()).h).values())) == sets
    assert pairs.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("members.csv members.csv", "is one of the files that are read"),
        ("members.csv there.json", "there.json exists"),
        ("members.csv a.xlsx", "is not known from its ending; give --to: csv, lines, hif"),
        ("members.csv a.json --from cvs", "unknown format 'cvs' (did you mean 'csv'?)"),
        ("members.csv a.json", "say where the sets are"),
    ],
)
def test_convert_refuses(arguments: str, message: str, pairs: Path) -> None:
    Path("there.json").write_text("mine", encoding="utf-8")
    assert message in run("data", "convert", *arguments.split(), code=2)
    assert Path("there.json").read_text(encoding="utf-8") == "mine"


ROLES = "node,edge,part\nann,chess,chair\nbob,chess,member\nbob,choir,chair\ncy,choir,member\n"


@pytest.mark.parametrize("header", ["node,edge,part", "person,club,part"])
def test_words_of_roles_are_kept(header: str) -> None:
    Path("a.csv").write_text(ROLES.replace("node,edge,part", header), encoding="utf-8")
    node, edge, _ = header.split(",")
    columns = ("--node-column", node, "--edge-column", edge, "--role-column", "part")
    run("data", "convert", "a.csv", "b.json", *columns)
    written = json.loads(Path("b.json").read_text(encoding="utf-8"))
    assert written["network-type"] == "undirected"
    named = [(i["node"], i["edge"], i["attrs"]["role_name"]) for i in written["incidences"]]
    assert [",".join(row) for row in named] == ROLES.splitlines()[1:]
    said = run("data", "convert", "b.json", "c.csv")
    assert "numbers" not in said
    run("data", "convert", "c.csv", "d.json")
    assert json.loads(Path("d.json").read_text(encoding="utf-8")) == written
    assert read_hif("d.json") == read_csv("c.csv", names="text")
    assert read_hif("d.json").roles.tolist() == [0, 1, 0, 1]


def test_directions_are_numbers_in_csv_and_a_note_says_so() -> None:
    text = ROLES.replace("chair", "tail").replace("member", "head")
    Path("a.csv").write_text(text, encoding="utf-8")
    run("data", "convert", "a.csv", "b.json", "--role-column", "part")
    assert "do not carry names of sets, roles" in run("data", "convert", "b.json", "b.txt")
    assert json.loads(Path("b.json").read_text(encoding="utf-8"))["network-type"] == "directed"
    assert "0 is tail, 1 head, 2 both" in run("data", "convert", "b.json", "c.csv")
    assert read_csv("c.csv", names="text") == read_hif("b.json")


def test_what_a_table_loses_is_said(pairs: Path) -> None:
    Path("t.csv").write_text("person,club,team\nann,x,red\nbo,x,red\n,y,blue\n", encoding="utf-8")
    columns = ("--node-column", "person", "--edge-column", "club")
    said = run("data", "convert", "t.csv", "t.json", *columns)
    assert "Note: t.csv: columns that are not carried: ['team']" in said
    said = run("data", "convert", "t.json", "back.csv")
    assert "not carried" not in run("data", "convert", "back.csv", "again.json")
    Path("t.csv").write_text("person,club\nann,x\nbo,x\nbo,none\n", encoding="utf-8")
    said = run("data", "convert", "t.csv", "u.json", *columns)
    assert "column 'club' has the name 'none' in 1 rows; where it means that there is none" in said
