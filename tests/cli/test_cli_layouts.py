"""Which columns of a table are nodes and sets, and places for nodes without features."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

pytest.importorskip("typer")


from ehnn import Hypergraph
from ehnn.cli import places
from ehnn.cli.layouts import Layout
from ehnn.cli.sheets import read_sheet
from ehnn.io import to_named_edges
from ehnn.testing import random_hypergraph

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


def named(h: Hypergraph) -> Hypergraph:
    return h.replace(edge_names=tuple(map(str, range(h.num_edges))))


def test_places_tell_circles_apart() -> None:
    pairs = [[i + side, j + side] for side in (0, 10) for i in range(9) for j in (i + 1, (i + 3) % 10)]
    x, _ = places.Places.learn(named(Hypergraph.from_edges(pairs)), rank=2).encode(
        named(Hypergraph.from_edges(pairs))
    )
    apart = torch.cdist(x, x)
    assert apart[:10, 10:].min() > apart[:10, :10].max()


def test_places_follow_renumbering_and_names() -> None:
    h = named(Hypergraph.from_edges([*random_hypergraph(20, 30, (2, 5), seed=1).edges(), [19]], num_nodes=20))
    learned = places.Places.learn(h, rank=4)
    assert learned.names == tuple(map(str, range(30)))  # the last joins nothing
    x, known = learned.encode(h)
    assert x.shape == (20, 4)
    assert known.tolist() == [True] * 30 + [False]
    again, _ = places.Places.learn(h.permute_nodes(torch.arange(19, -1, -1)), rank=4).encode(h)
    torch.testing.assert_close(again, x, atol=1e-4, rtol=1e-4)
    other = h.replace(edge_names=tuple(str(i + 28) for i in range(h.num_edges)))
    y, known = learned.encode(other)
    assert known.tolist() == [True] * 2 + [False] * 29
    assert set(y.any(1).nonzero().squeeze(1).tolist()) == {v for edge in h.edges()[:2] for v in edge}


def test_places_of_many_are_nearly_those_of_a_whole_decomposition(monkeypatch) -> None:
    h = named(random_hypergraph(60, 200, (2, 5), seed=0))
    exact, _ = places.Places.learn(h, rank=3).encode(h)
    monkeypatch.setattr(places, "_DENSE", 0)
    monkeypatch.setattr(places, "_STEPS", 40)
    near, _ = places.Places.learn(h, rank=3).encode(h)
    assert (near - exact).abs().max() < 0.05 * exact.abs().max()
