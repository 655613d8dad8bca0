"""What a person with a table meets in the first hour: columns that say it all, odd marks, wrong paths."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from .own_tables import COLUMNS, FAST, QUICK, predictions, run, write

pytestmark = pytest.mark.usefixtures("folder")


def test_the_column_that_says_it_all_is_found(tmp_path: Path) -> None:
    """Sets at random say nothing, age says it all."""
    draw = random.Random(0)
    ages = [draw.randint(18, 70) for _ in range(90)]
    clubs = [(f"p{p}", f"c{c}") for c in range(60) for p in draw.sample(range(90), 4)]
    write(tmp_path / "clubs.csv", ["node", "edge"], clubs)
    people = [(f"p{p}", age, "old" if age > 44 else "young") for p, age in enumerate(ages)]
    write(tmp_path / "people.csv", ["node", "age", "kind"], people)
    command = ("train", "--data", "clubs.csv", "--nodes", "people.csv", "--label-column", "kind", *FAST)
    run(*command, "--out", "m")
    assert json.loads(Path("m/run.json").read_text())["test"]["accuracy"] >= 0.85
    run("predict", "--model", "m", "--data", "clubs.csv", "--nodes", "people.csv")
    right = [p["predicted"] == kind for p, (*_, kind) in zip(
        sorted(predictions(), key=lambda p: int(p["node"][1:])), people, strict=True)]  # fmt: skip
    assert np.mean(right) >= 0.9
    assert "done before" in run(*command, "--out", "m")


def test_a_set_is_judged_alike_whatever_else_is_in_the_file(tmp_path: Path) -> None:
    draw = random.Random(0)
    goods = {"fruit": ["apple", "pear", "plum", "fig"], "tools": ["saw", "vice", "drill", "file"]}
    kinds = [draw.choice(list(goods)) for _ in range(60)]
    rows = [(f"b{i}", ";".join(draw.sample(goods[kind], 3)), kind) for i, kind in enumerate(kinds)]
    header = ["basket", "items", "kind"]
    write(tmp_path / "train.csv", header, rows)
    run("train", "--data", "train.csv", "--label-column", "kind", "--out", "m", *FAST)
    asked = [("q", "saw;vice;drill", "")]
    strangers = [(f"r{i}", f"apple;n{i};m{i};k{i};l{i}", "") for i in range(3)]
    found = []
    for part in (asked, asked + strangers):
        write(tmp_path / "new.csv", header, part)
        run("predict", "--model", "m", "--data", "new.csv", "--force")
        found.append(predictions()[0])
    assert found[0]["predicted"] == found[1]["predicted"] == "tools"
    assert float(found[0]["p(tools)"]) == pytest.approx(float(found[1]["p(tools)"]), abs=0.05)


@pytest.mark.parametrize("mark", ["n/a", "#N/A", "<NA>", "none", "NAN", " "])
def test_marks_of_a_missing_label_are_no_class(pairs: Path, mark: str) -> None:
    lines = pairs.read_text(encoding="utf-8").splitlines()
    first = lines[1].split(",")[0]
    marked = [line.rsplit(",", 1)[0] + f",{mark}" if line.split(",")[0] == first else line for line in lines]
    pairs.write_text("\n".join(marked) + "\n", encoding="utf-8")
    said = run("train", "--data", pairs, *COLUMNS, *QUICK, "--out", "m")
    assert json.loads(Path("m/run.json").read_text())["labels"] == ["blue", "red"]
    assert "classes: 'blue' (" in said


def test_without_validation_no_figure_of_it_is_made_up(pairs: Path) -> None:
    assert "valid 0" not in run("train", "--data", pairs, *COLUMNS, *QUICK, "--valid", 0, "--out", "m")
    assert all("valid" not in row for row in json.loads(Path("m/run.json").read_text())["history"])


def test_paths_of_the_wrong_kind_are_named(pairs: Path) -> None:
    Path("folder").mkdir()
    command = ("train", *COLUMNS, *QUICK, "--data")
    assert "folder is a folder; a file is expected" in run(*command, "folder", code=2)
    said = run(*command, pairs, "--out", f"{pairs}/x", code=1)
    assert "a part of this path is a file" in said


def test_what_differs_from_the_run_in_the_folder_is_said(pairs: Path) -> None:
    command = ("train", "--data", pairs, *COLUMNS, *QUICK, "--out", "m")
    run(*command)
    assert "holds a run with other data or options (lr was " in run(*command, "--lr", 0.5, code=2)
    Path("m/run.json").write_text("{")
    assert "run.json is damaged" in run(*command, code=2)


def test_lines_say_that_they_lose_empty_sets(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("node,edge\na,1\nb,1\n,2\nc,3\n")
    assert "empty sets" in run("data", "convert", "a.csv", "o.txt")


def test_one_column_is_not_both(pairs: Path) -> None:
    same = ("--node-column", "person", "--edge-column", "person", "--label-column", "team")
    assert "must be two columns, got 'person' twice" in run("train", "--data", pairs, *same, code=2)
