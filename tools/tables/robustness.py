"""Tables of the fuzzing run, the series of kills and the run of mutants."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from .rows import ROOT, markdown


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def fuzz() -> str:
    """Inputs by format: read, refused with the documented error, and anything else."""
    record = _read("fuzz")
    lines = [(f"`{name}`", row) for name, row in record["formats"].items()]
    columns = ("inputs", "read", "refused", "failed")
    total = {c: sum(row[c] for _, row in lines) for c in columns}
    total["slowest_s"] = max(row["slowest_s"] for _, row in lines)
    table = markdown(
        ("format", "inputs", "read", "refused", "other errors", "slowest, s"),
        [
            (name, *(f"{row[c]:,}" for c in columns), f"{row['slowest_s']:.2f}")
            for name, row in [*lines, ("all", total)]
        ],
    )
    told = f"`{record['command']}`, commit {record['commit']}, {record['date']}, Python {record['python']}"
    return f"{table}\n{told}.\n"


def kills() -> str:
    """Kills by command, and the series that made them."""
    cases = _read("kill-series")
    columns = ("operations", "killed_before", "killed_at_random")
    total = ("all", *(f"{sum(case[c] for case in cases.values()):,}" for c in columns))
    wrong = sum(len(case["wrong"]) for case in cases.values())
    table = markdown(
        ("command", "file operations", "kills before one", "kills at random", "wrong afterwards"),
        [
            *(
                (name, *(f"{case[c]:,}" for c in columns), f"{len(case['wrong'])}")
                for name, case in cases.items()
            ),
            (*total, f"{wrong}"),
        ],
    )
    keys = ("command", "commit", "date", "hardware")
    series = dict.fromkeys(tuple(case["series"][key] for key in keys) for case in cases.values())
    told = [f"`{command}`, commit {commit}, {date}, {machine}." for command, commit, date, machine in series]
    return f"{table}\n" + "\n\n".join(told) + "\n"


def mutants() -> str:
    """Mutants by package, and how many the tests noticed."""
    record = _read("mutants")
    every, noticed = Counter[str](), Counter[str]()
    for row in record["rows"]:
        parts = row["file"].split("/")
        package = "ehnn_paper" if parts[0] == "paper" else f"ehnn.{parts[2]}"
        every[package] += 1
        noticed[package] += row["status"] in ("noticed", "timeout")
    lines = [(f"`{name}`", f"{every[name]}", f"{noticed[name]}") for name in sorted(every)]
    table = markdown(
        ("package", "mutants", "noticed"), [*lines, ("all", f"{every.total()}", f"{noticed.total()}")]
    )
    told = f"commit {record['commit']}, Python {record['python']}, torch {record['torch']}"
    return f"{table}\n`{record['command']}`, {told}.\n"
