"""Kill commands before every file operation and at random moments; run them again; compare what is left.

Each command is run once without a kill. Then it is run in a copy of the same folder and killed before its
n-th change to a file, for every n, and run again until it ends. The files (without dates and times) must be
those of the run without a kill. With ``--random N`` it is killed N times at moments drawn evenly over its
run time.

    python tools/kill_series.py --random 20 --jobs 2 --out results/kill-series.json
    python tools/kill_series.py --cases train predict --every 10

Commands run in forks of this process, which imports the library once; Linux only.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import pkgutil
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.kills.cases import CASES, Case, outcome, write_data
from tools.kills.hook import KILLED, Hook

LIMIT_S = 300.0
"""A command that takes longer hangs."""


class FailedError(Exception):
    """A command that ended with an error, or did not end."""


def series(
    name: str, nths: Callable[[int], range], moments: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """Kill the command ``name``; the counts, and what went wrong."""
    case = CASES[name]
    with _folder() as start:
        write_data(start)
        for command in case.before:
            _finish(command, start)
        with _copy(start) as folder:
            said, operations = _finish(case.command, folder)
            want = outcome(case, folder, said)
        with _copy(start) as folder:  # a second time: what is imported late is imported now
            begun = time.monotonic()
            _finish(case.command, folder)
            seconds = time.monotonic() - begun
        found: dict[str, Any] = {
            "command": f"ehnn {case.command}", "operations": len(operations), "killed_before": 0,
            "killed_at_random": 0, "wrong": [],
        }  # fmt: skip
        for nth in nths(len(operations)):
            wrong, killed = _check(case, start, want, nth=nth)
            found["killed_before"] += killed
            found["wrong"] += [f"before {nth}, {operations[nth - 1]}: {why}" for why in wrong]
        draw = random.Random(0)
        for _ in range(moments):
            after = draw.uniform(0, seconds)
            wrong, killed = _check(case, start, want, after=after)
            found["killed_at_random"] += killed
            found["wrong"] += [f"after {after:.3f} s: {why}" for why in wrong]
        say(
            f"{name:24} {found['operations']:5} operations, killed before {found['killed_before']:4}, "
            f"at random moments {found['killed_at_random']:4}, wrong {len(found['wrong']):3}"
        )
        for why in found["wrong"]:
            say(f"    {why}")
        return found


def _check(
    case: Case, start: Path, want: dict[str, Any], nth: int = 0, after: float | None = None
) -> tuple[list[str], bool]:
    """Kill once, run again; what differs from ``want``, and whether the kill came before the end."""
    with _copy(start) as folder:
        status, said, _ = _run(case.command, folder, nth, after)
        killed = status in (KILLED, -signal.SIGKILL)
        try:
            if not killed and status:
                raise FailedError(f"status {status} without a kill: {said[-300:]}")
            said, _ = _finish(case.command, folder)
        except FailedError as error:
            return [str(error)], killed
        have = outcome(case, folder, said)
    return [f"{k} differs" for k in {**want, **have} if want.get(k) != have.get(k)], killed


def _finish(command: str, folder: Path) -> tuple[str, list[str]]:
    """Run to the end; what it prints, and its file operations."""
    status, said, seen = _run(command, folder)
    if status:
        raise FailedError(f"`ehnn {command}` ended with {status}: {said[-500:].strip()}")
    return said, seen


def _run(
    work: str | Callable[[Path], object], folder: Path, nth: int = 0, after: float | None = None
) -> tuple[int, str, list[str]]:
    """Run a command (or a function of the folder) in a fork.

    Returns:
        its status, what it prints, and its file operations if it ends.
    """
    with tempfile.TemporaryDirectory() as scratch:
        said, seen = Path(scratch, "said"), Path(scratch, "seen")
        child = os.fork()
        if not child:
            _be_the_child(work, folder, nth, said, seen)
        status = _wait(child, after)
        operations, modules = json.loads(seen.read_text()) if seen.exists() else ([], [])
        _import_once(modules)
        return status, said.read_text(errors="replace") if said.exists() else "", operations


def _be_the_child(
    work: str | Callable[[Path], object], folder: Path, nth: int, said: Path, seen: Path
) -> None:
    """Do the work in ``folder`` with the hook, and end the process."""
    status = 70
    try:
        os.chdir(folder)
        sys.stdout = sys.stderr = said.open("w", buffering=1)
        hook = Hook(folder, nth)
        hook.install()
        try:
            _command(work) if isinstance(work, str) else work(folder)
            status = 0
        except SystemExit as leave:
            status = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
        hook.nth = 0
        seen.write_text(json.dumps([hook.seen, sorted(sys.modules)]))
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def _import_once(modules: Sequence[str]) -> None:
    """Import what a fork imported as it ran, so that the next ones have it for nothing."""
    for name in modules:
        if name not in sys.modules and name.partition(".")[0] != "__mp_main__":
            with suppress(Exception), redirect_stdout(None):
                importlib.import_module(name)


def _command(text: str) -> None:
    import torch

    from ehnn.cli import main

    torch.set_num_threads(1)
    sys.argv = ["ehnn", *text.split()]
    main(text.split())


def _wait(child: int, after: float | None) -> int:
    """The exit status of a child; it is killed ``after`` so many seconds, or when it hangs."""
    begun, kill_at = time.monotonic(), LIMIT_S if after is None else after
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() - begun > kill_at:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            if after is None:
                raise FailedError(f"it hangs: it was killed after {LIMIT_S:.0f} seconds")
            return -signal.SIGKILL
        time.sleep(0.002)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        yield Path(os.path.realpath(place))


@contextmanager
def _copy(start: Path) -> Iterator[Path]:
    """A copy of the files of ``start``."""
    with _folder() as place:
        shutil.copytree(start, place, dirs_exist_ok=True)
        yield place


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--every", type=int, default=1, help="kill before every so many operations; 0: none")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="kills at random moments")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("--out", type=Path, help="JSON file of the table")
    asked = parser.parse_args(arguments)
    import_all("ehnn", "ehnn_paper", "optuna", "pandas")
    from ehnn_paper.results import provenance

    given = " ".join(sys.argv[1:] if arguments is None else arguments)
    about = provenance(f"python tools/kill_series.py {given}")
    wrong = 0
    with ProcessPoolExecutor(asked.jobs, multiprocessing.get_context("fork")) as pool:
        waiting = {pool.submit(_whole, name, asked.every, asked.random): name for name in asked.cases}
        for done in as_completed(waiting):
            wrong += len(done.result()["wrong"])
            if asked.out is not None:
                _record(asked.out, waiting[done], done.result() | {"series": about, "every": asked.every})
    return int(wrong > 0)


def _record(path: Path, name: str, found: dict[str, Any]) -> None:
    """Add a case to the table, in place of what an earlier series found of it."""
    from ehnn._utils.folders import write_json

    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    whole = {**before, name: found}
    write_json(path, {case: whole[case] for case in CASES if case in whole})


def _whole(name: str, every: int, moments: int) -> dict[str, Any]:
    def nths(operations: int) -> range:
        return range(1, operations + 1, every) if every else range(0)

    return series(name, nths, moments, lambda line: print(line, flush=True))


def import_all(*packages: str) -> None:
    """Import every module of ours that can be, once: a fork has it for nothing."""
    for package in packages:
        root = importlib.import_module(package)
        ours = package.startswith("ehnn")
        for module in pkgutil.walk_packages(root.__path__, f"{package}.") if ours else ():
            if not module.name.endswith("__main__"):
                with suppress(ImportError):  # of an optional library
                    importlib.import_module(module.name)


if __name__ == "__main__":
    sys.exit(main())
