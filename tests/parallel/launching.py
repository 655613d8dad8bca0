"""Starts real ranks for a test: processes that meet through a file, and never outlive the test."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import ehnn

WORKERS = Path(__file__).with_name("workers.py")


def launch(size: int, directory: Path, *jobs: tuple[str, dict[str, Any]], timeout: float = 180) -> None:
    """Run functions of ``workers.py``, one after the other, on ``size`` ranks; fail if any does."""
    process = begin(size, directory, *jobs)
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        end(process)
    assert code == 0, f"{size} ranks ended with {code}:\n{outputs(size, directory)}"


def begin(size: int, directory: Path, *jobs: tuple[str, dict[str, Any]]) -> subprocess.Popen:
    """One process, which imports torch once and becomes ``size`` ranks."""
    path = os.pathsep.join([str(Path(ehnn.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(WORKERS), str(size), str(directory), json.dumps(jobs)]
    return subprocess.Popen(command, env=environment, start_new_session=True)


def end(process: subprocess.Popen) -> None:
    """End the process and the ranks that it became, if any is left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # a group of its own: `start_new_session`
    process.wait()


def outputs(size: int, directory: Path) -> str:
    """What each rank wrote last."""
    texts = [(directory / f"output-{rank}.txt") for rank in range(size)]
    return "\n".join(f"--- {t.name}\n{t.read_text()[-3000:]}" for t in texts if t.exists())


def wait_for(condition: Any, seconds: float) -> bool:
    """Whether ``condition()`` becomes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
