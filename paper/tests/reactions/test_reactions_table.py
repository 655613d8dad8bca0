"""Rows of the tables of reactions: what stands in the place of what, and how they are computed again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ehnn_paper.commands.experiments import EXPERIMENTS, Request
from ehnn_paper.reactions import table
from ehnn_paper.results import read_rows

NETWORK = next(iter(table.direction_table.PUBLISHED))


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The splits that are measured, one after another; ``tmp_path`` has the file of the network."""
    splits: list[int] = []

    def measure(model: str, reactions: Any, split: int) -> dict[str, Any]:
        splits.append(split)
        return {"accuracy": 50.0 + split, "setting": 0}

    monkeypatch.setattr(table, "load_reactions", lambda network, data_dir: None)
    monkeypatch.setattr(table.direction_table, "measure", measure)
    (tmp_path / "metabolic").mkdir()
    (tmp_path / "metabolic" / f"{NETWORK}.npz").write_bytes(b"some reactions")
    return splits


def asked_for(folder: Path, splits: int) -> table.Asked:
    return table.Asked("x", [NETWORK], ["lr-history"], splits, str(folder), folder / "o", folder)


def test_fewer_splits_do_not_take_the_place_of_more(
    tmp_path: Path, measured: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    for splits in (3, 2):
        table.direction(asked_for(tmp_path, splits))
    assert measured == [0, 1, 2]
    assert [(row["runs"], row["mean"]) for row in read_rows("reactions", tmp_path)] == [(3, 51.0)]
    assert "keeps its figure of 3 runs" in capsys.readouterr().out


def test_cells_of_other_data_or_settings_are_not_reused(
    tmp_path: Path, measured: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asked_for(tmp_path, 2)
    table.direction(asked)
    (tmp_path / "metabolic" / f"{NETWORK}.npz").write_bytes(b"other reactions")
    table.direction(asked)
    assert measured == [0, 1] * 2
    found = table.direction_table.MODELS["lr-history"]
    monkeypatch.setitem(table.direction_table.MODELS, "lr-history", replace(found, grid=[{"C": 5.0}]))
    table.direction(asked)
    table.direction(asked)
    assert measured == [0, 1] * 3


def test_the_command_of_the_rows_names_the_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[table.Asked] = []
    monkeypatch.setitem(table.TASKS, "direction", seen.append)
    EXPERIMENTS["reactions"](Request(settings=["direction"], seeds=2))
    assert (seen[0].command, seen[0].splits) == ("ehnn reproduce reactions --setting direction --seeds 2", 2)
