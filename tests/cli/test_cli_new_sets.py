"""``ehnn predict`` on sets that were not there in training, and ``ehnn train --fresh``."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from ehnn import Hypergraph
from ehnn.cli import places
from ehnn.cli.known import beside, mostly_of

from .own_tables import COLUMNS, QUICK, predictions, run, write

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
    run("train", "--data", "train.csv", "--label-column", "kind", "--out", "m", "--epochs", 60, *more)
    for part in (rows[100:], rows[:30], rows[100:101]):
        write(tmp_path / "new.csv", HEADER, part)
        run("predict", "--model", "m", "--data", "new.csv", "--force")
        assert accuracy(part) >= 0.8


def test_a_file_of_other_members_is_judged_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = baskets(60)
    write(tmp_path / "train.csv", HEADER, rows)
    run("train", "--data", "train.csv", "--label-column", "kind", "--out", "m", "--epochs", 3, "--no-places")
    others = [(b, items.replace("a", "o").replace("i", "y").upper(), kind) for b, items, kind in rows]
    write(tmp_path / "new.csv", HEADER, others)
    run("predict", "--model", "m", "--data", "new.csv")
    assert len(predictions()) == 60


def test_sets_of_strangers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "train.csv", HEADER, baskets(60))
    run("train", "--data", "train.csv", "--label-column", "kind", "--out", "m", "--epochs", 3)
    write(tmp_path / "new.csv", HEADER[:2], [("x1", "saw,drill,vice"), ("x2", "file,saw")])
    told = run("predict", "--model", "m", "--data", "new.csv", code=2)
    assert "not one of its members was there in training, 'saw,drill,vice' for one (a list? --sep" in told
    write(tmp_path / "new.csv", HEADER[:2], [("x1", "saw;drill"), ("x2", "tongs")])
    told = run("predict", "--model", "m", "--data", "new.csv")
    assert "1 of the 3 members of new.csv were not there in training" in told
    assert "left blank: 1 sets without a member that was there in training, '2' for one" in told
    rows = {row["set"]: row for row in predictions()}
    assert rows["1"]["predicted"]
    assert set(rows["2"].values()) == {"2", ""}


def test_a_wrong_option_leaves_the_old_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "train.csv", HEADER, baskets(40))
    command = ("train", "--data", "train.csv", "--label-column", "kind", "--out", "m", "--epochs", 2)
    run(*command)
    before = {path: path.read_bytes() for path in Path("m").rglob("*") if path.is_file()}
    for wrong in (("--dropout", 1), ("--lr", 0), ("--model", "ehnn-transformer", "--width", 10)):
        run(*command, *wrong, "--fresh", code=2)
    assert {path: path.read_bytes() for path in Path("m").rglob("*") if path.is_file()} == before


def test_nodes_of_another_file_come_with_a_note(pairs: Path) -> None:
    run("train", "--data", pairs, *COLUMNS, *QUICK, "--out", "m")
    assert "judged by the sets in it alone" not in run("predict", "--model", "m", "--data", pairs)
    lines = pairs.read_text(encoding="utf-8").splitlines(keepends=True)
    Path("part.csv").write_text("".join(lines[:40]), encoding="utf-8")
    told = run("predict", "--model", "m", "--data", "part.csv", "--force")
    assert "part.csv is not the file of training, and its nodes are judged by the sets in it alone" in told


def test_known_sets_are_found_and_new_ones_added_a_few_at_a_time() -> None:
    known = Hypergraph.from_edges([[0, 1], [1, 2], [2, 0]], node_names=("a", "b", "c"),
                                  edge_names=("x", "y", "z"), x=torch.eye(3))  # fmt: skip
    new = Hypergraph.from_edges([[0, 1, 2], [1], [3, 0]], num_nodes=4, node_names=("b", "c", "n", "a"),
                                edge_names=("x", "new", "y"), x=torch.ones(4, 3))  # fmt: skip
    x = torch.ones(4, 3)
    x[0] = known.x[1]  # type: ignore[index]
    new = new.replace(x=x)
    # b was in x and y and still is; c and a are in others now.
    every = np.ones(4, dtype=bool)
    parts = list(beside(known, new, every))
    assert [rows.tolist() for *_, rows in parts] == [[0], [1], [2], [3]]
    assert parts[0][0] is known
    assert parts[0][1].tolist() == [1]
    for h, at, rows in parts[1:]:
        assert at.tolist() == [3]
        assert (h.num_nodes, h.num_edges) == (4, 4)
        assert int(h.degrees[3]) == int(new.degrees[rows[0]])
        assert [[v for v in edge if v != 3] for edge in h.edges()[:3]] == known.edges()
        assert torch.equal(h.x[3], torch.ones(3))  # type: ignore[index]
    assert (
        len(list(beside(known, new.replace(x=torch.ones(4, 3)), every))) == 4
    )  # other features, another set
    assert next(iter(beside(known, new.replace(x=torch.ones(4, 3)), every)))[0] is not known
    some = list(beside(known, new, np.array([False, True, False, True])))
    assert [rows.tolist() for *_, rows in some] == [[1], [3]]
    assert mostly_of(known, new).tolist() == [True, True, True, True]
    assert mostly_of(known, new.replace(edge_names=("x", "q", "r"))).tolist() == [True, True, True, False]
    assert not mostly_of(known, new.replace(edge_names=("p", "q", "r"))).any()


def test_fresh_forgets_all_of_the_old_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = baskets(60)
    other = {"fruit": "tools", "tools": "fruit"}
    write(tmp_path / "one.csv", HEADER, rows)
    write(tmp_path / "two.csv", HEADER, [(b, items, other[kind]) for b, items, kind in rows])
    common = ("--label-column", "kind", "--epochs", 15, "--width", 16)
    run("train", "--data", "one.csv", "--out", "a", *common)
    again = run("train", "--data", "two.csv", "--out", "a", *common, "--fresh")
    wanted = run("train", "--data", "two.csv", "--out", "b", *common)
    assert (
        again.split("test accuracy")[1].split("Written")[0]
        == wanted.split("test accuracy")[1].split("Written")[0]
    )
    run("train", "--data", "two.csv", "--out", "a", *common, "--lr", 0.01, "--fresh")


@pytest.mark.parametrize("whole", [True, False])
def test_a_node_that_differs_by_one_set_has_a_place_near_by(whole, monkeypatch):
    """Each node is in one of four sets of each kind: directions that nothing points in are no places."""
    if not whole:
        monkeypatch.setattr(places, "_DENSE", 0)
    draws = np.random.default_rng(0).integers(4, size=(90, 13))
    groups: dict[str, list[int]] = {}
    for i, row in enumerate(draws):
        for kind, one in enumerate(row):
            groups.setdefault(f"{kind}: {one}", []).append(i)
    h = Hypergraph.from_edges(groups.values(), num_nodes=91, edge_names=tuple(groups))
    learned = places.Places.learn(h)
    x, _ = learned.encode(h)
    assert x.shape[1] <= 13 * 3 + 1
    like_0 = [[*nodes, 90] if 0 in nodes and name[:2] != "5:" else nodes for name, nodes in groups.items()]
    found, _ = learned.encode(Hypergraph.from_edges(like_0, edge_names=tuple(groups)))
    scale = x[:90].std(0)
    assert float(scale.min()) > 1e-3 * float(scale.max())
    assert float(((found[90] - x[0]) / scale).abs().max()) < 3
