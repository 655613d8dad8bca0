"""Folders of runs: held by one process at a time, and usable after a kill at any moment."""

from __future__ import annotations

import json
import os
import platform
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehnn._utils.validation import short

from .atomic import atomic_write, lock, remove_parts, sync_folder

REQUEST = "request.json"
_CLAIM, _STARTING = ".claim", "starting"
_held: dict[Path, int] = {}
"""The folders that this process has claimed, and the thread of each."""


class FolderInUseError(OSError):
    """Another process, or another thread, writes to the folder."""


@contextmanager
def claimed(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Have ``folder`` alone: a second process or thread that claims it gets a `FolderInUseError`.

    The folder is made if need be, and removed again if nothing was written to it. Hidden files of killed
    writers in it are removed. A claim ends with its process, however that ends. A thread may claim a folder
    again inside its own claim. Where there are no file locks (Windows, some network drives) another process
    is not refused.
    """
    path, me = Path(os.path.realpath(folder)), threading.get_ident()
    if _held.get(path) == me:
        yield path
        return
    if _held.setdefault(path, me) != me:
        raise FolderInUseError(f"{folder} is in use by another thread of this process")
    missing = [p for p in (path, *path.parents) if not p.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        with _claim_file(path / _CLAIM):
            for place, _, _ in os.walk(path):
                remove_parts(place)
            yield path
    finally:
        del _held[path]
        for made in missing:
            with suppress(OSError):  # it is not empty
                made.rmdir()


@contextmanager
def _claim_file(path: Path) -> Iterator[None]:
    """Hold a lock file, which is removed at the end; its text names the process."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if lock(handle) is False:
            owner = os.read(handle, 200).decode(errors="replace") or "another process"
            os.close(handle)
            raise FolderInUseError(
                f"{path.parent} is in use by {owner}; wait for it, or choose another folder"
            )
        if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
            break
        os.close(handle)  # its owner ended, and removed it, just before the lock
    try:
        os.ftruncate(handle, 0)
        os.write(handle, f"process {os.getpid()} on {platform.node()}".encode())
        yield
    finally:
        try:
            path.unlink(missing_ok=True)
        finally:
            os.close(handle)


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run, claimed by this process.

    Attributes:
        path: the folder.
        going_on: whether this very run has begun there before; its files are then to be used.
    """

    path: Path
    going_on: bool
    _identity: Mapping[str, Any]
    _owned: Sequence[str]

    def begin(self) -> None:
        """Make the folder this run's; what an earlier run left there is removed.

        After a kill in between the folder is still known as one whose run is about to begin.
        """
        write_json(self.path / REQUEST, {_STARTING: self._identity})
        for pattern in self._owned:
            for path in self.path.glob(pattern):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        sync_folder(self.path)
        write_json(self.path / REQUEST, self._identity)


@contextmanager
def run_folder(
    path: str | os.PathLike[str],
    identity: Mapping[str, Any],
    *,
    owned: Sequence[str],
    valuable: Sequence[str],
    fresh: bool = False,
    hint: str = "choose another folder",
) -> Iterator[RunFolder]:
    """Claim the folder ``path`` for the run with this ``identity``.

    Nothing in the folder is changed before `RunFolder.begin`, so an error before it leaves an earlier run as
    it was. After a kill at any moment the same call continues the run or starts it again.

    >>> with run_folder("run", {"seed": 0}, owned=["model.json"], valuable=["model.json"]) as run:
    ...     if not run.going_on:
    ...         run.begin()
    ...     write_json(run.path / "model.json", {})  # doctest: +SKIP

    Args:
        identity: JSON values: the options of the run, and digests of the data it reads.
        owned: patterns of the files and folders in ``path`` that a run writes; other files are left alone.
        valuable: names of those that are worth keeping: with one of them the folder is refused to others.
        fresh: replace a run that is there.
        hint: what the error of a refused folder advises.

    Raises:
        ValueError: another run is there (and not ``fresh``), or files but no run.
        FolderInUseError: another process has claimed it.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; a run is a folder")
    with claimed(folder):
        there = {entry.name for entry in folder.iterdir()} - {_CLAIM}
        if there and REQUEST not in there:
            raise ValueError(f"{folder} is not empty and holds no run; {hint}")
        before = _read(folder / REQUEST) if there and not fresh else {_STARTING: {}}
        now = json.loads(json.dumps(dict(identity)))
        if before != now and _STARTING not in before and not there.isdisjoint(valuable):
            changed = ", ".join(_differences(before, now))
            raise ValueError(f"{folder} holds a run with other data or options ({changed}); {hint}")
        yield RunFolder(folder, before == now, now, owned)


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The differences between two identities, in words."""
    found = [(k, before.get(k), now.get(k)) for k in {**before, **now} if before.get(k) != now.get(k)]
    return ["the data" if k == "digest" else f"{k} was {short(a)}, now {short(b)}" for k, a, b in found]


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} is damaged: it holds no object")
    return found


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` atomically; NaN and infinity are a ValueError."""
    with atomic_write(path) as file:
        file.write(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
