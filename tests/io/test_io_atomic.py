"""Files appear whole or not at all, also after a power cut."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ehnn._utils.atomic import atomic_write, locked


@pytest.mark.parametrize(("mode", "text"), [("w", "new, é\n"), ("wb", b"\0new")])
def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, text: str | bytes
) -> None:
    target, seen = tmp_path / "f", []
    target.write_bytes(b"old")
    fsync, rename = os.fsync, os.replace

    def noting_fsync(handle: int) -> None:
        seen.append(("on the disk", os.fstat(handle).st_ino, os.fstat(handle).st_size))
        fsync(handle)

    def noting_rename(source: Path, destination: Path) -> None:
        seen.append(("named", os.stat(source).st_ino, os.stat(source).st_size))
        rename(source, destination)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "replace", noting_rename)
    with target.open("rb") as reader:
        with atomic_write(target, mode) as file:
            file.write(text)
            assert target.read_bytes() == b"old"
        assert reader.read() == b"old"  # who reads the old file goes on
    data = text.encode() if isinstance(text, str) else text
    number = target.stat().st_ino
    assert target.read_bytes() == data
    folder = ("on the disk", tmp_path.stat().st_ino, tmp_path.stat().st_size)
    assert seen == [("on the disk", number, len(data)), ("named", number, len(data)), folder]
    assert list(tmp_path.iterdir()) == [target]


def test_only_one_holds_a_folder(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        for kind in (fcntl.LOCK_EX, fcntl.LOCK_SH):
            with locked(tmp_path), pytest.raises(BlockingIOError):
                fcntl.flock(handle, kind | fcntl.LOCK_NB)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # free again
    finally:
        os.close(handle)
