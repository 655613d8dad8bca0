"""``ehnn predict`` on sets that were not there in training, and ``ehnn train --fresh``."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from .own_tables import COLUMNS, FAST, QUICK, predictions, run, write

GOODS = {"fruit": ("apple", "pear", "plum", "fig"), "tools": ("saw", "file", "drill", "vice")}
HEADER = ["basket", "items", "kind"]


def baskets(count: int) -> list[tuple[str, str, str]]:
    """Two items of a kind and one of any."""
    draw = random.Random(0)
    rows = []
    for b in range(count):
        kind = draw.choice(list(GOODS))
        items = draw.sample(GOODS[kind], 2) + draw.sample(GOODS["fruit"] + GOODS["tools"], 1)
        rows.append((f"b{b}", ";".join(items), kind))
    return rows


def accuracy(rows: list[tuple[str, str, str]]) -> float:
    return float(np.mean([p["predicted"] == kind for p, (*_, kind) in zip(predictions(), rows, strict=True)]))


@pytest.mark.parametrize("more", [(), ("--edge-column", "basket")])
def test_new_sets_are_judged_as_well_as_held_out_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = baskets(120)
    write(tmp_path / "train.csv", HEADER, rows[:100])
    run("train", "--data", "train.csv", "--label-column", "kind", "--out", "m", *FAST, *more)
    for part in (rows[100:], rows[:30], rows[100:101]):
        write(tmp_path / "new.csv", HEADER, part)
        run("predict", "--model", "m", "--data", "new.csv", "--force")
        assert accuracy(part) >= 0.8


def test_a_network_without_columns_knows_the_members_of_new_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = baskets(120)
    write(tmp_path / "train.csv", HEADER, rows[:100])
    write(tmp_path / "new.csv", HEADER, rows[100:])
    network = ("--model", "hgnn", "--epochs", "100", "--width", "16", "--lr", "0.01", "--device", "cpu")
    run("train", "--data", "train.csv", "--label-column", "kind", "--out", "m", *network)
    run("predict", "--model", "m", "--data", "new.csv")
    assert accuracy(rows[100:]) >= 0.8
    nothing = [(name, items.upper(), kind) for name, items, kind in rows[100:]]
    write(tmp_path / "new.csv", HEADER, nothing)
    told = run("predict", "--model", "m", "--data", "new.csv", "--force")
    assert "new.csv: 8 of 8 nodes were not there in training" in told
    assert "judged by the sizes of sets alone" in told


def test_everything_new_is_judged_by_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of members mean nothing any more: the price of a basket still does."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(0)
    header = [*HEADER, "price"]
    rows = [(*row, (3 if row[2] == "fruit" else 9) + draw.random()) for row in baskets(80)]
    write(tmp_path / "train.csv", header, rows)
    command = ("train", "--data", "train.csv", "--label-column", "kind", "--feature-columns", "price")
    run(*command, "--out", "m", *FAST)
    others = [(b, items.upper(), kind, price) for b, items, kind, price in rows]
    write(tmp_path / "new.csv", header, others)
    told = run("predict", "--model", "m", "--data", "new.csv")
    assert "new.csv: 8 of 8 nodes were not there in training" in told
    assert "judged by their columns and the sizes of sets alone" in told
    assert accuracy([row[:3] for row in others]) >= 0.95


def test_new_nodes_in_known_sets(pairs: Path) -> None:
    """The table has new people alone: what is known of their clubs comes from training."""
    run("train", "--data", pairs, *COLUMNS, *FAST, "--out", "m")
    rows = [(f"new{i}", f"c{i + step}") for i in range(8) for step in (0, 2, 4)]
    write(Path("new.csv"), ["person", "club"], rows)
    told = run("predict", "--model", "m", "--data", "new.csv")
    assert "new.csv: 8 of 8 nodes were not there in training, 'new0' for one" in told
    found = {row["node"]: row["predicted"] for row in predictions()}
    wanted = {f"new{i}": "red" if i % 2 else "blue" for i in range(8)}
    assert np.mean([found[name] == team for name, team in wanted.items()]) >= 0.75
    run("predict", "--model", "m", "--data", "new.csv", "--alone", "--out", "alone.csv")
    assert len(predictions("alone.csv")) == 8


def test_known_nodes_in_new_sets(pairs: Path) -> None:
    run("train", "--data", pairs, *COLUMNS, *FAST, "--out", "m")
    lines = pairs.read_text(encoding="utf-8").splitlines()
    Path("new.csv").write_text("\n".join([lines[0], *(x.replace(",c", ",new c") for x in lines[1:])]))
    told = run("predict", "--model", "m", "--data", "new.csv")
    assert "sets were not there in training, 'new c0' for one" in told
    team = dict(line.split(",")[::2] for line in lines[1:])
    assert np.mean([row["predicted"] == team[row["node"]] for row in predictions()]) >= 0.75


def test_a_wrong_option_leaves_the_old_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "train.csv", HEADER, baskets(40))
    command = ("train", "--data", "train.csv", "--label-column", "kind", "--out", "m", *QUICK)
    run(*command)
    before = {path: path.read_bytes() for path in Path("m").rglob("*") if path.is_file()}
    for wrong in (("--dropout", 1), ("--lr", 0), ("--model", "ehnn-transformer", "--width", 10)):
        run(*command, *wrong, "--fresh", code=2)
    assert {path: path.read_bytes() for path in Path("m").rglob("*") if path.is_file()} == before


def test_fresh_forgets_all_of_the_old_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = baskets(60)
    other = {"fruit": "tools", "tools": "fruit"}
    write(tmp_path / "one.csv", HEADER, rows)
    write(tmp_path / "two.csv", HEADER, [(b, items, other[kind]) for b, items, kind in rows])
    common = ("--label-column", "kind", *QUICK)
    run("train", "--data", "one.csv", "--out", "a", *common)
    again = run("train", "--data", "two.csv", "--out", "a", *common, "--fresh")
    wanted = run("train", "--data", "two.csv", "--out", "b", *common)
    assert (
        again.split("test accuracy")[1].split("Written")[0]
        == wanted.split("test accuracy")[1].split("Written")[0]
    )
    run("train", "--data", "two.csv", "--out", "a", *common, "--lr", 0.01, "--fresh")
