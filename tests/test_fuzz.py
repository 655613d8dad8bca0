"""The fuzzing harness, and a short run of it over every reader."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("resource", reason="limits memory")

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.fuzz.formats import FORMATS, make  # noqa: E402
from tools.fuzz.seeds import Seed  # noqa: E402
from tools.fuzz.trial import attempt  # noqa: E402
from tools.fuzz.workers import input_of, outcomes, shrunk  # noqa: E402


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Seed]]:
    return make(list(FORMATS), tmp_path_factory.mktemp("seeds"))


def test_valid_files_are_read(
    seeds: dict[str, list[Seed]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.fuzz.trial.SECONDS_PER_100_KB", 20.0)  # the first reading imports libraries
    for name, made in seeds.items():
        for number, seed in enumerate(made):
            outcome = attempt(seed, dict(seed.files), tmp_path / f"{name}-{number}")
            assert outcome.read, (name, number, outcome)


def test_inputs_are_a_function_of_seed_and_number(seeds: dict[str, list[Seed]], tmp_path: Path) -> None:
    for name, made in seeds.items():
        first, again = ([input_of(name, made, 3, number)[1] for number in range(8)] for _ in range(2))
        assert first == again
        assert first != [input_of(name, made, 4, number)[1] for number in range(8)]
        assert sum(files not in [seed.files for seed in made] for files in first) > 5


def reader(read: Callable[[bytes, Path], Any]) -> Seed:
    return Seed({"a.txt": b"1 2 3\n" * 20}, lambda folder: read((folder / "a.txt").read_bytes(), folder))


def fails(data: bytes, folder: Path) -> None:
    if b"1 2 3" in data:
        raise KeyError("x")


def judged(read: Callable[[bytes, Path], Any], folder: Path) -> str | None:
    seed = reader(read)
    return attempt(seed, dict(seed.files), folder / "files").failure


def test_only_a_short_value_error_that_names_the_file_is_documented(tmp_path: Path) -> None:
    def says(text: str) -> Callable[[bytes, Path], None]:
        def read(data: bytes, folder: Path) -> None:
            raise ValueError(text.replace("FILE", str(folder / "a.txt")))

        return read

    assert judged(says("FILE, line 3: got 'x'"), tmp_path) is None
    assert judged(says("something is wrong"), tmp_path) == "ValueError that names no file"
    assert judged(says("FILE: " + "x" * 2000), tmp_path) == "message too long"
    assert judged(fails, tmp_path) == "KeyError"
    assert judged(lambda data, folder: (folder / "b.txt").read_bytes(), tmp_path) is None
    assert judged(lambda data, folder: folder.read_bytes(), tmp_path) == "IsADirectoryError"


def test_time_and_memory_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.fuzz.trial.SECONDS_PER_100_KB", 0.05)
    assert judged(lambda data, folder: bytes(500_000_000), tmp_path) == "MemoryError"
    begun = time.process_time()

    def loops(data: bytes, folder: Path) -> None:
        while True:
            pass

    assert judged(loops, tmp_path) == "TooSlowError"
    assert time.process_time() - begun < 5


def test_a_crash_is_a_finding_and_the_rest_goes_on(tmp_path: Path) -> None:
    def crashes(data: bytes, folder: Path) -> None:
        if folder.name == "3":
            os.kill(os.getpid(), signal.SIGKILL)

    found = list(outcomes({"x": [reader(crashes)]}, 0, 8, 2, tmp_path))
    assert sorted(number for _, number, _ in found) == list(range(8))
    assert [n for _, n, outcome in found if outcome.failure == "the process ended (-9)"] == [3]


def test_a_hang_is_a_finding_and_a_busy_machine_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process is judged by its own time: here it waits three times as long as it may compute."""
    monkeypatch.setattr("tools.fuzz.workers.HANGS", 0.1)

    def waits(data: bytes, folder: Path) -> None:
        time.sleep(0.3 if folder.name == "1" else 600 if folder.name == "2" else 0)

    found = list(outcomes({"x": [reader(waits)]}, 0, 4, 1, tmp_path))
    assert [n for _, n, outcome in found if outcome.failure == "hangs"] == [2]


def test_findings_are_made_small(tmp_path: Path) -> None:
    seed = reader(fails)
    number = next(n for n in range(100) if b"1 2 3" in (input_of("x", [seed], 0, n)[1].get("a.txt") or b""))
    files, outcome = shrunk("x", [seed], 0, number, tmp_path)
    assert outcome.failure == "KeyError"
    assert len(files["a.txt"] or b"") < 20


def test_a_short_run(seeds: dict[str, list[Seed]], tmp_path: Path) -> None:
    """Ten inputs for each format: they are read, or refused as documented."""
    found = list(outcomes(seeds, 0, 10 * len(seeds), 1, tmp_path))
    assert len(found) == 10 * len(seeds)
    assert sum(outcome.read for _, _, outcome in found) > len(seeds)
    assert [(name, number, outcome) for name, number, outcome in found if outcome.failure is not None] == []
