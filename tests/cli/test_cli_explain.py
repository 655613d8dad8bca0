"""``ehnn explain`` on tables of nodes, sets and incidences, and its section of the report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NoReturn

import pytest

pytest.importorskip("typer")

from ehnn.estimators.explain.asking import answer
from ehnn.hypergraph import Hypergraph
from ehnn.tables.later import Asked

from .own_tables import COLUMNS, FAST, members, run, write


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_node_is_explained_and_reported(here: Path) -> None:
    pairs = write(here / "pairs.csv", ["person", "club", "team"], members())
    run("train", "--data", pairs, *COLUMNS, *FAST, "--out", "mine")
    said = run("explain", "mine", pairs, "--node", "p3", "--node", "p4", "--lines", "30")
    assert "p3: predicted red, p(red) = " in said
    assert "p4: predicted blue, p(blue) = " in said
    own = [club for person, club, _ in members() if person == "p3"]
    assert all(f"hyperedge {club} " in said for club in own)
    run("explain", "mine", pairs, "--node", "p3", "--target", "blue")
    kept = json.loads(Path("mine/explanations.json").read_text(encoding="utf-8"))
    assert [(row["row"], row["target"]) for row in kept] == [("p3", "red"), ("p4", "blue"), ("p3", "blue")]
    run("explain", "mine", pairs, "--node", "p3")
    assert len(json.loads(Path("mine/explanations.json").read_text(encoding="utf-8"))) == 3
    later = write(here / "later.csv", ["person", "club"], [("p3", "new club"), ("p5", "new club")] * 2)
    said = run("explain", "mine", later, "--node", "p3")
    assert "Note: later.csv: 2 of 4 rows repeat a node of a set" in said.replace(f"{here}/", "")
    assert "1 of 1 sets were not there in training, 'new club' for one" in said
    run("explain", "mine", pairs, "--node", "p3")
    run("report", "mine", "--out", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Why p3: red" in page
    assert own[0] in page.partition('id="explanations')[2]
    Path("mine/explanations.json").write_text("[{", encoding="utf-8")
    run("report", "mine", "--out", "page.html")
    assert "explanations.json" in Path("page.html").read_text(encoding="utf-8")


def test_what_is_asked_wrongly_is_told(here: Path) -> None:
    pairs = write(here / "pairs.csv", ["person", "club", "team"], members())
    run("train", "--data", pairs, *COLUMNS, *FAST, "--out", "mine")
    for options, message in (
        ((), "the model predicts labels of nodes: give --node NAME"),
        (("--set", "c1"), "give --node NAME"),
        (("--node", "p999"), "row 'p999' is not in the table"),
        (("--node", "p3", "--target", "green"), "--target 'green' is not a class; known: ['blue', 'red']"),
    ):
        assert message in run("explain", "mine", pairs, *options, code=2)
    assert not Path("mine/explanations.json").exists()


def test_sets_and_nodes_within_sets(here: Path) -> None:
    teams = {club: team for _, club, team in members()}
    rows = [(club, team, " ".join(p for p, c, _ in members() if c == club)) for club, team in teams.items()]
    sets = write(here / "sets.csv", ["club", "team", "people"], rows)
    layout = ("--edge-column", "club", "--member-columns", "people", "--label-column", "team")
    run("train", "--data", sets, *layout, *FAST, "--out", "sets")
    assert "c5: predicted red" in run("explain", "sets", sets, "--set", "c5")
    table = [(p, c, "first" if int(p[1:]) % 3 else "last") for p, c, _ in members()]
    inside = write(here / "inside.csv", ["person", "club", "part"], table)
    options = (
        "--node-column",
        "person",
        "--edge-column",
        "club",
        "--label-column",
        "part",
        "--task",
        "incidences",
    )
    run("train", "--data", inside, *options, *FAST, "--out", "inside")
    person, club, _ = members()[0]
    assert f"{person} in {club}: predicted" in run(
        "explain", "inside", inside, "--node", person, "--set", club
    )
    assert "must be given equally often, got 2 and 1" in run(
        "explain", "inside", inside, "--node", "p1", "--node", "p2", "--set", "c1", code=2
    )


NAMES, PAIRS = [("0003",), ("30",), ("ann",)], [("0003", "c1"), ("ann", "c2")]


@pytest.mark.parametrize(
    ("names", "row", "hint"),
    [
        (NAMES, "3", "; '0003' is known: write them in the same way in all tables, with zeros .* without"),
        (PAIRS, ("3", "c1"), "; '0003' is known: write .* without"),
        (NAMES, "an", r" \(did you mean 'ann'\?\)"),
        (NAMES, "none", ""),
    ],
)
def test_a_row_in_another_writing_is_hinted_at(names: list[tuple[str, ...]], row: Any, hint: str) -> None:
    with pytest.raises(ValueError, match=f"{re.escape(repr(row))} is not in the table{hint}$"):
        answer([row], questions, Asked(names, [], []), None, lambda *_: [], None)


def questions(h: Hypergraph) -> NoReturn:
    raise AssertionError("a row that is not there must not be explained")
