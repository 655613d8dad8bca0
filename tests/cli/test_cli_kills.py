"""A few kills of each command: the same command then ends with the same result. All: tools/kill_series.py."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools import kill_series

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and forks")


@pytest.mark.parametrize(("name", "kills"), [("predict", 1), ("train over an old run", 2)])
def test_the_same_command_ends_with_the_same_result(name: str, kills: int) -> None:
    kill_series.import_all("ehnn", "pandas")
    found = kill_series.series(name, lambda count: range(2, count, count // kills), 0, lambda line: None)
    assert found["killed_before"] >= kills
    assert found["wrong"] == []


def test_a_kill_that_does_harm_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The series itself: another result after a kill, and a file that is left half written."""
    wants = iter([{"a": 1}, {"a": 2}, {"a": 1, ".x.part is left": True}])
    monkeypatch.setattr(kill_series, "outcome", lambda *args: next(wants))

    def run(
        work: object, folder: object, nth: int = 0, after: float | None = None
    ) -> tuple[int, str, list[str]]:
        return kill_series.KILLED if nth else 0, "", ["open a", "write a"]

    monkeypatch.setattr(kill_series, "_run", run)
    found = kill_series.series("tune", lambda count: range(1, count + 1), 0, lambda line: None)
    assert found["wrong"] == ["before 1, open a: a differs", "before 2, write a: .x.part is left differs"]
    assert found["killed_before"] == 2


def test_the_hook_counts_what_changes_files(tmp_path: Path) -> None:
    status, said, seen = kill_series._run(_change_files, tmp_path)
    assert (status, said) == (0, "")
    names = [line.split()[0] for line in seen]
    assert names == ["mkdir", "open", "write", "fsync", "replace", "unlink", "rmdir", "open", "write"]


def test_a_write_is_cut_in_the_middle(tmp_path: Path) -> None:
    status, _, _ = kill_series._run(_change_files, tmp_path, 9)
    assert status == kill_series.KILLED
    assert (tmp_path / "c").read_text() == "te"


def _change_files(folder: Path) -> None:
    (folder / "sub").mkdir()
    with open(folder / "sub" / "a", "w") as file:
        file.write("text")
        file.flush()
        os.fsync(file.fileno())
    os.replace(folder / "sub" / "a", folder / "sub" / "b")
    (folder / "sub" / "b").unlink()
    (folder / "sub").rmdir()
    (folder / "c").write_text("text")
    (folder / "c").read_text()
