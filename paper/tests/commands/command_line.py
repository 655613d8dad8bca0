"""The command line in this process, and what processes of it need."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from typer.testing import CliRunner

import ehnn
import ehnn_paper
from ehnn.cli.app import app
from ehnn.cli.lists import expand_lists

SOURCES = os.pathsep.join(str(Path(package.__file__).parents[1]) for package in (ehnn, ehnn_paper))
ENVIRONMENT = os.environ | {"PYTHONPATH": SOURCES, "OMP_NUM_THREADS": "1"}


def run(*arguments: object, code: int = 0) -> str:
    """Output and errors of a command, with line breaks and indentation made single spaces."""
    result = CliRunner().invoke(app, expand_lists(list(map(str, arguments))))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


def hear_interrupts() -> None:
    """What a shell starts in the background ignores them, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(ready, process: subprocess.Popen, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
