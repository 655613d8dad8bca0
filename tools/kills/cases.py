"""The commands that are killed, at the smallest settings, and what must be there in the end."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TIMES = {"seconds", "date", "command", "commit", "hardware", "peak_mb"}
_MEASURED = ("seconds", "peak")
"""Beginnings of metrics in result tables that are measured, and not there after a kill."""
_TRAIN = (
    "train --data members.csv --node-column person --edge-column club --label-column team --out run "
    "--model ehnn-mlp --width 4 --epochs 3 --device cpu"
)
_NODES = "--data-dir data --device cpu"


@dataclass(frozen=True)
class Case:
    """A command, what is run before it, and the files that it writes.

    Attributes:
        command: arguments of ``ehnn``.
        before: commands whose files are there when it starts.
        results: patterns of files that must be the same after a kill; none: what it prints.
    """

    command: str
    before: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


CASES = {
    "train": Case(_TRAIN, results=("run/**/*",)),
    "train over an old run": Case(f"{_TRAIN} --seed 1 --fresh", (_TRAIN,), ("run/**/*",)),
    "train nodes": Case(
        f"train nodes --dataset zoo --model mlp --epochs 11 --out run {_NODES}", results=("run/**/*",)
    ),
    "predict": Case(
        "predict --model run --data members.csv --out p.csv --force", (_TRAIN,), ("p.csv", "run/**/*")
    ),
    "tune": Case(
        f"tune --dataset zoo --model mlp --trials 2 --runs 1 --epochs 1 --storage s.sqlite {_NODES}"
    ),
    "reproduce": Case(
        f"reproduce nodes --datasets zoo --models mlp --runs 2 --epochs 2 {_NODES}",
        results=("results/*.json", "results/*.md", "runs/**/runs.json"),
    ),
}
_HIDDEN = ("checkpoint.safetensors", "events.out")
"""Beginnings of names of files whose bytes may differ: a checkpoint of the last epoch, a log."""


def write_data(folder: Path) -> None:
    """A table of 24 people in 8 clubs, and a small Zoo."""
    draw = random.Random(0)
    rows = ["person,club,team"]
    for person in range(24):
        for club in sorted(draw.sample(range(8), 3)):
            rows.append(f"p{person},c{club},{'red' if person % 2 else 'blue'}")
    (folder / "members.csv").write_text("\n".join(rows) + "\n")
    zoo = folder / "data" / "zoo"
    zoo.mkdir(parents=True)
    content = [f"{i} {i % 3} {i // 3 % 2} {1 + i % 3}" for i in range(24)]
    (zoo / "zoo.content").write_text("\n".join(content) + "\n")
    (zoo / "zoo.edges").write_text("\n".join(f"{i} {24 + i % 3}" for i in range(24)) + "\n")


def outcome(case: Case, folder: Path, said: str) -> dict[str, Any]:
    """What a command left: its result files without times and dates, and every hidden file, by name."""
    found: dict[str, Any] = {}
    paths = sorted({path for pattern in case.results for path in folder.glob(pattern) if path.is_file()})
    for path in paths:
        name = str(path.relative_to(folder))
        found[name] = "there" if path.name.startswith(_HIDDEN) else _content(path)
    if not case.results:
        found["said"] = [line for line in said.splitlines() if line.startswith(("best", "settings"))]
    left = [p for p in folder.rglob(".*") if p.name.endswith(".part") or p.name == ".claim"]
    return found | {f"{path.relative_to(folder)} is left": True for path in left}


def _content(path: Path) -> Any:
    if path.suffix == ".json":
        return _without_times(json.loads(path.read_text()))
    if path.suffix == ".jsonl":
        return [_without_times(json.loads(line)) for line in path.read_text().splitlines()]
    return path.read_bytes().hex()


def _without_times(value: Any) -> Any:
    strip: Callable[[Any], Any] = _without_times
    if isinstance(value, dict):
        return {k: strip(v) for k, v in value.items() if k not in _TIMES}
    if isinstance(value, list):
        return [strip(v) for v in value if not _is_measured(v)]
    return value


def _is_measured(row: Any) -> bool:
    return isinstance(row, dict) and str(row.get("metric", "")).startswith(_MEASURED)
