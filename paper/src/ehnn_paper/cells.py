"""Cells of a table, computed once each: in one process or in several, in a bounded time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ehnn._utils.atomic import atomic_write

from .results import origin, provenance, summary


@dataclass(frozen=True)
class Cell:
    """One number of a table, or a few that are computed together.

    Attributes:
        path: of the JSON file that keeps it.
        compute: gives what is kept; in several processes it must be picklable.
        size: of its memory, in any unit; see `run_cells`.
        after: a file that must be there before it starts.
    """

    path: Path
    compute: Callable[[], dict[str, Any]]
    size: float = 0.0
    after: Path | None = None

    def found(self) -> dict[str, Any] | None:
        """What is kept; None: not computed yet."""
        return json.loads(self.path.read_text()) if self.path.exists() else None

    def ready(self) -> bool:
        """Whether it can start."""
        return self.after is None or self.after.exists()


def keep(cell: Cell) -> dict[str, Any]:
    """What is kept of a cell, computed and written first where it is missing."""
    found = cell.found()
    if found is None:
        start = time.monotonic()
        found = cell.compute() | {"origin": origin()}
        found["seconds"] = round(time.monotonic() - start, 1)
        cell.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(cell.path) as file:
            json.dump(found, file)
    return found


def run_cells(
    cells: Sequence[Cell],
    *,
    jobs: int = 1,
    room: float = float("inf"),
    seconds: float = float("inf"),
    say: Callable[[str], None] = print,
) -> list[Cell]:
    """Compute the cells that are missing, and give those that are there at the end.

    Args:
        cells: in the order in which they start. One that fails is reported and left out.
        jobs: processes; 1: this one.
        room: the most that the sizes of cells at work may add up to; one cell alone is always allowed.
        seconds: when they are over no cell starts, and in several processes those at work are ended.
        say: is told of each cell that is done or has failed.
    """
    end = time.monotonic() + seconds
    if jobs == 1:
        for cell in cells:
            if time.monotonic() < end and cell.ready():
                _told(cell, partial(keep, cell), say)
    else:
        _run_in_processes([cell for cell in cells if cell.found() is None], jobs, room, end, say)
    return [cell for cell in cells if cell.found() is not None]


def _told(cell: Cell, get: Callable[[], dict[str, Any]], say: Callable[[str], None]) -> None:
    try:
        say(f"{cell.path}: {get()['seconds']} s")
    except Exception as error:  # one cell must not end the others
        say(f"{cell.path}: {type(error).__name__}: {error}")


def _run_in_processes(
    waiting: list[Cell], jobs: int, room: float, end: float, say: Callable[[str], None]
) -> None:
    """Each process computes one cell at a time; terminated at the ``end``."""
    running: dict[Path, tuple[Cell, Any]] = {}
    with get_context("spawn").Pool(jobs) as pool:  # leaving it terminates the processes
        while (waiting or running) and time.monotonic() < end:
            for path, (cell, result) in list(running.items()):
                if result.ready():
                    del running[path]
                    _told(cell, result.get, say)
            taken = sum(cell.size for cell, _ in running.values())
            free = next((c for c in waiting if c.ready() and (not running or taken + c.size <= room)), None)
            if free is None and not running:
                return  # the rest waits for cells that failed
            if free is None or len(running) >= jobs:
                time.sleep(0.05)
                continue
            waiting.remove(free)
            running[free.path] = free, pool.apply_async(keep, (free,))


def rows_of(
    setting: str,
    model: str,
    metrics: Sequence[str],
    found: Mapping[int, dict[str, Any] | None],
    command: str,
) -> list[dict[str, Any]]:
    """A row of results for each metric, over the seeds that were ``found``; none if nothing was."""
    cells = {seed: cell for seed, cell in found.items() if cell is not None}
    if not cells:
        return []
    origins = [cell["origin"] for cell in cells.values()]
    settings = {"chosen": [cell["chosen"] for cell in cells.values()]}
    about = provenance(command, seeds=list(cells), settings=settings, runs=origins)
    return [
        {
            "setting": setting, "model": model, "selection": "validation", "metric": metric,
            **summary([cell[metric] for cell in cells.values()]), "paper": None, **about,
        }
        for metric in metrics
    ]  # fmt: skip
