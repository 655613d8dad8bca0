"""Write files atomically: readers see the old file or the whole new one."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

_PART = re.compile(r"\..*\.[0-9a-f]{8}\.part")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_cleaned: set[Path] = set()


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open ``path`` for writing so that readers see the old file or the whole new one, never a part.

    The text (UTF-8, line ends as written) or bytes go to a hidden file in the same directory, which takes the
    place of ``path`` when the block ends well and is removed when it raises. Both the file and the directory
    are on the disk when this returns. Hidden files of writers that were killed are removed. A device, a pipe
    or a socket is written to as it is, without a hidden file.

    >>> with atomic_write("edges.txt") as file:  # doctest: +SKIP
    ...     file.write("0 1 2\\n")
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"mode must be 'w' or 'wb', got {mode!r}")
    text: dict[str, Any] = {} if mode == "wb" else {"encoding": "utf-8", "newline": ""}
    with naming(path):
        if _is_stream(path):
            with open(path, mode, **text) as file:
                yield file
            return
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise ValueError(f"{path} is a folder; the name of a file is expected")
        if target.parent not in _cleaned:
            remove_parts(target.parent)
            _cleaned.add(target.parent)
        part, file = _open_part(target, mode.replace("w", "x"), text)
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                if target.exists():
                    shutil.copymode(target, part)
                if os.name == "nt":  # where an open file cannot be renamed
                    file.close()
                os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
        sync_folder(target.parent)


def _open_part(target: Path, mode: str, text: dict[str, Any]) -> tuple[Path, IO[Any]]:
    """A new hidden file beside ``target``, locked as that of a living writer: see `remove_parts`."""
    while True:
        part = target.with_name(f".{target.name[:80]}.{secrets.token_hex(4)}.part")
        file = open(part, mode, **text)  # noqa: SIM115
        lock(file.fileno(), wait=True)
        if part.exists():  # else another process took it for that of a dead one, before it was locked
            return part, file
        file.close()


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of a full or failing disk inside name the file, which those of ``write`` do not."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM or error.filename is not None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from error


def sync_folder(folder: Path) -> None:
    """Make names in ``folder`` that were added, changed or removed survive a crash of the machine."""
    with suppress(OSError):  # where folders cannot be opened, or the drive has no such operation
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_parts(folder: str | os.PathLike[str]) -> None:
    """Remove what killed `atomic_write` left in ``folder``; a living writer holds a lock on its file."""
    with suppress(OSError), os.scandir(folder) as entries:
        for name in [e.name for e in entries if _PART.fullmatch(e.name)]:
            with suppress(OSError), open(Path(folder, name), "rb") as file:
                if lock(file.fileno()):
                    Path(folder, name).unlink(missing_ok=True)


def _is_stream(path: str | os.PathLike[str]) -> bool:
    try:
        kind = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))


def lock(handle: int, wait: bool = False) -> bool | None:
    """Lock an open file for as long as it is open; False if another has it, None where there are no locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Hold ``folder`` alone among processes that ask for it in this way; the others wait.

    Without such locks (Windows, some network drives) it does not wait.
    """
    if os.name == "nt":  # where a folder cannot be opened
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        lock(handle, wait=True)
        yield
    finally:
        os.close(handle)
