"""The search of hyperparameters, and what a person sees when something stops it."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("optuna")

import ehnn
from ehnn.cli import main

from .command_line import ENVIRONMENT, hear_interrupts, run, wait_for

TUNE = ("tune", "--dataset", "zoo", "--model", "mlp", "--data-dir", "data", "--device", "cpu")


@pytest.fixture
def zoo(folder: Path) -> Path:
    """A small Zoo of 24 animals in ``data``: id, features…, label; node, hyperedge."""
    place = folder / "data" / "zoo"
    place.mkdir(parents=True)
    rows = [f"{i} {i % 3} {i // 3 % 2} {1 + i % 3}" for i in range(24)]
    edges = [f"{i} {24 + i % 3}" for i in range(24)]
    (place / "zoo.content").write_text("\n".join(rows) + "\n")
    (place / "zoo.edges").write_text("\n".join(edges) + "\n")
    return folder


def test_epochs_and_runs_have_searches_of_their_own(zoo: Path) -> None:
    for runs, epochs in ((1, 1), (2, 1), (1, 2), (1, 1)):
        given = ("--runs", runs, "--epochs", epochs, "--trials", 1, "--storage", "s.sqlite")
        assert "(1 points in s.sqlite)" in run(*TUNE, *given)
    assert _count("trials", Path("s.sqlite")) == 3


def test_a_storage_that_is_no_database_is_named(zoo: Path) -> None:
    Path("notes.txt").write_text("not a database\n")
    start = time.monotonic()
    said = run(*TUNE, "--storage", "notes.txt", code=2)
    assert said == "Error: storage must be an SQLite file that can be opened, got notes.txt: " + (
        "(sqlite3.DatabaseError) file is not a database"
    )
    assert time.monotonic() - start < 8  # it is not tried again
    assert Path("notes.txt").read_text() == "not a database\n"


def test_an_interrupt_says_how_to_go_on_and_no_more(zoo: Path) -> None:
    command = [sys.executable, "-m", "ehnn", *TUNE, "--epochs", "1000000", "--storage", "s.sqlite"]
    process = subprocess.Popen(
        command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, preexec_fn=hear_interrupts
    )
    wait_for(lambda: _count("trial_params", Path("s.sqlite")) == 3, process)
    for _ in range(3):  # one that falls into a finalizer is dropped by Python: a person presses again
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            _, errors = process.communicate(timeout=20)
            break
    assert process.returncode == 130
    ours = "Interrupted. Run the same command to continue."
    dropped, _, rest = errors.strip().rpartition("KeyboardInterrupt: \n")
    assert rest.strip() == ours, errors
    assert not dropped or dropped.startswith("Exception ignored in"), errors  # Python's words, not ours


def _count(table: str, path: Path) -> int:
    """Rows of a table; 0 while it is not there."""
    if not path.exists():
        return 0
    connection = sqlite3.connect(path)
    try:
        return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


class _Interrupted:
    """In place of the imports of the commands: an interrupt."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "ehnn.cli.app":
            raise KeyboardInterrupt


@pytest.fixture
def interrupted_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ehnn.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [_Interrupted(), *sys.meta_path])


@pytest.mark.usefixtures("interrupted_import")
def test_an_interrupt_during_the_imports_is_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises((SystemExit, KeyboardInterrupt)) as left:
        main(["check"])
    assert left.type is SystemExit
    assert left.value.code == 130
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("interrupted_import")
def test_the_version_needs_no_command(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises((SystemExit, KeyboardInterrupt)) as left:
        main(["--version"])
    assert left.type is SystemExit
    assert not left.value.code
    assert capfd.readouterr().out == f"ehnn {ehnn.__version__}\n"
