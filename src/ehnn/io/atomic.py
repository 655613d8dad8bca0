"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open ``path`` for writing so that readers see the old file or the whole new one, never a part.

    The text (UTF-8, line ends as written) or bytes go to a hidden file in the same directory, which
    takes the place of ``path`` when the block ends well and is removed when it raises.

    >>> with atomic_write("edges.txt") as file:  # doctest: +SKIP
    ...     file.write("0 1 2\\n")
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"mode must be 'w' or 'wb', got {mode!r}")
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name[:80]}.{secrets.token_hex(4)}.part")
    text = {} if mode == "wb" else {"encoding": "utf-8", "newline": ""}
    try:
        with open(part, mode.replace("w", "x"), **text) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Hold ``folder`` alone among processes that ask for it in this way; the others wait.

    Where there are no such locks (Windows, some network drives) nobody waits.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
