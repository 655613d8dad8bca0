"""Steps of a job that can be interrupted: each task leaves files, their checksums and a record."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ehnn._utils.atomic import atomic_write
from ehnn._utils.untrusted import parse_json
from ehnn.datasets.transfer import file_sha256

from .engine import Engine

Item = dict[str, Any]
_BLOCK = 2**24


class Folder:
    """The files of a job, which all workers see.

    Attributes:
        written: sizes and checksums of the files that this object wrote.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.written: dict[str, dict[str, Any]] = {}

    def load(self, name: str) -> np.ndarray:
        """An array, mapped into memory: only what is read is loaded."""
        array = np.load(self.path / name, mmap_mode=None if self._is_empty(name) else "r")
        return np.asarray(array)

    def _is_empty(self, name: str) -> bool:
        return (self.path / name).stat().st_size <= 128  # a header alone cannot be mapped

    def blocks(self, name: str, begin: int, count: int) -> Iterator[bytes]:
        """The bytes of ``count`` rows of an array, read block by block and not mapped into memory."""
        with open(self.path / name, "rb") as file:
            version = np.lib.format.read_magic(file)
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            shape, _, dtype = read[version](file)
            row = dtype.itemsize * int(np.prod(shape[1:]))
            file.seek(begin * row, os.SEEK_CUR)
            left = count * row
            while left and (block := file.read(min(left, _BLOCK))):
                left -= len(block)
                yield block

    def save(self, name: str, array: np.ndarray) -> None:
        """Write an array atomically."""
        with atomic_write(self.path / name, "wb") as file:
            np.save(file, array, allow_pickle=False)
        self.wrote(name)

    def save_table(self, name: str, table: Any) -> None:
        """Write an Arrow table atomically, as a file that `load_table` maps into memory."""
        import pyarrow as pa

        with atomic_write(self.path / name, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        self.wrote(name)

    def load_table(self, name: str) -> Any:
        """An Arrow table, mapped into memory."""
        import pyarrow as pa

        return pa.ipc.open_file(pa.memory_map(str(self.path / name))).read_all()

    def wrote(self, name: str) -> None:
        """Record size and checksum of a file that is complete."""
        self.written[name] = _fingerprint(self.path / name)


class Steps:
    """Runs steps in order, and skips the tasks whose records and files are there.

    Attributes:
        path: the folder of the job.
        report: called after each step with its name, tasks, seconds, and the peak memory of a process.
    """

    def __init__(
        self, path: Path, engine: Engine, report: Callable[[str, int, float, int], None] | None = None
    ) -> None:
        self.path, self.engine, self.report = path, engine, report
        self.folder = Folder(path)
        self.peak = 0
        (path / "done").mkdir(parents=True, exist_ok=True)

    def run(self, step: str, function: Callable[[Folder, Item], Any], items: Sequence[Item]) -> list[Any]:
        """The results of ``function(folder, item)`` (JSON values) for all items."""
        start = time.perf_counter()
        records = [_finished(self.path, step, i, item) for i, item in enumerate(items)]
        missing = [(i, items[i]) for i, record in enumerate(records) if record is None]
        for i, record in self.engine.map(partial(_perform, str(self.path), step, function), missing):
            records[i] = record
        peak = max((r["peak"] for r in records if r), default=0)
        self.peak = max(self.peak, peak)
        if self.report is not None:
            self.report(step, len(items), time.perf_counter() - start, peak)
        return [r["result"] for r in records if r is not None]


def _perform(
    path: str, step: str, function: Callable[[Folder, Item], Any], task: tuple[int, Item]
) -> tuple[int, dict[str, Any]]:
    """One task, on a worker: its record is on the disk when it returns."""
    number, item = task
    _one_thread()
    folder, start = Folder(path), time.perf_counter()
    result = function(folder, item)
    record = {
        "item": _digest(item), "files": folder.written, "result": result,
        "seconds": round(time.perf_counter() - start, 3), "peak": peak_memory(),
    }  # fmt: skip
    with atomic_write(_record(Path(path), step, number)) as file:
        json.dump(record, file)
    return number, record


def _finished(path: Path, step: str, number: int, item: Item) -> dict[str, Any] | None:
    """The record of a task, if it is of this item and its files are as they were written."""
    try:
        record = parse_json(_record(path, step, number).read_bytes(), "not a record")
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("item") != _digest(item):
        return None
    for name, expected in record["files"].items():
        place = path / name
        if not place.is_file() or _fingerprint(place) != expected:
            return None
    return record


def peak_memory() -> int:
    """Bytes of memory that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _one_thread() -> None:
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def _record(path: Path, step: str, number: int) -> Path:
    return path / "done" / f"{step}-{number:05d}.json"


def _digest(item: Item) -> str:
    return hashlib.sha256(json.dumps(item, sort_keys=True).encode()).hexdigest()


def _fingerprint(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
