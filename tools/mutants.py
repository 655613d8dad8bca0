"""Change the source on purpose, one small mistake at a time, and see whether the tests notice.

The mistakes are listed in ``tools/mutants``. Each is made in a copy of this repository, where the
tests that are named beside it must then fail. ``results/mutants.json`` and ``mutants.md`` say which did.

    python tools/mutants.py --jobs 4
    python tools/mutants.py --only training --again
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import platform
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parents[1]
NOT_COPIED = (".*", "__pycache__", "build", "dist", "site", "runs", "shared", "results")
PRELOADED = ("torch", "scipy.sparse", "pandas", "sklearn", "safetensors.torch", "typer", "pytest")
"""Libraries that a server imports once; each run of tests is a fork of it. None of them is ours."""
NOTICED, MISSED, TIMEOUT, BROKEN = "noticed", "missed", "timeout", "broken"


@dataclass(frozen=True)
class Mutant:
    """One mistake: ``new`` instead of ``old``, which occurs once in ``file``; ``tests`` must notice.

    ``why`` says in one line what would go wrong, and ``hole`` which defect of an audit it brings back.
    """

    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    why: str = ""
    hole: str = field(default="", repr=False)  # no part of the key

    def apply(self, root: Path) -> str:
        """The text of the file with the mistake; ValueError if ``old`` does not occur exactly once."""
        text = (root / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.file} must contain {self.old!r} once, found {text.count(self.old)} times"
            )
        return text.replace(self.old, self.new)

    def key(self, root: Path) -> str:
        """Changes when the mistake, the file or one of the tests changes."""
        paths = [self.file, *sorted({test.partition("::")[0] for test in self.tests})]
        parts = [repr(self).encode(), *((root / path).read_bytes() for path in paths)]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def load(root: Path = ROOT) -> list[Mutant]:
    """All mutants, in the order of the files (TOML, or a line of JSON each) and of the entries in each."""
    found = []
    for path in sorted((root / "tools" / "mutants").iterdir()):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            entries = tomllib.loads(text)["mutant"]
        else:
            entries = [json.loads(line) for line in text.splitlines() if line.strip()]
        found += [Mutant(**(entry | {"tests": tuple(entry["tests"])})) for entry in entries]
    return found


def copy_tree(root: Path, place: Path) -> Path:
    """The repository without what is made or fetched, with bytecode that is checked against its source."""
    shutil.copytree(root, place, ignore=shutil.ignore_patterns(*NOT_COPIED))
    modes = ("-q", "--invalidation-mode", "checked-hash")
    subprocess.run(
        [sys.executable, "-m", "compileall", *modes, place / "src"], check=False, stdout=subprocess.DEVNULL
    )
    return place


def run_tests(place: Path, tests: Iterable[str], seconds: float) -> tuple[int | None, str]:
    """The exit status of pytest in a copy (None: it took longer) and what it printed."""
    sources = [
        str(path) for path in (place / "src", place / "paper" / "src", place / "paper") if path.is_dir()
    ]
    # No bytecode is written: that of a mutant could be taken for the original's, or the other way round.
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sources), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    options = ["-x", "-q", "--no-header", "-rfE", "--tb=line", *tests]
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(list(PRELOADED))
    with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as said:
        process = server.Process(target=_child, args=(str(place), options, environment, said.name))
        process.start()
        process.join(seconds)
        if process.is_alive():
            with suppress(ProcessLookupError):
                os.killpg(process.pid or 0, signal.SIGKILL)
            process.kill()
            process.join()
            return None, ""
        return process.exitcode, said.read()


def _child(place: str, options: list[str], environment: dict[str, str], said: str) -> None:
    """Be pytest in a copy, in a process that has imported the large libraries."""
    os.setsid()
    os.chdir(place)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = ["", *environment["PYTHONPATH"].split(os.pathsep)]
    sys.dont_write_bytecode = True
    out, nothing = os.open(said, os.O_WRONLY | os.O_TRUNC), os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, nothing), (1, out), (2, out)):
        os.dup2(source, target)
    import pytest

    status = 3
    try:
        status = int(pytest.main(options))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def judge(status: int | None, said: str) -> tuple[str, str]:
    """(noticed, missed, timeout or broken; the test that noticed or what is broken)."""
    if status is None:
        return TIMEOUT, "time limit"
    if status == 0:
        return MISSED, ""
    if status < 0:
        return NOTICED, f"a crash of the tests (signal {-status})"
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE)
    if status in (1, 2) and failed:
        return NOTICED, failed.group(1)
    return BROKEN, " ".join(said.split())[-300:]


def try_mutant(mutant: Mutant, place: Path, seconds: float) -> dict[str, Any]:
    """Make the mistake in a copy, run its tests, undo it."""
    begun, path = time.monotonic(), place / mutant.file
    original, changed = path.read_text(encoding="utf-8"), mutant.apply(place)
    try:
        path.write_text(changed, encoding="utf-8")
        status, by = judge(*run_tests(place, mutant.tests, seconds))
    finally:
        path.write_text(original, encoding="utf-8")
    return asdict(mutant) | {"status": status, "by": by, "seconds": round(time.monotonic() - begun, 1)}


class Copies:
    """One copy of the repository for each job, made when it is first needed."""

    def __init__(self, root: Path, folder: Path, jobs: int) -> None:
        self.root, self.folder = root, folder
        self.free: queue.Queue[Path] = queue.Queue()
        for job in range(jobs):
            self.free.put(folder / f"copy-{job}")

    def use(self, work: Any, *arguments: Any) -> Any:
        place = self.free.get()
        try:
            if not place.exists():
                copy_tree(self.root, place)
            return work(*arguments[:1], place, *arguments[1:])
        finally:
            self.free.put(place)


def check_unchanged(copies: Copies, pool: ThreadPoolExecutor, mutants: list[Mutant], seconds: float) -> None:
    """SystemExit unless all named tests pass on the source as it is, each file within the time limit."""
    by_file: dict[str, set[str]] = {}
    for test in {test for mutant in mutants for test in mutant.tests}:
        by_file.setdefault(test.partition("::")[0], set()).add(test)

    def passes(tests: set[str], place: Path) -> tuple[int | None, str]:
        return run_tests(place, sorted(tests), seconds)

    print(f"the tests of {len(by_file)} files on the source as it is", flush=True)
    waiting = {pool.submit(copies.use, passes, tests): name for name, tests in by_file.items()}
    for done in as_completed(waiting):
        status, said = done.result()
        if status != 0:
            print(said[-3000:])
            sys.exit(f"{waiting[done]} does not pass without a mutant (status {status})")


def machine() -> dict[str, Any]:
    """What the figures were found with."""
    found: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine()}
    for name in ("torch", "pytest"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    git = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    return found | {"commit": done.stdout.strip() or "unknown"}


def write(folder: Path, rows: list[dict[str, Any]]) -> None:
    """``mutants.json`` and ``mutants.md`` in ``folder``, each replaced as a whole."""
    rows = sorted(rows, key=lambda row: (row["file"], row["old"], row["new"]))
    found = sum(row["status"] in (NOTICED, TIMEOUT) for row in rows)
    head = {"command": "make mutants", **machine(), "mutants": len(rows), "noticed": found}
    lines = [
        "# Mutants\n", "Written by `make mutants`; the list is in `tools/mutants/`.\n",
        f"{found} of {len(rows)} small mistakes were noticed ({100 * found / max(len(rows), 1):.1f} %), "
        f"commit {head['commit']}, Python {head['python']}, torch {head['torch']}.\n",
        "| file | what would go wrong | noticed by |", "|---|---|---|",
    ]  # fmt: skip
    lines += [_line(row["file"].removeprefix("src/ehnn/"), _what(row), _by(row)) for row in rows]
    holes = sorted((row for row in rows if row.get("hole")), key=lambda row: row["hole"])
    if holes:
        lines += [
            "\n## Defects that audits found\n", "Each mutant brings one back; its test fails then.\n",
            "| defect | mutant | noticed by |", "|---|---|---|",
        ]  # fmt: skip
        lines += [_line(row["hole"], f"{row['file']}: {_what(row)}", _by(row)) for row in holes]
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"mutants.json": json.dumps(head | {"rows": rows}, indent=1, ensure_ascii=False) + "\n",
             "mutants.md": "\n".join(lines) + "\n"}  # fmt: skip
    for name, text in texts.items():
        part = folder / f".{name}.part"
        part.write_text(text, encoding="utf-8")
        os.replace(part, folder / name)


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "¦") for cell in cells) + " |"


def _what(row: dict[str, Any]) -> str:
    return row["why"] or f"`{' '.join(row['old'].split())}` → `{' '.join(row['new'].split())}`"


def _by(row: dict[str, Any]) -> str:
    return f"`{row['by']}`" if row["status"] == NOTICED else f"**{row['status']}** {row['by']}".strip()


def known_rows(folder: Path) -> dict[str, dict[str, Any]]:
    """What an earlier run found, by key."""
    path = folder / "mutants.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    return {row["key"]: row for row in rows if row["status"] != BROKEN}


def run(root: Path, out: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Try what is asked for and not known yet; returns the rows of what is asked for."""
    every = load(root)
    chosen = [m for m in every if not options.only or re.search(options.only, f"{m.file} {m.why}")]
    keys = {mutant: mutant.key(root) for mutant in every}
    before = known_rows(out)
    known = {key: before[key] | {"hole": m.hole} for m, key in keys.items() if key in before}
    left = [m for m in chosen if options.again or keys[m] not in known]
    print(f"{len(chosen)} mutants, {len(chosen) - len(left)} known from before", flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies = Copies(root, Path(folder), options.jobs)
        if left and not options.unchecked:
            check_unchanged(copies, pool, left, options.seconds)
        waiting = {pool.submit(copies.use, try_mutant, m, options.seconds): m for m in left}
        for number, done in enumerate(as_completed(waiting), 1):
            mutant = waiting[done]
            row = done.result() | {"key": keys[mutant]}
            known[row["key"]] = row
            write(out, list(known.values()))
            rest = (time.monotonic() - begun) / number * (len(left) - number)
            said = f"{row['status']:8}{mutant.file}: {mutant.why}  {row['by']}"
            print(f"[{number}/{len(left)}, {rest / 60:.0f} min left] {said}", flush=True)
    return [known[keys[mutant]] for mutant in chosen]


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time, each in a copy of its own")
    parser.add_argument("--only", metavar="PATTERN", help="a regular expression on the file and the reason")
    parser.add_argument("--again", action="store_true", help="also what is known from an earlier run")
    parser.add_argument(
        "--unchecked", action="store_true", help="do not run the tests without a mutant first"
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="time limit of a mutant")
    parser.add_argument("--least", type=float, default=90.0, help="percent that must be noticed")
    parser.add_argument("--out", type=Path, help="folder of mutants.json and mutants.md (results)")
    options = parser.parse_args(arguments)
    rows = run(root, options.out or root / "results", options)
    broken = [row for row in rows if row["status"] == BROKEN]
    missed = [row for row in rows if row["status"] == MISSED]
    share = 100 * (len(rows) - len(missed) - len(broken)) / max(len(rows), 1)
    print(f"{share:.1f} % of {len(rows)} noticed; {len(missed)} missed, {len(broken)} broken")
    for row in missed + broken:
        print(f"  {row['status']:8}{row['file']}: {row['why']}")
        print(f"{'':10}{row['old']!r} → {row['new']!r} {row['by']}")
    return int(bool(broken) or share < options.least)


if __name__ == "__main__":
    sys.exit(main())
