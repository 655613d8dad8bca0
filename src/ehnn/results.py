"""Tables of results: flat rows in JSON, the same rows in CSV, with where they came from."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ehnn.io.atomic import atomic_write, locked

KEYS = (
    "experiment", "setting", "model", "selection", "metric", "mean", "std", "runs", "paper",
    "command", "commit", "hardware", "date",
)  # fmt: skip
IDENTITY = KEYS[:5]
"""Two rows with the same values here are the same measurement: the later one replaces the earlier."""
SELECTIONS = ("validation", "last", "test-best", "none")


def write_rows(
    experiment: str, rows: Iterable[Mapping[str, Any]], directory: str | os.PathLike[str] = "results"
) -> Path:
    """Merge rows into ``directory/experiment.json`` and ``.csv``; returns the path of the JSON file.

    A row that was there before (same experiment, setting, model, selection and metric) is replaced in
    its place, new rows are added at the end, and all others stay as they are. Each row has exactly the
    keys `KEYS`; ``experiment`` may be left out, ``std`` and ``paper`` may be None. Files are written
    whole or not at all, and processes that write one table wait for each other.
    """
    if not experiment or Path(experiment).name != experiment:
        raise ValueError(f"experiment must be a plain file name, got {experiment!r}")
    path = Path(directory) / f"{experiment}.json"
    new = [_checked({"experiment": experiment} | dict(given), experiment) for given in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        table = {_identity(row): row for row in [*read_rows(experiment, directory), *new]}
        merged = list(table.values())
        _write(path, json.dumps(merged, indent=1, ensure_ascii=False) + "\n")
        _write(path.with_suffix(".csv"), _csv(merged))
    return path


def read_rows(experiment: str, directory: str | os.PathLike[str] = "results") -> list[dict[str, Any]]:
    """The rows of an experiment; an empty list if there are none yet."""
    path = Path(directory) / f"{experiment}.json"
    if not path.exists():
        return []
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name} is not JSON ({error}); move it away to start a new table") from error
    if not isinstance(rows, list):
        raise ValueError(f"{path.name} must hold a list of rows, got {type(rows).__name__}")
    return [_checked(row, experiment) for row in rows]


def fuller(row: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], usual: int = 1) -> str | None:
    """What stands among ``rows`` in the place of ``row``, if it is of more runs or of longer training.

    A quick trial should not replace such a figure. Training is as long as the commands say: epochs, times the
    iterations of one; ``usual`` where they name none. Nor should one that was judged on fewer test pairs.
    None if nothing is there or it may be replaced.
    """
    place = [key for key in IDENTITY if key in row]
    for there in rows:
        if all(there[key] == row[key] for key in place):
            before, now = (steps_of(r["command"], usual) for r in (there, row))
            judged, judges = (_test_pairs(r["command"]) for r in (there, row))
            if there["runs"] > row["runs"] or before > now or judged > judges:
                unit = "steps" if "--iterations" in there["command"] else "epochs"
                return f"{there['runs']} runs, {before} {unit}"
    return None


def steps_of(command: str, usual: int = 1) -> int:
    """The epochs, times iterations, that a command asks for.

    >>> steps_of("x --epochs 3 --iterations 100"), steps_of("x --epochs=3"), steps_of("x", usual=500)
    (300, 3, 500)
    >>> steps_of("x --epochs 3 --iterations 100 (out of time after 20 iterations)")
    20
    """
    cut = re.search(r"out of time after (\d+) iterations", command)
    if cut:
        return int(cut[1])
    found = [int(n) for n in re.findall(r"--(?:epochs|iterations)[ =](\d+)", command)]
    return math.prod(found) if found else usual


def _test_pairs(command: str) -> float:
    """Where a command names none, it is all of them."""
    found = re.search(r"--test-pairs[ =](\d+)", command)
    return int(found[1]) if found else math.inf


def provenance(command: str) -> dict[str, str]:
    """``command``, ``commit``, ``hardware`` and ``date`` (UTC) of rows that are computed now."""
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    return {"command": command, "commit": commit(), "hardware": hardware(), "date": date}


def hardware() -> str:
    """The processor with its number of cores, and the GPU where there is one."""
    import torch

    parts = [f"{_cpu_model()}, {os.cpu_count()} cores"]
    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        parts.append((f"{count} × " if count > 1 else "") + torch.cuda.get_device_name(0))
    return "; ".join(parts)


def commit() -> str:
    """The commit of the source tree, with ``+changes`` if its code differs from it; else ``unknown``."""
    if "EHNN_COMMIT" in os.environ:  # a copy of the tree without its history
        return os.environ["EHNN_COMMIT"]
    root = Path(__file__).resolve().parents[2]
    head = _git(root, "rev-parse", "--short=12", "HEAD") if (root / "pyproject.toml").exists() else None
    if not head:
        return "unknown"
    code = ("src", "benchmarks", "experiments")
    changes = _git(root, "status", "--porcelain", "--untracked-files=no", "--", *code)
    return head + ("+changes" if changes else "")


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text)


def _identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key] for key in IDENTITY)


def _checked(row: Any, experiment: str) -> dict[str, Any]:
    if not isinstance(row, dict) or set(row) != set(KEYS):
        wrong = sorted(set(row) ^ set(KEYS)) if isinstance(row, dict) else row
        raise ValueError(f"a row of {experiment!r} must have the keys {KEYS}; missing or unknown: {wrong}")
    if row["experiment"] != experiment:
        raise ValueError(f"experiment must be {experiment!r} in every row, got {row['experiment']!r}")
    if row["selection"] not in SELECTIONS:
        raise ValueError(f"selection must be one of {SELECTIONS}, got {row['selection']!r}")
    for key in ("mean", "std", "paper"):
        value = row[key]
        empty = value is None and key != "mean"
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not (empty or number):
            raise ValueError(f"{key} must be a finite number, got {value!r} in {_identity(row)}")
    if not isinstance(row["runs"], int) or row["runs"] < 1:
        raise ValueError(f"runs must be a count of at least 1, got {row['runs']!r} in {_identity(row)}")
    return {key: row[key] for key in KEYS}


def _csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, KEYS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _git(root: Path, *arguments: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
