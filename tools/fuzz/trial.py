"""One input: read under limits of time and memory, and judged."""

from __future__ import annotations

import resource
import shutil
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .seeds import Files, Seed, write

SECONDS_PER_100_KB = 1.0
SPARE, PER_BYTE = 64 << 20, 100
"""Bytes that reading may add to the process: so many, and so many for each byte of the files."""
LONGEST = 1_000
"""Characters of a message, without the paths in it."""
_PACKAGES = ("/ehnn/", "/ehnn_paper/")


class TooSlowError(BaseException):
    """The limit of time was reached; no reader catches it."""


@dataclass(frozen=True)
class Outcome:
    """What reading came to. ``failure`` is None where the files were read or refused as documented."""

    read: bool
    seconds: float
    size: int
    failure: str | None = None
    place: str = ""
    message: str = ""

    @property
    def kind(self) -> tuple[str | None, str]:
        """Failures of one kind have the same cause."""
        return self.failure, self.place


def attempt(seed: Seed, files: Files, folder: Path) -> Outcome:
    """Write the files into ``folder``, read them, remove them."""
    size = write(files, folder)
    seconds = SECONDS_PER_100_KB * max(1.0, size / 100_000)
    begun = time.process_time()
    try:
        with _limits(seconds, SPARE + PER_BYTE * size):
            check(seed.read(folder))
    except BaseException as error:
        spent = time.process_time() - begun
        if isinstance(error, KeyboardInterrupt):
            raise
        failure = None if isinstance(error, seed.also) else _undocumented(error, folder)
        return Outcome(False, spent, size, failure, _place(error), _text(error, folder)[:300])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(True, time.process_time() - begun, size)


def check(value: Any) -> None:
    """What was read must be whole: indices in range."""
    from ehnn import Hypergraph

    if isinstance(value, Hypergraph) and value.num_incidences:
        node, edge = value.index
        assert 0 <= int(node.min()) <= int(node.max()) < value.num_nodes, "a node out of range"
        assert 0 <= int(edge.min()) <= int(edge.max()) < value.num_edges, "a hyperedge out of range"


@contextmanager
def _limits(seconds: float, memory: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooSlowError(f"more than {seconds:.1f} s")

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + memory, hard))
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _text(error: BaseException, folder: Path) -> str:
    return str(error).replace(str(folder), "")


def _undocumented(error: BaseException, folder: Path) -> str | None:
    """None for a ValueError of a reader that names the file in few words, and for a file that is missing."""
    if isinstance(error, FileNotFoundError):
        return None
    if not isinstance(error, ValueError) or (type(error).__module__ != "builtins" and not _ours(error)):
        return type(error).__name__
    if str(folder) not in str(error):
        return f"{type(error).__name__} that names no file"
    return "message too long" if len(_text(error, folder)) > LONGEST else None


def _ours(error: BaseException) -> bool:
    return type(error).__module__.split(".")[0] in ("ehnn", "ehnn_paper")


def _place(error: BaseException) -> str:
    """Module and line of the innermost frame of the library."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if any(part in f.filename for part in _PACKAGES)] or list(frames)
    name = own[-1].filename
    for part in _PACKAGES:
        name = name.rpartition(part)[2] if part in name else name
    return f"{name}:{own[-1].lineno}"
