"""``ehnn train --data``: from a user's own table to a folder with a model and all that is known about it."""

from __future__ import annotations

import json
import shlex
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import ehnn
from ehnn.estimators.base import Estimator
from ehnn.nn.named import NAMED

from .errors import choose
from .recipe import TASKS, Files, Recipe, learn_recipe
from .run_folder import RECORD, claim, default_folder, holds, write_json
from .sheets import Sheet

if TYPE_CHECKING:
    from .train_hyperedges import HyperedgeRun
    from .train_labels import LabelRun


@dataclass(frozen=True)
class Request:
    """What was asked for.

    Attributes:
        settings: parameters of the estimator.
        valid, test: shares of the labels (or sets) that select the epoch, and that are scored at the end.
    """

    files: Files
    task: str | None
    label: str | None
    feature_columns: tuple[str, ...] | None
    regression: bool
    places: bool
    settings: dict[str, Any]
    valid: float
    test: float
    seed: int

    def check(self) -> None:
        choose("model", str(self.settings["model"]), NAMED)
        if self.task is not None:
            choose("task", self.task, TASKS)
        if not (self.valid >= 0 and self.test >= 0 and self.valid + self.test < 0.95):
            raise ValueError(
                f"--valid and --test must leave a part to train on, got {self.valid} and {self.test}"
            )
        if self.task == "hyperedges" and (self.label is not None or self.regression):
            raise ValueError(
                "--task hyperedges learns from the sets alone: leave out --label-column and --regression"
            )
        if self.task == "sets" and self.files.nodes is not None:
            raise ValueError("--task sets reads labels and features from --data: leave out --nodes")
        if self.label is None and self.task != "hyperedges":
            raise ValueError(
                "--label-column must say what to predict; to learn which nodes form a set: --task hyperedges"
            )
        Estimator(**self.estimator).check_settings()

    def to_dict(self) -> dict[str, Any]:
        """What a run depends on: the options, and what is in the files."""
        about = asdict(self)
        del about["files"], about["settings"]["device"]
        layout = asdict(self.files.layout) | {"id_column": self.files.id_column}
        return {**about.pop("settings"), **about, "layout": layout, "digest": self.files.digest()}

    @property
    def estimator(self) -> dict[str, Any]:
        """Parameters of an estimator, which takes its validation part of what the test part leaves."""
        fraction = self.valid / (1 - self.test)
        return {**self.settings, "random_state": self.seed, "validation_fraction": fraction, "quiet": False}

    @property
    def parameters(self) -> dict[str, Any]:
        """For the record: the settings, and how the data were split."""
        own = {k: v for k, v in self.settings.items() if k not in ("model", "device")}
        return {**own, "valid": self.valid, "test": self.test, "seed": self.seed, "places": self.places}


def train_table(request: Request, out: Path | None, fresh: bool) -> Path:
    """Train as asked, or go on; returns the folder."""
    request.check()
    identity = request.to_dict()
    folder = out or default_folder(request.files.data, identity)
    going_on = holds(folder, identity, fresh)
    if going_on and (folder / RECORD).exists():
        typer.echo(f"{folder} holds this run, done before; to train again: --fresh", err=True)
        show(_record(folder / RECORD), folder)
        return folder
    start = time.perf_counter()
    recipe, run = _prepared(request, folder if going_on else None)
    if not going_on:
        claim(folder, identity)
        recipe.save(folder)
    record = {
        "task": recipe.task, "model": request.settings["model"], "parameters": request.parameters,
        "reads_nodes": recipe.id_column is not None and bool(recipe.features), **run.fit(folder),
        "seconds": round(time.perf_counter() - start, 2), "version": ehnn.__version__,
        "command": shlex.join(["ehnn", *sys.argv[1:]]),
    }  # fmt: skip
    write_json(folder / RECORD, record)
    show(record, folder)
    return folder


def _record(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}); to train again: --fresh") from error


def _prepared(request: Request, folder: Path | None) -> tuple[Recipe, LabelRun | HyperedgeRun]:
    """Everything that can be wrong with the files is found here, before anything is written."""
    from .train_hyperedges import HyperedgeRun
    from .train_labels import LabelRun

    sheet, remarks = request.files.read()
    task = request.task or _task(sheet, request.files)
    if folder is not None:
        recipe = Recipe.load(folder)
    else:
        recipe, more = learn_recipe(
            request.files, sheet, task, request.label, request.feature_columns, request.places
        )
        remarks += more
    run = (HyperedgeRun if task == "hyperedges" else LabelRun)(request, recipe, sheet)
    for remark in remarks:
        typer.echo(f"Note: {remark}", err=True)
    typer.echo(f"{request.files.data}: {sheet.h}", err=True)
    return recipe, run


def _task(sheet: Sheet, files: Files) -> str:
    """A label in a row per set is the set's; anywhere else it is a node's."""
    if files.nodes is None and sheet.nodes is None and sheet.edges is None:
        raise ValueError(f"{files.data} has no columns for labels: give a table of nodes, --nodes")
    return "sets" if files.nodes is None and sheet.nodes is None else "nodes"


def show(record: dict[str, Any], folder: Path) -> None:
    """The figures of a run, and what to do next."""
    for name, value in record["summary"].items():
        typer.echo(f"{name}: {value}")
    typer.echo(f"Written: {folder}")
    what = "--data CANDIDATES" if record["task"] == "hyperedges" else "--data FILE"
    what += " --nodes TABLE" if record.get("reads_nodes") else ""
    typer.echo(f"Next:    ehnn predict --model {shlex.quote(str(folder))} {what}")
    typer.echo(f"         ehnn report {shlex.quote(str(folder))}")
