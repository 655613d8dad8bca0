"""A folder written by a training, as a `Run`. Every part is optional."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from ehnn._utils.atomic import atomic_write
from ehnn._utils.untrusted import shortened

from . import parts
from .attention import Attention
from .history import History
from .records import as_json

FILES = ("run.json", "metrics.jsonl", "model.json")
"""What makes a folder a run: of `ehnn train --data`, of `ehnn.training.fit`, of an estimator's ``save``."""

EXPLANATIONS = "explanations.json"
"""Written by `ehnn explain`."""

PARTS = (
    "task", "model", "metric", "parameters", "data", "labels", "history", "test", "hypergraph", "attention",
    "summary", "seconds", "version", "command", "leaderboard", "trials", "runs",
)  # fmt: skip
"""The keys of ``run.json``."""

T = TypeVar("T")


@dataclass
class Run:
    """What a page can show of a run; None or empty where the folder does not say.

    Attributes:
        name: of the folder.
        task, model, metric: what was learned, by what, and how it is judged.
        parameters: settings, by name.
        data: counts of the hypergraph; see `data_record`.
        labels: names of the classes.
        history: the curves, from rows with ``epoch``, ``loss`` and the metrics.
        test: figures and confusions; see `score_record`.
        runs: the same for each of several splits of the labels, as ``--runs`` of `ehnn train` makes them.
        hypergraph: a small hypergraph to draw; see `hypergraph_record`.
        attention: means of attention weights by order; see `attention_by_order`.
        summary: lines to show at the top, by title.
        seconds, version, command: of the training.
        leaderboard: the members that `NodeClassifier` and others compared.
        trials: settings that a search tried.
        explanations: what `ehnn explain` found about rows.
        notes: warnings and remarks.

    >>> run = Run("mine", model="ehnn-mlp", seconds=12.5)
    >>> run.history is None, run.notes
    (True, [])
    """

    name: str
    task: str | None = None
    model: str | None = None
    metric: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    data: parts.Data | None = None
    labels: list[str] | None = None
    history: History | None = None
    test: parts.Scores | None = None
    runs: list[parts.Scores] = field(default_factory=list)
    hypergraph: parts.Small | None = None
    attention: Attention | None = None
    summary: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None
    version: str | None = None
    command: str | None = None
    leaderboard: list[dict[str, Any]] = field(default_factory=list)
    trials: list[dict[str, Any]] = field(default_factory=list)
    explanations: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What could not be read, one line each."""


def read_runs(paths: Iterable[str | os.PathLike[str]]) -> list[Run]:
    """The runs in the folders ``paths``, each once, with names that tell them apart.

    >>> for name in ("a", "b"):
    ...     _ = write_run(name, model="mine")
    >>> [run.name for run in read_runs(["a", "b"])]
    ['a', 'b']
    """
    folders = list(dict.fromkeys(_folder(path) for path in paths))
    if not folders:
        raise ValueError("there is no run to report: give at least one folder")
    runs = [read_run(folder) for folder in folders]
    for run, name in zip(runs, _names(folders), strict=True):
        run.name = name
    return runs


def read_run(path: str | os.PathLike[str]) -> Run:
    """The run in the folder ``path``; a ValueError says what a folder without one should hold.

    >>> _ = write_run("folder", model="mine", seconds=12.5)
    >>> read_run("folder").seconds
    12.5
    """
    folder = _folder(path)
    run = Run(folder.name)
    raw = _estimator(folder) | _checkpoint(folder, run.notes) | _record(folder)
    raw |= _explanations(folder, run.notes)
    if not raw.get("history"):
        raw["history"] = _metrics(folder, run.notes)
    _fill(run, raw)
    return run


def _folder(path: str | os.PathLike[str]) -> Path:
    folder = Path(os.path.realpath(path))
    if folder.name in FILES and folder.is_file():
        folder = folder.parent
    if not folder.exists():
        raise ValueError(f"{path} does not exist")
    if not folder.is_dir() or not any((folder / name).is_file() for name in FILES):
        raise ValueError(f"{path} holds no run: expected a folder with {' or '.join(FILES)}{_below(folder)}")
    return folder


def _below(folder: Path) -> str:
    """Runs a few levels down, as a hint."""
    found = {
        p.parent for depth in ("*", "*/*", "*/*/*") for name in FILES for p in folder.glob(f"{depth}/{name}")
    }
    found = {path for path in found if path.parent not in found}  # the choices of a run are no runs
    return f"; there are runs in {', '.join(map(str, sorted(found)[:3]))}" if found else ""


def _names(folders: list[Path]) -> list[str]:
    """The shortest ends of the paths that differ."""
    for length in range(1, max(len(folder.parts) for folder in folders)):
        found = ["/".join(folder.parts[-length:]) for folder in folders]
        if len(set(found)) == len(found):
            return found
    return [str(folder) for folder in folders]


def write_run(folder: str | os.PathLike[str], **given: Any) -> Path:
    """Write ``run.json`` into a folder; ``given`` are attributes of `Run`. Returns its path.

    >>> write_run("folder", model="mine", history=[{"epoch": 1, "loss": 0.7}]).name
    'run.json'

    ``history`` is a list of rows such as an estimator's ``history_``; ``data``, ``test``, ``hypergraph`` and
    ``attention`` come from `data_record`, `score_record`, `hypergraph_record` and `attention_by_order`.
    A part that is None or empty is left out; tensors and arrays become lists, and what is not a finite number
    null.
    """
    unknown = sorted(set(given) - set(PARTS))
    if unknown:
        raise ValueError(f"a run has no {', '.join(unknown)}; it has {', '.join(PARTS)}")
    path = Path(folder) / "run.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {key: value for key, value in as_json(given).items() if value not in (None, {}, [])}
    with atomic_write(path) as file:
        file.write(json.dumps(kept, allow_nan=False) + "\n")
    return path


# ---------------------------------------------------------------------- files


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} must hold an object, got {type(found).__name__}")
    return found


def _record(folder: Path) -> dict[str, Any]:
    path = folder / "run.json"
    return _json(path) if path.is_file() else {}


def _estimator(folder: Path) -> dict[str, Any]:
    path = folder / "model.json"
    if not path.is_file():
        return {}
    found = _json(path)
    given = found.get("params")
    params = {k: v for k, v in given.items() if v is not None} if isinstance(given, dict) else {}
    known = {"task": found.get("class"), "model": params.pop("model", None), "parameters": params}
    known |= {"history": found.get("history"), "version": found.get("ehnn"), "leaderboard": _compared(found)}
    return {key: value for key, value in known.items() if value is not None}


def _compared(model: Mapping[str, Any]) -> Any:
    """The leaderboard in ``model.json``, where several members were compared."""
    fitted = model.get("fitted")
    places = model.get("auto"), fitted.get("compared") if isinstance(fitted, Mapping) else None
    return next((place.get("leaderboard") for place in places if isinstance(place, Mapping)), None)


def _explanations(folder: Path, notes: list[str]) -> dict[str, Any]:
    """What `ehnn explain` found out."""
    path = folder / EXPLANATIONS
    if not path.is_file():
        return {}
    try:
        return {"explanations": json.loads(path.read_text(encoding="utf-8"))}
    except (ValueError, RecursionError) as error:
        notes.append(f"{path.name}: {shortened(error)}")
        return {}


def _checkpoint(folder: Path, notes: list[str]) -> dict[str, Any]:
    """Settings from the header of a checkpoint; its tensors are not read."""
    from safetensors import SafetensorError, safe_open

    path = folder / "checkpoint.safetensors"
    if not path.is_file():
        return {}
    try:
        with safe_open(path, framework="numpy") as file:
            identity = json.loads(file.metadata()["state"])["value"]["identity"]
        return {"parameters": identity["config"] | {"seeds": identity["seeds"]}}
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        notes.append(f"{path.name}: {shortened(error)}")
        return {}


def _metrics(folder: Path, notes: list[str]) -> list[Any] | None:
    """Rows of ``metrics.jsonl``; a last line that is still being written does not count."""
    path = folder / "metrics.jsonl"
    if not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    rows = []
    for place, line in enumerate(lines, 1):
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError):
            if place < len(lines):
                notes.append(f"{path.name}, line {place}: not JSON")
    return rows


# ---------------------------------------------------------------------- parts


def _fill(run: Run, raw: dict[str, Any]) -> None:
    def part(name: str, read: Callable[[Any], T]) -> T | None:
        if raw.get(name) is None:
            return None
        try:
            return read(raw[name])
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            run.notes.append(f"{name}: {error}")
            return None

    run.task, run.model, run.metric, run.version, run.command = (
        part(name, str) for name in ("task", "model", "metric", "version", "command")
    )
    run.parameters = dict(part("parameters", parts.mapping) or {})
    run.summary = {str(k): str(v) for k, v in (part("summary", parts.mapping) or {}).items()}
    run.data, run.labels = part("data", parts.data), part("labels", parts.names)
    history = part("history", History.read)
    run.history = _measured(history, run.parameters) if history is not None else None
    run.test, run.hypergraph = part("test", parts.scores), part("hypergraph", parts.small)
    run.runs = part("runs", lambda given: [parts.scores(one) for one in parts.rows(given)]) or []
    run.leaderboard, run.trials, run.explanations = (
        part(name, parts.rows) or [] for name in ("leaderboard", "trials", "explanations")
    )
    run.attention, run.seconds = part("attention", Attention.read), part("seconds", parts.amount)


def _measured(history: History, parameters: Mapping[str, Any]) -> History | None:
    """Without the validation metric where nothing was held out: in older records it is a zero."""
    if 0 in (parameters.get("validation_fraction"), parameters.get("valid")):
        history = replace(history, metrics={k: v for k, v in history.metrics.items() if k != "valid"})
    return history if history.metrics else None
