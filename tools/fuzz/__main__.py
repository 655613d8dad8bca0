"""Give damaged and hostile files to every reader; anything but the documented error is a finding.

A reader may read a file, or raise a ValueError that names it (FileNotFoundError where it is missing). It may
take a second for 100 kB, and add 64 MB and 100 times the size of the files to the memory of the process.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from .formats import FORMATS, make
from .seeds import write
from .trial import Outcome
from .workers import outcomes, shrunk

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; 1 where there are findings."""
    options = _options(arguments)
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory if memory.is_dir() else None) as scratch:
        seeds = make(options.only or list(FORMATS), Path(scratch))
        tally = Tally(seeds, options.inputs)
        for found in outcomes(
            seeds, options.seed, options.inputs, options.jobs, Path(scratch), options.start
        ):
            tally.add(*found)
        tally.progress.end()
        findings = [_finding(f, seeds, options, Path(scratch)) for f in tally.findings.values()]
    record = _about(options, tally) | {"formats": dict(tally.formats), "findings": findings}
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _show(record)
    return 1 if findings else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tools.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=20_000, help="how many, over all formats")
    parser.add_argument("--only", action="append", choices=list(FORMATS), help="a format; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="number of the first input of each format")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, help="a JSON file for the record")
    parser.add_argument("--keep", type=Path, default=ROOT / "runs" / "fuzz", help="folder for minimal files")
    return parser.parse_args(arguments)


class Tally:
    """Counts by format, and findings by kind."""

    def __init__(self, seeds: dict[str, Any], inputs: int) -> None:
        self.progress = Progress(inputs)
        self.formats: dict[str, dict[str, Any]] = {
            name: {"inputs": 0, "read": 0, "refused": 0, "failed": 0, "slowest_s": 0.0} for name in seeds
        }
        self.findings: dict[Any, dict[str, Any]] = {}

    def add(self, name: str, number: int, outcome: Outcome) -> None:
        row = self.formats[name]
        row["inputs"] += 1
        row["read" if outcome.read else "refused" if outcome.failure is None else "failed"] += 1
        row["slowest_s"] = round(max(row["slowest_s"], outcome.seconds), 3)
        if outcome.failure is not None:
            first = {
                "format": name, "exception": outcome.failure, "place": outcome.place, "count": 0,
                "input": number, "message": outcome.message,
            }  # fmt: skip
            if (name, *outcome.kind) not in self.findings:
                print(f"{name}, input {number}: {outcome.failure} at {outcome.place}", file=sys.stderr)
            self.findings.setdefault((name, *outcome.kind), first)["count"] += 1
        self.progress.advance(len(self.findings))


class Progress:
    """A line with the rate and the time left; rewritten on a terminal, else new every half minute."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.begun = total, 0, time.monotonic()
        self.tty = sys.stderr.isatty()
        self._next = self.begun + 1

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def advance(self, findings: int) -> None:
        self.done += 1
        if time.monotonic() < self._next and self.done < self.total:
            return
        self._next = time.monotonic() + (1 if self.tty else 30)
        rate = self.done / max(self.seconds, 1e-9)
        left = (self.total - self.done) / max(rate, 1e-9)
        told = (
            f"{self.done:,} of {self.total:,} inputs, {rate:,.0f}/s, {left:,.0f} s left, {findings} findings"
        )
        print(told, end="\r" if self.tty else "\n", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.tty:
            print(file=sys.stderr)


def _finding(found: dict[str, Any], seeds: dict[str, Any], options: Any, scratch: Path) -> dict[str, Any]:
    """With a minimal folder of files, kept for whoever mends it."""
    name, number = found["format"], found["input"]
    files, outcome = shrunk(name, seeds[name], options.seed, number, scratch)
    kept = options.keep / f"{name}-{found['exception'].split()[0]}-{number}"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        write(files, kept)
    return found | {"message": outcome.message or found["message"], "files": os.path.relpath(kept, ROOT)}


def _about(options: argparse.Namespace, tally: Tally) -> dict[str, Any]:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    only = "".join(f" --only {name}" for name in options.only or ())
    return {
        "command": f"python -m tools.fuzz --inputs {options.inputs} --seed {options.seed}{only}",
        "commit": commit or "unknown", "date": datetime.date.today().isoformat(),
        "python": platform.python_version(), "jobs": options.jobs, "inputs": options.inputs,
        "seconds": round(tally.progress.seconds, 1),
    }  # fmt: skip


def _show(record: dict[str, Any]) -> None:
    columns = ("inputs", "read", "refused", "failed", "slowest_s")
    print(f"{'format':<16}" + "".join(f"{column:>11}" for column in columns))
    total: dict[str, float] = defaultdict(float)
    for name, row in record["formats"].items():
        print(f"{name:<16}" + "".join(f"{row[column]:>11,}" for column in columns))
        for column in columns[:-1]:
            total[column] += row[column]
    print(f"{'all':<16}" + "".join(f"{total[column]:>11,.0f}" for column in columns[:-1]))
    for found in sorted(record["findings"], key=lambda f: -f["count"]):
        print(f"\n{found['count']} × {found['format']}: {found['exception']} at {found['place']}")
        print(f"    {found['message']!r:.300}\n    input {found['input']}, files: {found['files']}")
    print(f"{len(record['findings'])} kinds of findings, {record['inputs']:,} inputs, {record['seconds']} s")


if __name__ == "__main__":
    sys.exit(main())
