"""An experiment is a table: train its cells one by one, keep each as soon as it is done, show them."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehnn._utils.atomic import atomic_write
from ehnn._utils.schema import check
from ehnn._utils.untrusted import read_json
from ehnn.training import Result
from ehnn_paper.results import fuller, read_rows, shown, write_rows

Cell = dict[str, Any]
"""What is kept of a model in a setting, as JSON: ``model``, ``setting``, ``rows``, ``curves``, ``extra``."""

CELL: dict[str, Any] = {"model": str, "setting": str, "rows": [dict], "curves": dict, "extra": object}
COLUMNS = ("setting", "model", "on validation", "best on test", "paper", "seeds")
"""In the middle: the rules by which the epoch of ours is chosen. The paper's is the best on test."""
_POINTS = 125


@dataclass(frozen=True)
class Experiment:
    """A table of the paper.

    Attributes:
        name: of the command and of the files in ``results/``.
        title: one line for people.
        models, settings: what there is to train, in the order of the table.
        epochs: unless told otherwise.
        train: ``train(model, setting, seeds=, epochs=, device=, directory=, command=) -> Cell``.
        describe: ``describe(model, setting)`` says what would be trained; when it changes, so does the
            folder of the run, and nothing stale is resumed.
        draw: ``draw(cells, path)`` makes the figure.
    """

    name: str
    title: str
    models: tuple[str, ...]
    settings: tuple[str, ...]
    epochs: int
    train: Callable[..., Cell]
    describe: Callable[[str, str], str]
    draw: Callable[[Sequence[Cell], Path], None] | None = None

    def folder(self, runs_dir: Path, model: str, setting: str, seeds: Sequence[int], epochs: int) -> Path:
        """Where a cell is trained and kept."""
        code = hashlib.sha256(self.describe(model, setting).encode()).hexdigest()[:8]
        how = f"{epochs}-epochs-{len(seeds)}-seeds-{code}"
        return runs_dir / self.name / setting / model / how

    def command(self, model: str, setting: str, seeds: Sequence[int], epochs: int) -> str:
        """The command that computes a cell alone."""
        what = f"ehnn reproduce {self.name} --setting {setting} --models {model}"
        return f"{what} --seeds {len(seeds)} --epochs {epochs}"


def reproduce(
    experiment: Experiment,
    models: Sequence[str],
    settings: Sequence[str],
    *,
    seeds: Sequence[int] = range(5),
    epochs: int | None = None,
    device: str = "cpu",
    out: Path = Path("results"),
    runs_dir: Path = Path("runs"),
    fresh: bool = False,
    say: Callable[[str], None] = print,
) -> list[Cell]:
    """Train what is not trained yet and write each cell to ``out`` at once; returns all cells asked for.

    A cell that was stopped goes on from its checkpoint in ``runs_dir``; one that is done is not trained
    again unless ``fresh``.
    """
    epochs = experiment.epochs if epochs is None else epochs
    cells = []
    for setting in settings:
        for model in models:
            folder = experiment.folder(runs_dir, model, setting, seeds, epochs)
            if fresh and folder.exists():
                shutil.rmtree(folder)
            cell = read_cell(folder)
            if cell is None:
                command = experiment.command(model, setting, seeds, epochs)
                cell = experiment.train(
                    model,
                    setting,
                    seeds=seeds,
                    epochs=epochs,
                    device=device,
                    directory=folder,
                    command=command,
                )
                folder.mkdir(parents=True, exist_ok=True)
                with atomic_write(folder / "cell.json") as file:
                    json.dump(cell, file)
            else:
                say(f"{model}, {setting}: done before ({folder})")
            write_unless_fuller(experiment.name, cell["rows"], out, say, f"{model}, {setting}")
            cells.append(cell)
    return cells


def write_unless_fuller(
    name: str,
    rows: Sequence[dict[str, Any]],
    out: Path | str,
    say: Callable[[str], None],
    what: str,
    usual: int = 1,
) -> bool:
    """Write the rows of a model, if there are any, unless a `fuller` figure is in their place.

    ``what`` they are is for the message then. Returns whether they were written.
    """
    if not rows:
        return False
    there = read_rows(name, out)
    kept = next((found for row in rows if (found := fuller(row, there, usual))), None)
    if kept is None:
        write_rows(name, rows, out)
        return True
    say(f"{what}: {out} keeps its figure of {kept}; another --out takes this one")
    return False


def write_each_unless_fuller(
    name: str, rows: Iterable[dict[str, Any]], out: Path | str, say: Callable[[str], None]
) -> None:
    """`write_unless_fuller` of the rows of each model and setting."""
    together: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        together.setdefault(f"{row['model']}, {row['setting']}", []).append(row)
    for what, own in together.items():
        write_unless_fuller(name, own, out, say, what)


def finished(
    experiment: Experiment, runs_dir: Path, seeds: Sequence[int], epochs: int | None = None
) -> list[Cell]:
    """All cells of an experiment that are done with these seeds and epochs, in the order of its table."""
    epochs = experiment.epochs if epochs is None else epochs
    pairs = [(m, s) for s in experiment.settings for m in experiment.models]
    found = [read_cell(experiment.folder(runs_dir, m, s, seeds, epochs)) for m, s in pairs]
    return [cell for cell in found if cell is not None]


def read_cell(folder: Path) -> Cell | None:
    """A cell that is done, or None."""
    path = folder / "cell.json"
    if not path.exists():
        return None
    try:
        cell = read_json(path, "a finished cell")
        check(cell, {**CELL, ...: object}, f"{path}: the cell")
    except ValueError as error:
        raise ValueError(f"{error}; remove the file to train again") from error
    return {key: cell[key] for key in CELL}


def make_cell(
    model: str, setting: str, result: Result, rows: list[dict[str, Any]], extra: dict[str, Any] | None = None
) -> Cell:
    """A cell from the result of a training; ``extra`` is whatever the figure needs besides the curves."""
    history = result.history
    step = max(1, -(-len(history) // _POINTS))
    thin = history[step - 1 :: step]
    curves: dict[str, Any] = {"epoch": [row["epoch"] for row in thin]}
    curves |= {key: [row[key] for row in thin] for key in ("loss", "valid", "test")}
    return {"model": model, "setting": setting, "rows": rows, "curves": curves, "extra": extra or {}}


def table_lines(cells: Iterable[Cell]) -> list[tuple[str, ...]]:
    """A line of text fields, `COLUMNS`, for each cell."""
    return [_line(cell) for cell in cells]


def _line(cell: Cell) -> tuple[str, ...]:
    rows = {row["selection"]: row for row in reversed(cell["rows"])}  # the first of each rule
    rows = {"validation": rows["none"]} if "none" in rows else rows
    paper = next((row["paper"] for row in cell["rows"] if row["paper"] is not None), None)
    ours = [_number(rows.get(rule)) for rule in ("validation", "test-best")]
    return (
        cell["setting"],
        cell["model"],
        *ours,
        "" if paper is None else f"{paper:.2f}",
        str(cell["rows"][0]["runs"]),
    )


def _number(row: dict[str, Any] | None) -> str:
    return "" if row is None else shown(row, 2)
