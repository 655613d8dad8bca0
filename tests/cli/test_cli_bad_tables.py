"""Tables and options that ``ehnn train --data`` and ``ehnn predict`` refuse, and what they say."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("typer")


from .own_tables import COLUMNS, QUICK, nodes_table, predictions, run, write

pytestmark = pytest.mark.usefixtures("folder")


HEADER = "person,club,team\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "bad.csv is empty: expected a header line"),
        (HEADER, "bad.csv has a header line and no rows"),
        (
            "persn,club,team\na,c,red\n",
            "no column 'person'; found ['persn', 'club', 'team'] (did you mean 'persn'?)",
        ),
        (
            "person,club,taem\na,c,red\n",
            "no column 'team'; found ['person', 'club', 'taem'] (did you mean 'taem'?)",
        ),
        (
            HEADER + "a,c,red\nb,c,blue,old\n",
            "bad.csv, line 3: expected 3 cells, got 4; if each line is a set",
        ),
        (HEADER + "a,c,red\nb,c,red\n", "column 'team' has only one class, 'red'"),
        (HEADER + "a,c,\nb,c,NA\n", "column 'team' has no label at all"),
        (
            HEADER + "a,c,red\na,d,blue\n",
            "line 3: column 'team' says 'blue' of node 'a', but bad.csv, line 2 says 'red'; "
            "for labels of sets: --task sets; of nodes within sets: --task incidences",
        ),
        (
            HEADER + "a,c,1.5\nb,c,2.5\nd,c,3.5\n",
            "3 classes for 3 labels, too many to learn; to predict a number",
        ),
        (HEADER + 'a,"c,red\n', "bad.csv, line 2: unexpected end of data"),
        ("person,club,person\na,b,c\n", "the column 'person' appears twice"),
    ],
)
def test_bad_tables(text: str, message: str) -> None:
    Path("bad.csv").write_text(text, encoding="utf-8")
    assert message in run("train", "--data", "bad.csv", *COLUMNS, *QUICK, "--out", "mine", code=2)
    assert Path("bad.csv").read_text(encoding="utf-8") == text
    assert not Path("mine").exists()


def test_text_that_is_not_utf_8() -> None:
    Path("bad.csv").write_bytes(HEADER.encode() + b"ann,c,red\nJos\xe9,c,blue\n")
    said = run("train", "--data", "bad.csv", *COLUMNS, code=2)
    assert "bad.csv, line 3: byte 0xe9 is not UTF-8 text" in said


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("--data membrs.csv --label-column team", 1, "no file membrs.csv (did you mean members.csv?)"),
        ("--data https://a.b/c.csv --label-column team", 1, "https:/a.b/c.csv; download it first"),
        (
            "FILE --label-column team",
            2,
            "members.csv: say where the sets are: --node-column and --edge-column",
        ),
        ("FILE --node-column person", 2, "--label-column must say what to predict"),
        (
            "FILE --node-column person --edge-column club --task nodes",
            2,
            "--label-column must say what to predict",
        ),
        ("FILE --node-column person --label-column team", 2, "--edge-column is missing beside 'person'"),
        (
            "FILE --label-column team --model ehnn-mpl",
            2,
            "unknown model 'ehnn-mpl' (did you mean 'ehnn-mlp'?)",
        ),
        ("FILE --label-column team --task node", 2, "unknown task 'node' (did you mean 'nodes'?)"),
        ("FILE --label-column team --task hyperedges", 2, "leave out --label-column"),
        (
            "FILE --label-column team --layout rows",
            2,
            "--layout must be one of auto, pairs, sets, matrix, lines, hif",
        ),
        ("FILE --label-column team --test 0.9", 2, "must leave a part to train on"),
        ("--label-column team", 2, "--data must name your file"),
        (
            "--data members.csv --edge-column club day --label-column team",
            2,
            "'day' is one too many: --data takes one file; --node-column, --edge-column and",
        ),
        ("members.csv --label-column team", 2, "'members.csv' is a file: ehnn train --data members.csv"),
        ("--epochs 3 k-edge --model ehnn-mlp", 2, "--epochs must follow the task"),
    ],
)
def test_wrong_options(arguments: str, code: int, message: str, pairs: Path) -> None:
    arguments = arguments.replace("FILE", "--data members.csv")
    assert message in run("train", *arguments.split(), code=code)
    assert not Path("runs").exists() or not list(Path("runs").rglob("run.json"))


@pytest.mark.parametrize(
    ("changes", "arguments", "message"),
    [
        ({"p1": ("p1", "red", "old", "a", "")}, (), "column 'age' holds numbers elsewhere, got 'old'"),
        ({"": ("", "red", 1, "a", "")}, (), "column 'id' is blank"),
        ({}, ("--id-column", "idd"), "there is no column 'idd' with the names"),
        ({}, ("--feature-columns", "age", "twon"), "there is no column 'twon'"),
        ({}, ("--feature-columns", "team"), "'team' is the label, which would give the answer away"),
    ],
)
def test_bad_tables_of_nodes(changes: dict, arguments: tuple, message: str, pairs: Path) -> None:
    nodes = nodes_table(**changes)
    assert message in run("train", "--data", pairs, *COLUMNS, "--nodes", nodes, *arguments, *QUICK, code=2)


def test_labels_for_nodes_that_are_not_there(pairs: Path) -> None:
    nodes = write(Path("nodes.csv"), ["id", "team"], [("P1", "red"), ("P2", "blue")])
    said = run("train", "--data", pairs, *COLUMNS, "--nodes", nodes, code=2)
    assert "no node of nodes.csv is in a set of members.csv; the first is 'P1' (nodes.csv, line 2)" in said
    assert "did you mean 'p1'?" in said


def test_two_sets_of_one_name() -> None:
    write(Path("a.csv"), ["id", "members", "kind"], [("s", "a;b", "x"), ("s", "b;c", "y")])
    assert "a.csv, line 3: 's' names a second set" in run(
        "train", "--data", "a.csv", "--label-column", "kind", code=2
    )


def test_predict_writes_over_nothing(pairs: Path) -> None:
    run("train", "--data", pairs, *COLUMNS, *QUICK, "--out", "mine")
    before = pairs.read_bytes()
    command = ("predict", "--model", "mine", "--data", pairs, "--out")
    assert "is one of the files that are read" in run(*command, pairs, "--force", code=2)
    assert "is one of the files that are read" in run(*command, "mine/model.json", "--force", code=2)
    Path("mine.csv").write_text("precious", encoding="utf-8")
    assert "exists; choose another name" in run(*command, "mine.csv", code=2)
    assert Path("mine.csv").read_text(encoding="utf-8") == "precious"
    run(*command, "mine.csv", "--force")
    assert len(predictions("mine.csv")) > 2
    assert "there is no folder" in run(*command, "no/where.csv", code=2)
    assert run(*command, "-").startswith("node,predicted,p(blue),p(red)")
    assert pairs.read_bytes() == before
    Path("empty").mkdir()
    assert "empty holds no saved estimator" in run("predict", "--model", "empty", "--data", pairs, code=2)
    Path("mine/model.json").write_text("{}", encoding="utf-8")
    assert "is not a saved estimator" in run("predict", "--model", "mine", "--data", pairs, code=2)


def test_two_labels_are_refused():
    rows = [(f"n{i}", f"s{i % 3}", "ab"[i % 2], i % 2) for i in range(12)]
    write(Path("t.csv"), ["node", "set", "kind", "number"], rows)
    said = run("train", "--data", "t.csv", "--label-column", "kind", "--label-column", "number", code=2)
    assert "--label-column is given 2 times (kind, number); train one at a time" in said


def test_whole_numbers_with_a_point_are_the_same_classes():
    rows = [(f"n{i}", f"s{i % 4}", ("1", "1.0", "0", "0.0")[i % 4]) for i in range(24)]
    write(Path("t.csv"), ["node", "set", "k"], rows)
    columns = ("--node-column", "node", "--edge-column", "set", "--label-column", "k")
    run("train", "--data", "t.csv", *columns, *QUICK, "--out", "r")
    run("predict", "--model", "r", "--data", "t.csv", "--out", "p.csv")
    assert list(predictions("p.csv")[0]) == ["node", "predicted", "p(0)", "p(1)"]


def test_a_separator_in_few_cells_is_told():
    letters = "abcdefghij" * 4
    rows = [(f"{a} {b}" if i else f"{a}; {b}", "xy"[i % 2]) for i, (a, b) in enumerate(pairwise(letters))]
    write(Path("t.csv"), ["who", "kind"], rows)
    said = run("train", "--data", "t.csv", "--member-columns", "who", "--label-column", "kind", *QUICK)
    assert "members are split at ';', which is in 1 of 39 cells" in said
