"""Cells are computed once, in order, in one process or several, and stop in time."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ehnn_paper.cells import Cell, keep, rows_of, run_cells


def value(number: float, seconds: float = 0.0) -> dict[str, Any]:
    time.sleep(seconds)
    if number < 0:
        raise ValueError("no number")
    return {"score": number, "chosen": {}}


def cells(folder: Path, *numbers: float, seconds: float = 0.0) -> list[Cell]:
    return [Cell(folder / f"{n}.json", partial(value, n, seconds), 1.0) for n in numbers]


@pytest.mark.parametrize("jobs", [1, 2])
def test_cells_are_kept_and_a_failure_is_told(tmp_path: Path, jobs: int) -> None:
    told: list[str] = []
    done = run_cells(cells(tmp_path, 1, -1, 2), jobs=jobs, say=told.append)
    assert [cell.path.name for cell in done] == ["1.json", "2.json"]
    assert any("-1.json: ValueError: no number" in line for line in told)
    before = (tmp_path / "1.json").stat().st_mtime_ns
    assert keep(done[0])["score"] == 1
    run_cells(done, jobs=jobs, say=told.append)
    assert (tmp_path / "1.json").stat().st_mtime_ns == before


def test_processes_are_ended_in_time(tmp_path: Path) -> None:
    start = time.monotonic()
    done = run_cells(cells(tmp_path, 1, 2, 3, seconds=60), jobs=2, seconds=5, say=lambda _: None)
    assert time.monotonic() - start < 30
    assert done == []


def test_a_cell_waits_for_the_one_it_needs(tmp_path: Path) -> None:
    first, second = cells(tmp_path, 1, 2)
    later = Cell(second.path, second.compute, after=first.path)
    assert run_cells([later], say=lambda _: None) == []
    assert len(run_cells([first, later], say=lambda _: None)) == 2
    bad = Cell(tmp_path / "3.json", partial(value, 3), after=tmp_path / "never.json")
    assert run_cells([bad], jobs=2, say=lambda _: None) == []


def test_rows_are_of_the_seeds_that_are_there(tmp_path: Path) -> None:
    found = {seed: keep(cell) for seed, cell in enumerate(cells(tmp_path, 1, 3))}
    (row,) = rows_of("set", "model", ["score"], {**found, 2: None}, "command")
    assert (row["mean"], row["std"], row["runs"], row["seeds"]) == (2, 2**0.5, 2, [0, 1])
    assert rows_of("set", "model", ["score"], {0: None}, "command") == []
