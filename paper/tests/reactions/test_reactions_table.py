"""Rows of the tables of reactions: what stands in the place of what, and how they are computed again."""

from pathlib import Path
from typing import Any

import pytest

from ehnn_paper.commands.experiments import EXPERIMENTS, Request
from ehnn_paper.reactions import table
from ehnn_paper.results import read_rows


def test_fewer_splits_do_not_take_the_place_of_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(model: str, reactions: Any, split: int) -> dict[str, Any]:
        return {"accuracy": 50.0 + split, "setting": 0}

    monkeypatch.setattr(table, "load_reactions", lambda network, data_dir: None)
    monkeypatch.setattr(table.direction_table, "measure", measure)
    network = next(iter(table.direction_table.PUBLISHED))
    for splits in (3, 2):
        asked = table.Asked("x", [network], ["lr-history"], splits, out=tmp_path / "o", results=tmp_path)
        table.direction(asked)
    assert [(row["runs"], row["mean"]) for row in read_rows("reactions", tmp_path)] == [(3, 51.0)]
    assert "keeps its figure of 3 runs" in capsys.readouterr().out


def test_the_command_of_the_rows_names_the_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[table.Asked] = []
    monkeypatch.setitem(table.TASKS, "direction", seen.append)
    EXPERIMENTS["reactions"](Request(settings=["direction"], seeds=2))
    assert (seen[0].command, seen[0].splits) == ("ehnn reproduce reactions --setting direction --seeds 2", 2)
