"""The table of labels of incidences on a small file, and its command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehnn_paper.commands.experiments import EXPERIMENTS, Request
from ehnn_paper.incidences.data import load, vectors
from ehnn_paper.incidences.table import Asked, cells, reproduce
from ehnn_paper.results import read_rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sets in which the node with the smallest number is the sender; one node is there twice."""
    rng = np.random.default_rng(0)
    edges = [np.sort(rng.choice(60, rng.integers(2, 5), replace=False)) for _ in range(150)]
    node, edge = np.concatenate(edges), np.repeat(np.arange(150), [len(e) for e in edges])
    label = np.concatenate([np.arange(len(e)) > 0 for e in edges]).astype(np.int64)
    node, edge, label = (np.append(a, b) for a, b in ((node, node[0]), (edge, 0), (label, 1)))
    split = np.arange(150) % 5 - 2
    (tmp_path / "enc").mkdir()
    np.savez(
        tmp_path / "enc" / "outsider-cora.npz", node=node, edge=edge, label=label, num_nodes=60,
        num_edges=150, split=np.maximum(split, 0), split_strict=np.maximum(-split, 0),
    )  # fmt: skip
    return tmp_path


def test_the_first_label_of_a_node_that_is_twice_in_a_hyperedge_counts(folder: Path) -> None:
    data = load("outsider-cora", "shipped", str(folder))
    assert data.h.num_incidences == len(data.y) == len(data.part)
    assert int(data.y[0]) == 0
    assert set(data.part.tolist()) == {0, 1, 2}
    start = vectors(data.h, folder / "vectors.npz")
    assert start.shape == (60, 44)
    assert np.allclose(start.mean(0), 0, atol=0.01)


def test_rows_of_all_models(folder: Path) -> None:
    load.cache_clear()
    asked = Asked(
        ["outsider-cora"], ["incidence-classifier", "whatsnet", "conhd-unb"], 2, steps=10, budget="fast",
        data_dir=str(folder), out=folder / "cells", results=folder / "results",
    )  # fmt: skip
    order = [cell.path.name.split("-")[-2] for cell in cells(asked)]
    assert (order[0], order[-1]) == ("0", "1")
    rows = reproduce(replace(asked, models=["conhd-unb"]), "command", say=lambda _: None)
    assert {row["setting"] for row in rows} == {"outsider-cora, shipped", "outsider-cora, strict"}
    assert all(row["runs"] == 2 and 0 < row["mean"] <= 100 for row in rows)
    chosen = rows[0]["settings"]["chosen"]
    assert chosen[0]["dropout"] == chosen[1]["dropout"]  # that of the first seed
    reproduce(replace(asked, models=["incidence-classifier"], seeds=1), "command", say=lambda _: None)
    found = {row["model"]: row["mean"] for row in read_rows("incidences", folder / "results")}
    assert found["incidence-classifier"] > 60


def test_a_quick_look_leaves_a_fuller_row(folder: Path) -> None:
    load.cache_clear()
    told: list[str] = []
    asked = Asked(
        ["outsider-cora"], ["conhd-unb"], 2, steps=3, data_dir=str(folder), out=folder / "cells",
        results=folder / "results",
    )  # fmt: skip
    reproduce(asked, "x --steps 3", say=told.append)
    before = read_rows("incidences", folder / "results")
    for change, command in (({"seeds": 1}, "x --steps 3"), ({"steps": 2}, "x --steps 2")):
        told.clear()
        reproduce(replace(asked, **change), command, say=told.append)
        assert "keeps its figure of 2 runs" in told[-1]
        assert read_rows("incidences", folder / "results") == before


@pytest.mark.parametrize(
    ("model", "change"), [("conhd-unb", {"steps": 20}), ("incidence-classifier", {"budget": "best"})]
)
def test_a_quick_look_is_not_taken_for_a_long_training(
    folder: Path, model: str, change: dict[str, Any]
) -> None:
    asked = Asked(["outsider-cora"], [model], steps=10, budget="fast", data_dir=str(folder))
    quick, long = ({cell.path for cell in cells(one)} for one in (asked, replace(asked, **change)))
    assert quick.isdisjoint(long)


def test_a_cell_of_other_data_is_another(folder: Path) -> None:
    asked = Asked(["outsider-cora"], ["conhd-unb"], data_dir=str(folder))
    before = {cell.path for cell in cells(asked)}
    (folder / "enc" / "outsider-cora.npz").write_bytes(b"other data")
    assert before.isdisjoint(cell.path for cell in cells(asked))


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load.cache_clear()
    asked = Request(
        models=["conhd-unb"], settings=["outsider-cora"], seeds=1, epochs=10, out=folder / "out",
        runs_dir=folder / "runs", data_dir=folder,
    )  # fmt: skip
    assert EXPERIMENTS["incidences"](asked) == 0
    assert "outsider-cora, strict" in capsys.readouterr().out
    with pytest.raises(ValueError, match="--amp does not apply to incidences"):
        EXPERIMENTS["incidences"](replace(asked, amp=True))
