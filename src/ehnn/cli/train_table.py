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
from ehnn._utils.folders import RunFolder, write_json
from ehnn.estimators.base import Estimator
from ehnn.nn.named import NAMED
from ehnn.tables import Source, TableData
from ehnn.tables.reader import TASKS
from ehnn.tables.reading import NO_LABEL, learn

from .errors import choose
from .run_folder import RECORD, default_folder, own_run
from .scores import leaderboard_lines, no_better

if TYPE_CHECKING:
    from .fit_hyperedges import HyperedgeRun
    from .fit_labels import LabelRun


@dataclass(frozen=True)
class Request:
    """What was asked for.

    Attributes:
        settings: parameters of the estimator that were given.
        valid, test: shares of the labels (or sets) that select the epoch, and that are scored at the end.
        runs: how many times to split and train.
    """

    source: Source
    task: str | None
    label: str | None
    feature_columns: tuple[str, ...] | None
    regression: bool
    settings: dict[str, Any]
    valid: float
    test: float
    seed: int
    runs: int = 1

    def check(self) -> None:
        choose("model", str(self.settings["model"]), ("auto", *NAMED))
        if self.task is not None:
            choose("task", self.task, TASKS)
        if self.label is None and self.task != "hyperedges":
            raise ValueError(NO_LABEL)
        if not (self.valid >= 0 and self.test >= 0 and self.valid + self.test < 0.95):
            raise ValueError(
                f"--valid and --test must leave a part to train on, got {self.valid} and {self.test}"
            )
        if self.runs > 1 and not self.test:
            raise ValueError("--runs compares test parts: give --test above 0")
        settings = self.estimator
        if (weight := settings.pop("class_weight", None)) is not None:
            choose("--class-weight", weight, ("balanced",))
            if self.regression or self.task == "hyperedges":
                raise ValueError("--class-weight is for classes: leave it out")
        Estimator(**settings).check_settings()

    def to_dict(self) -> dict[str, Any]:
        """What a run depends on: the options, and what is in the tables."""
        about = asdict(self)
        del about["source"], about["settings"]["device"]
        layout = asdict(self.source.layout) | {"id_column": self.source.id_column}
        return {**about.pop("settings"), **about, "layout": layout, "digest": self.source.digest()}

    @property
    def estimator(self) -> dict[str, Any]:
        """Parameters of an estimator, which takes its validation part of what the test part leaves."""
        fraction = self.valid / (1 - self.test)
        return {**self.settings, "random_state": self.seed, "validation_fraction": fraction, "verbose": True}

    @property
    def parameters(self) -> dict[str, Any]:
        """For the record: the settings, and how the data were split."""
        own = {k: v for k, v in self.settings.items() if k not in ("model", "device")}
        return {**own, "valid": self.valid, "test": self.test, "seed": self.seed, "runs": self.runs}


def train_table(request: Request, out: Path | None, fresh: bool) -> Path:
    """Train as asked, or continue; returns the folder."""
    request.check()
    identity = request.to_dict()
    folder = out or default_folder(Path(request.source.data), identity)
    with own_run(folder, identity, fresh) as run:
        _train(request, run)
    return folder


def _train(request: Request, folder: RunFolder) -> None:
    from .fit_hyperedges import HyperedgeRun
    from .fit_labels import LabelRun

    path = folder.path
    if folder.going_on and (path / RECORD).exists():
        typer.echo(f"{path} holds this run, done before; to train again: --fresh", err=True)
        show(read_record(path / RECORD), path)
        return
    data = prepared(request)
    run = (HyperedgeRun if data.task == "hyperedges" else LabelRun)(request, data)
    if not folder.going_on:
        folder.begin()
    record = record_of(request, data, run, path)
    write_json(path / RECORD, record)
    show(record, path)


def record_of(
    request: Request, data: TableData, run: LabelRun | HyperedgeRun, folder: Path
) -> dict[str, Any]:
    """Train and save to ``folder``; what is known about it then."""
    start = time.perf_counter()
    found = run.fit(folder)
    if found.get("leaderboard") and (remark := no_better(found["leaderboard"])):
        found["summary"]["note"] = remark  # also in the report
    if found.get("left_out"):
        found["summary"]["not compared"] = ", ".join(f"{k} ({v})" for k, v in found["left_out"].items())
    return {
        "task": data.task, "model": request.settings["model"], "parameters": request.parameters,
        "reads_nodes": data.reader.id_column is not None and bool(data.reader.node_features),
        **found, "seconds": round(time.perf_counter() - start, 2), "version": ehnn.__version__,
        "command": shlex.join(["ehnn", *sys.argv[1:]]),
    }  # fmt: skip


def read_record(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}); to train again: --fresh") from error


def prepared(request: Request) -> TableData:
    """The tables; everything that can be wrong with them is found here, before anything is written."""
    data = learn(request.source, request.label, request.task, request.regression, request.feature_columns)
    for remark in data.remarks:
        typer.echo(f"Note: {remark}", err=True)
    typer.echo(f"{request.source.data}: {data.h}", err=True)
    return data


def show(record: dict[str, Any], folder: Path) -> None:
    """The figures of a run, and what to do next."""
    if record.get("leaderboard"):
        typer.echo("\n".join(leaderboard_lines(record["leaderboard"])) + "\n")
    for name, value in record["summary"].items():
        typer.echo(f"{name}: {value}")
    typer.echo(f"Written: {folder}")
    what = "--data CANDIDATES" if record["task"] == "hyperedges" else "--data FILE"
    what += " --nodes TABLE" if record.get("reads_nodes") else ""
    typer.echo(f"Next:    ehnn predict --model {shlex.quote(str(folder))} {what}")
    typer.echo(f"         ehnn report {shlex.quote(str(folder))}")
