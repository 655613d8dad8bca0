"""A process that dies before the n-th change that it makes to the files of a folder."""

from __future__ import annotations

import builtins
import io
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

KILLED = 86
"""The exit status of a process that the hook ended."""
_BY_PATH = ("replace", "rename", "unlink", "remove", "mkdir", "rmdir", "truncate", "symlink", "link")
_BY_HANDLE = ("fsync", "write", "ftruncate")


class Hook:
    """Counts changes to files under ``folder``; at the n-th (from 1; 0: never) it ends the process.

    A process dies *before* an operation, except in the middle of a ``write``, half of which is done. A commit
    to an SQLite file counts as an operation.
    """

    def __init__(self, folder: Path, nth: int = 0) -> None:
        self.folder, self.nth = os.path.realpath(folder), nth
        self.seen: list[str] = []

    def tick(self, what: str, path: Any, last: Callable[[], object] = lambda: None) -> None:
        if not os.path.realpath(os.fspath(path)).startswith(self.folder):
            return
        self.seen.append(f"{what} {os.path.relpath(os.fspath(path), self.folder)}")
        if len(self.seen) == self.nth:
            last()
            os._exit(KILLED)

    def install(self) -> None:
        """From here on; there is no way back, so for a process of its own."""
        for name in _BY_PATH:
            setattr(os, name, self._by_path(name, getattr(os, name)))
        for name in _BY_HANDLE:
            setattr(os, name, self._by_handle(name, getattr(os, name)))
        builtins.open = io.open = self._open(builtins.open)  # type: ignore[assignment]
        os.open = self._os_open(os.open)  # type: ignore[assignment]
        sqlite3.connect = sqlite3.dbapi2.connect = self._connect(sqlite3.connect)  # type: ignore[assignment]

    def _by_path(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *args: Any, dir_fd: int | None = None, **kwargs: Any) -> Any:
            place = path if dir_fd is None else os.path.join(_path_of(dir_fd), path)
            self.tick(name, place)
            more = {} if dir_fd is None else {"dir_fd": dir_fd}
            return real(path, *args, **more, **kwargs)

        return call

    def _by_handle(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(handle: int, *args: Any) -> Any:
            self.tick(name, _path_of(handle))
            return real(handle, *args)

        return call

    def _os_open(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            if flags & (os.O_CREAT | os.O_WRONLY | os.O_TRUNC):
                self.tick("open", path)
            return real(path, flags, *args, **kwargs)

        return call

    def _open(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            if isinstance(path, int) or not set(mode) & set("wax+"):
                return real(path, mode, *args, **kwargs)
            self.tick("open", path)
            return _Written(real(path, mode, *args, **kwargs), self, path)

        return call

    def _connect(self, real: Callable[..., Any]) -> Callable[..., Any]:
        hook = self

        def call(database: Any, *args: Any, **kwargs: Any) -> Any:
            class Connection(sqlite3.Connection):
                def commit(self) -> None:
                    hook.tick("commit", database)
                    super().commit()

            return real(database, *args, factory=Connection, **kwargs)

        return call


class _Written:
    """An open file whose writes are counted."""

    def __init__(self, file: Any, hook: Hook, path: Any) -> None:
        self._file, self._hook, self._path = file, hook, path

    def write(self, data: Any) -> Any:
        def half() -> None:
            self._file.write(data[: len(data) // 2])
            self._file.flush()

        self._hook.tick("write", self._path, half)
        return self._file.write(data)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _Written:
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.__exit__(*error)

    def __iter__(self) -> Any:
        return iter(self._file)


def _path_of(handle: int) -> str:
    return os.readlink(f"/proc/self/fd/{handle}")
