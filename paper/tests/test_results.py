import csv
import json
import math
import multiprocessing
import sys

import pytest

from ehnn_paper import results
from ehnn_paper.results import KEYS, fuller, provenance, read_rows, write_rows


def row(**changes):
    base = {
        "setting": "a", "model": "m", "selection": "none", "metric": "s", "mean": 1.5, "std": 0.5, "runs": 3,
        "paper": None, "command": "python x.py", "commit": "abc", "hardware": "cpu", "date": "2025-01-01",
    }  # fmt: skip
    return base | changes


def test_json_and_csv_hold_the_same_rows(tmp_path):
    settings = {"lr": 0.1, "path": ["nodes", "all"]}
    given = [row(setting="a, b", seeds=[0, 1, 7], settings=settings), row(setting="ü", std=None, paper=97)]
    path = write_rows("demo", given, tmp_path / "new")
    rows = json.loads(path.read_text(encoding="utf-8"))
    assert [list(r) for r in rows] == [list(KEYS)] * 2
    assert rows[0]["experiment"] == "demo"
    assert rows[1]["setting"] == "ü"
    with open(path.with_suffix(".csv"), encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert (table[0].pop("seeds"), json.loads(table[0].pop("settings"))) == ("0 1 7", settings)
    assert (rows[0].pop("seeds"), rows[0].pop("settings")) == ([0, 1, 7], settings)
    assert table == [{k: "" if v is None else str(v) for k, v in r.items()} for r in rows]


def test_a_rerun_replaces_only_its_rows_and_keeps_their_places(tmp_path):
    write_rows("demo", [row(setting=s) for s in "abc"], tmp_path)
    write_rows("demo", [row(setting="b", mean=2.0), row(setting="d")], tmp_path)
    rows = read_rows("demo", tmp_path)
    assert [(r["setting"], r["mean"]) for r in rows] == [("a", 1.5), ("b", 2.0), ("c", 1.5), ("d", 1.5)]


def _write_some(name, folder):
    for number in range(10):
        write_rows("demo", [row(setting=f"{name}{number}")], folder)


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
def test_processes_that_write_one_table_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_some, args=(name, tmp_path)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert {r["setting"] for r in read_rows("demo", tmp_path)} == {f"{n}{i}" for n in "ab" for i in range(10)}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.csv", "demo.json"]


def test_a_quick_trial_does_not_replace_a_fuller_figure():
    there = [row(runs=5, command="x --epochs 10 --iterations 100"), row(setting="b", runs=1)]
    assert fuller(row(runs=3, command="x --epochs 10 --iterations 100"), there) == "5 runs, 1000 steps"
    assert fuller(row(runs=9, command="x --epochs 3 --iterations 100"), there) == "5 runs, 1000 steps"
    assert fuller(row(runs=5, command="x --epochs 20 --iterations 100"), there) is None
    assert fuller(row(setting="b", runs=1, command="x --epochs 3"), there, usual=500) == "1 runs, 500 epochs"
    assert fuller(row(setting="c"), there) is None
    cut = "x --epochs 10 --iterations 100 (out of time after 30 iterations)"
    assert fuller(row(runs=5, command=cut), there) == "5 runs, 1000 steps"
    few = "x --epochs 20 --iterations 100 --test-pairs 4"
    assert fuller(row(runs=5, command=few), there) == "5 runs, 1000 steps"
    searched = [row(command="x --choices 3 --epochs 9")]
    assert fuller(row(command="x --choices 1 --epochs 9"), searched) == "3 runs, 9 epochs"
    assert fuller(row(command="x --choices 3 --epochs 9"), searched) is None


@pytest.mark.parametrize("key", ["setting", "model", "selection", "metric"])
def test_rows_that_differ_in_identity_live_side_by_side(tmp_path, key):
    write_rows("demo", [row()], tmp_path)
    write_rows("demo", [row(**{key: "validation"})], tmp_path)
    assert len(read_rows("demo", tmp_path)) == 2


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (row(extra=1), "has the unknown 'extra'"),
        ({k: v for k, v in row().items() if k != "commit"}, "lacks 'commit'"),
        (row(experiment="other"), "experiment must be 'demo', got 'other'"),
        (row(selection="best"), "selection must be one of .* got 'best'"),
        (row(mean=math.nan), "mean must be a finite number, got nan"),
        (row(mean=None), "mean must be a finite number, got None"),
        (row(mean="1"), "mean must be a finite number, got '1'"),
        (row(std=math.inf), "std must be a finite number or null, got inf"),
        (row(runs=0), "runs must be a count of at least 1, got 0"),
        (row(runs=2.0), "runs must be a count"),
        (row(seeds=[0, 1]), r"seeds must list one per run \(3\), got \[0, 1\]"),
        (row(seeds=[0, 1, 1]), "seeds must list one per run"),
        (row(seeds="0 1 2"), "seeds must list one per run"),
        (row(settings="fast"), "settings must be an object or null"),
    ],
)
def test_a_bad_row_is_refused_and_nothing_is_lost(tmp_path, bad, message):
    path = write_rows("demo", [row()], tmp_path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        write_rows("demo", [row(setting="new"), bad], tmp_path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["", "a/b", "../up"])
def test_the_experiment_is_a_plain_name(tmp_path, name):
    with pytest.raises(ValueError, match="plain file name"):
        write_rows(name, [row()], tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is not JSON"), ("{}", "list of rows"), ("[1]", "row 0: .* must be an object, got 1")],
)
def test_a_broken_table_is_not_overwritten(tmp_path, text, message):
    (tmp_path / "demo.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        write_rows("demo", [row()], tmp_path)
    assert (tmp_path / "demo.json").read_text() == text


def test_no_rows_yet(tmp_path):
    assert read_rows("demo", tmp_path) == []


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = write_rows("demo", [row()], tmp_path)
    before = path.read_bytes()
    monkeypatch.setattr(results.os, "replace", _fail)
    with pytest.raises(OSError, match="disk"):
        write_rows("demo", [row(mean=9.0)], tmp_path)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["demo.csv", "demo.json"]


def _fail(*_):
    raise OSError("disk")


def test_provenance_names_the_machine_by_its_parts_only():
    found = provenance("python paper/benchmarks/build.py")
    assert set(found) == {"seeds", "settings", "command", "commit", "hardware", "date"}
    assert found["command"] == "python paper/benchmarks/build.py"
    assert "cores" in found["hardware"]
    assert "/" not in found["hardware"]
    import platform

    assert not platform.node() or platform.node() not in found["hardware"]
    write_like = row(**found)
    assert set(write_like) | {"experiment"} == set(KEYS)


def test_commit_is_unknown_outside_a_source_tree(monkeypatch):
    monkeypatch.setattr(results, "_git", lambda *_: None)
    assert results.commit() == "unknown"


def test_rows_name_the_commits_of_all_their_runs():
    runs = [{"seed": 0, "commit": "one", "hardware": "a", "date": "2025-01-01"}]
    runs += [{"seed": 1, "commit": "two", "hardware": "a", "date": "2025-01-02"}]
    found = provenance("x", seeds=[0, 1], settings={"path": ("nodes", "all")}, runs=runs)
    assert (found["commit"], found["hardware"], found["date"]) == ("one, two", "a", "2025-01-01, 2025-01-02")
    assert (found["seeds"], found["settings"]) == ([0, 1], {"path": ["nodes", "all"]})
