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
import statistics
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ehnn._utils.atomic import atomic_write, locked
from ehnn._utils.schema import check, positive
from ehnn._utils.untrusted import read_json
from ehnn._utils.validation import short

KEYS = (
    "experiment", "setting", "model", "selection", "metric", "mean", "std", "runs", "seeds", "paper",
    "settings", "command", "commit", "hardware", "date",
)  # fmt: skip
ADDED = {"seeds": None, "settings": None}
"""Keys that tables of version 0.1 do not have."""
IDENTITY = KEYS[:5]
"""Two rows with the same values here are the same measurement: the later one replaces the earlier."""
SELECTIONS = ("validation", "last", "test-best", "none")
ROW = dict.fromkeys(KEYS, str) | {
    "selection": frozenset(SELECTIONS), "mean": float, "std": (float, None), "runs": positive,
    "seeds": object, "paper": (float, None), "settings": (dict, None),
}  # fmt: skip


def write_rows(
    experiment: str, rows: Iterable[Mapping[str, Any]], directory: str | os.PathLike[str] = "results"
) -> Path:
    """Merge rows into ``directory/experiment.json`` and ``.csv``; returns the path of the JSON file.

    A row that was there before (same experiment, setting, model, selection and metric) is replaced in
    its place, new rows are added at the end, and all others stay as they are. Each row has exactly the
    keys `KEYS`; ``experiment`` may be left out, ``std`` and ``paper`` may be None. Files are written whole
    or not at all, and processes that write one table wait for each other.

    ``seeds`` lists the seed of each run, once where they are the same on several draws of the data; None
    where nothing is drawn. ``settings`` has what the command leaves to the code, such as the hyperparameters
    of a recipe.
    """
    if not experiment or Path(experiment).name != experiment:
        raise ValueError(f"experiment must be a plain file name, got {experiment!r}")
    path = Path(directory) / f"{experiment}.json"
    new = [_checked({"experiment": experiment} | dict(given), experiment) for given in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        table = {_identity(row): row for row in [*read_rows(experiment, directory), *new]}
        merged = list(table.values())
        _write(path, _json(merged))
        _write(path.with_suffix(".csv"), _csv(merged))
    return path


def read_rows(experiment: str, directory: str | os.PathLike[str] = "results") -> list[dict[str, Any]]:
    """The rows of an experiment; an empty list if there are none yet."""
    path = Path(directory) / f"{experiment}.json"
    if not path.exists():
        return []
    try:
        rows = read_json(path, "rows of results")
        check(rows, list, f"{path}: the list of rows")
        return [_checked(row, experiment, f"{path}, row {i}: ") for i, row in enumerate(rows)]
    except ValueError as error:
        raise ValueError(f"{error}; move the file away to start a new table") from error


def fuller(row: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], usual: int = 1) -> str | None:
    """What stands among ``rows`` in the place of ``row``, if it is of more runs or of longer training.

    A quick trial should not replace such a figure. Training is as long as the commands say: epochs, times the
    iterations of one; ``usual`` where they name none. Nor should one that was judged on fewer test pairs, or
    whose model had fewer settings to choose from. None if nothing is there or it may be replaced.
    """
    place = [key for key in IDENTITY if key in row]
    for there in rows:
        if all(there[key] == row[key] for key in place):
            before, now = (steps_of(r["command"], usual) for r in (there, row))
            judged, judges = (_number_of("test-pairs", r["command"], math.inf) for r in (there, row))
            searched, searches = (_number_of("choices", r["command"], 1) for r in (there, row))
            if there["runs"] > row["runs"] or before > now or judged > judges or searched > searches:
                unit = "steps" if "--iterations" in there["command"] else "epochs"
                return f"{there['runs']} runs, {before} {unit}"
    return None


def steps_of(command: str, usual: int = 1) -> int:
    """The epochs, times iterations, or the steps that a command asks for.

    >>> steps_of("x --epochs 3 --iterations 100"), steps_of("x --epochs=3"), steps_of("x", usual=500)
    (300, 3, 500)
    >>> steps_of("x --epochs 3 --iterations 100 (out of time after 20 iterations)")
    20
    """
    cut = re.search(r"out of time after (\d+) iterations", command)
    if cut:
        return int(cut[1])
    found = [int(n) for n in re.findall(r"--(?:epochs|iterations|steps)[ =](\d+)", command)]
    return math.prod(found) if found else usual


def _number_of(option: str, command: str, unnamed: float) -> float:
    """The number that a command gives to an option."""
    found = re.search(rf"--{option}[ =](\d+)", command)
    return int(found[1]) if found else unnamed


def summary(values: Sequence[float]) -> dict[str, Any]:
    """``mean``, sample ``std`` (None of a single run) and ``runs``.

    >>> summary([61.0])
    {'mean': 61.0, 'std': None, 'runs': 1}
    """
    std = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.mean(values), "std": std, "runs": len(values)}


def shown(row: Mapping[str, Any], digits: int = 1) -> str:
    """The mean of a row with its spread, if it has one.

    >>> shown({"mean": 61.04, "std": 2.0}), shown({"mean": 61.04, "std": None}, 2)
    ('61.0 ± 2.0', '61.04')
    """
    spread = "" if row["std"] is None else f" ± {row['std']:.{digits}f}"
    return f"{row['mean']:.{digits}f}{spread}"


def provenance(
    command: str,
    *,
    seeds: Sequence[int] | None = None,
    settings: Mapping[str, Any] | None = None,
    runs: Iterable[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """``seeds``, ``settings``, ``command``, ``commit``, ``hardware`` and ``date`` (UTC) of rows.

    Args:
        command: that computes the rows.
        seeds: of the runs, one each.
        settings: what the command leaves to the code.
        runs: records of runs that were trained earlier or elsewhere, each with its `origin`; the rows then
            name the commits, machines and dates of all of them.
    """
    here = origin()
    kept = list(runs) or [here]
    told = {key: ", ".join(dict.fromkeys(run.get(key, here[key]) for run in kept)) for key in here}
    return {
        "seeds": None if seeds is None else list(seeds),
        "settings": None if settings is None else json.loads(json.dumps(settings)),
        "command": command,
        **told,
    }


def origin() -> dict[str, str]:
    """``commit``, ``hardware`` and ``date`` (UTC) of a run that is trained now."""
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    return {"commit": commit(), "hardware": hardware(), "date": date}


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
    root = Path(__file__).resolve().parents[3]
    head = _git(root, "rev-parse", "--short=12", "HEAD") if (root / "pyproject.toml").exists() else None
    if not head:
        return "unknown"
    code = ("src", "paper")
    changes = _git(root, "status", "--porcelain", "--untracked-files=no", "--", *code)
    return head + ("+changes" if changes else "")


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text)


def _identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key] for key in IDENTITY)


def _checked(row: Mapping[str, Any], experiment: str, place: str = "") -> dict[str, Any]:
    place = f"{place}a row of {experiment!r}"
    row = ADDED | row if isinstance(row, dict) else row
    check(row, ROW, place)
    if row["experiment"] != experiment:
        raise ValueError(f"{place}: experiment must be {experiment!r}, got {short(row['experiment'])}")
    _check_seeds(row, place)
    return {key: row[key] for key in KEYS}


def _check_seeds(row: Mapping[str, Any], place: str) -> None:
    seeds = row["seeds"]
    if seeds is not None and (
        not isinstance(seeds, list)
        or not all(type(seed) is int and seed >= 0 for seed in seeds)
        or len(set(seeds)) != len(seeds)
        or not seeds
        or row["runs"] % len(seeds)
    ):
        raise ValueError(f"{place}: seeds must list one per run ({row['runs']}), got {short(seeds)}")


def _json(rows: list[dict[str, Any]]) -> str:
    """A line for each row."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f"[\n{lines}\n]\n"


def _csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, KEYS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row | {key: _cell(row[key]) for key in ADDED} for row in rows)
    return out.getvalue()


def _cell(value: list[int] | dict[str, Any] | None) -> str | None:
    """A list as words, names and values as JSON."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    return None if value is None else json.dumps(value, ensure_ascii=False)


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
