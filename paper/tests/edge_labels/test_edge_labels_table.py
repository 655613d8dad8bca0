"""The table of labels of hyperedges on a small network of reactions, and its command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import typer

from ehnn_paper.commands.experiments import EXPERIMENTS, Request
from ehnn_paper.edge_labels import table
from ehnn_paper.edge_labels.data import load
from ehnn_paper.edge_labels.models import DIRECTED, MODELS, measure
from ehnn_paper.results import read_rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """120 reactions of two subsystems over metabolites of their own; a third subsystem is too small."""
    rng = np.random.default_rng(0)
    node, edge, side = [], [], []
    y = np.r_[np.repeat([0, 1], 60), [2] * 3]
    for e, kind in enumerate(y):
        members = rng.choice(20, 4, replace=False) + 20 * kind
        node += members.tolist()
        edge += [e] * 4
        side += [-1, -1, 1, 1]
    node, edge, side = [*node, node[0]], [*edge, 0], [*side, 1]  # on both sides
    (tmp_path / "metabolic").mkdir()
    same = np.r_[np.arange(120) // 2, [60] * 3]
    np.savez(
        tmp_path / "metabolic" / "iAF692.npz", node=node, edge=edge, side=side, num_nodes=60, num_edges=123,
        y=y, same=same, x=rng.random((60, 3)),
    )  # fmt: skip
    load.cache_clear()
    return tmp_path


def test_reactions_of_a_group_stay_together_and_small_classes_are_left_out(folder: Path) -> None:
    data = load("iAF692", 0, str(folder))
    assert (data.part[:120:2] == data.part[1:120:2]).all()
    assert set(data.y[-3:]) == {-1}
    assert len(data.rows(0)) + len(data.rows(1)) + len(data.rows(2)) == 120
    assert data.h.num_roles == 3
    assert int(data.h.roles[data.h.index[1] == 0].max()) == 2


@pytest.mark.parametrize(
    "model", ["majority", "lr-degrees", "lr-history", "lr-members", "lr-members-directed"]
)
def test_simple_answers(folder: Path, model: str) -> None:
    found = measure(model, load("iAF692", 0, str(folder)), 0, "cpu")
    assert 0 <= found["macro-f1"] <= 100
    if "members" in model or "history" in model:
        assert found["accuracy"] > 90


def test_a_network_reads_the_structure_where_all_features_are_equal(folder: Path) -> None:
    data = load("iAF692", 0, str(folder))
    blank, none = (replace(data, h=data.h.replace(x=x)) for x in (torch.ones(60, 3), None))
    assert measure("hgnn", blank, 0, "cpu") == measure("hgnn", none, 0, "cpu")


def test_the_command(folder: Path) -> None:
    models = ["majority", "lr-members-directed"]
    asked = Request(
        models=models, settings=["iAF692"], seeds=2, out=folder / "out", runs_dir=folder / "runs",
        data_dir=folder,
    )  # fmt: skip
    assert EXPERIMENTS["edge-labels"](asked) == 0
    rows = read_rows("edge-labels", folder / "out")
    assert [(row["model"], row["runs"]) for row in rows[::2]] == [(model, 2) for model in models]
    assert EXPERIMENTS["edge-labels"](replace(asked, seeds=1)) == 0
    assert read_rows("edge-labels", folder / "out") == rows  # of more runs
    assert set(DIRECTED) & set(MODELS) == set()


def test_a_cell_of_other_data_or_settings_is_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def path() -> Path:
        return table.cell(table.Asked(data_dir=str(folder)), "majority", "iAF692", 0).path

    before = path()
    assert path() == before
    monkeypatch.setattr(table, "PENALTIES", (0.5,))
    other_settings = path()
    (folder / "metabolic" / "iAF692.npz").write_bytes(b"other data")
    assert len({before, other_settings, path()}) == 3


def test_the_command_of_reactions_names_its_tables(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        EXPERIMENTS["reactions"](Request(settings=["nothing"]))
    assert "direction, pool, swapped" in capsys.readouterr().err
