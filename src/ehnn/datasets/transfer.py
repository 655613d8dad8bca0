"""Download one file completely and check its sum, or leave nothing behind."""

from __future__ import annotations

import glob
import hashlib
import http.client
import os
import secrets
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from .errors import DataError

CHUNK = 1 << 16
_DEAD = 24 * 3600
_AGAIN = {408, 425, 429, 500, 502, 503, 504}
Advance = Callable[[int, int | None], None]


class _Broken(Exception):
    """The connection failed or ended early: worth another try."""


@dataclass(frozen=True)
class _Job:
    url: str
    sha256: str | None
    size: int | None
    timeout: float
    advance: Advance
    limit: float
    ends: float  # on the clock of time.monotonic

    def failed(self, why: object) -> DataError:
        return DataError(f"cannot download {self.url}: {why}")


def download(
    url: str,
    path: Path,
    sha256: str | None = None,
    *,
    size: int | None = None,
    timeout: float = 20.0,
    retries: int = 3,
    pause: float = 0.5,
    progress: bool | None = None,
    limit: float = 6 * 3600.0,
) -> Path:
    """Download ``url`` to ``path`` and return ``path``.

    The bytes go into a ``.part`` file of their own in the same folder, which takes the place of ``path`` in
    one step after its length and SHA-256 are right, and is removed otherwise. A broken connection is tried
    again ``retries`` times, from where it ended if the sum is known. ``timeout`` is the longest silence, in
    seconds, and ``limit`` the longest time in all. ``progress`` None shows a bar on a terminal. Failure is a
    `DataError` that names the address.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise DataError(f"cannot download {url}: the address must begin with http:// or https://")
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_dead_parts(path)
        with open(part, "xb") as out, _bar(path.name, progress) as advance:
            job = _Job(url, sha256, size, timeout, advance, limit, time.monotonic() + limit)
            _attempts(job, out, retries, pause)
            out.flush()
            os.fsync(out.fileno())
        _check_sum(url, part, sha256)
        os.replace(part, path)
    except DataError:
        raise
    except OSError as error:  # the network's are turned into DataError below, so this is the disk's
        raise DataError(f"cannot write {path}: {error}") from error
    finally:
        with suppress(OSError):  # not there after success, or never made
            part.unlink()
    return path


def _remove_dead_parts(path: Path) -> None:
    """Part files of processes that were killed: nobody has written to them for a day."""
    for part in path.parent.glob(f"{glob.escape(path.name)}.*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > _DEAD:
                part.unlink()


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _attempts(job: _Job, out: BinaryIO, retries: int, pause: float) -> None:
    for attempt in range(retries + 1):
        if job.sha256 is None:  # nothing would tell whether two halves belong together
            _restart(out)
        try:
            _receive(job, out)
            return
        except _Broken as error:
            if attempt == retries:
                raise job.failed(f"{error} ({retries + 1} attempts)") from error
            time.sleep(pause * 2**attempt)


def _restart(out: BinaryIO) -> None:
    out.seek(0)
    out.truncate()


def _receive(job: _Job, out: BinaryIO) -> None:
    start = out.tell()
    headers = {"User-Agent": "ehnn-datasets", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    request = urllib.request.Request(job.url, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=job.timeout)
    except urllib.error.HTTPError as error:
        error.close()
        answer = f"the server answered {error.code} {error.reason}"
        if error.code not in _AGAIN and not (error.code == 416 and start):
            raise job.failed(answer) from error
        if error.code == 416:  # our half is longer than the whole: begin again
            _restart(out)
        raise _Broken(answer) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _Broken(getattr(error, "reason", None) or error) from error
    with response:
        resumed = response.status == 206 and response.headers.get("Content-Range", "").startswith(
            f"bytes {start}-"
        )
        if not resumed:
            _restart(out)
            if response.status != 200:
                raise _Broken(f"the server answered {response.status}")
        _copy(job, response, out)


def _copy(job: _Job, response: http.client.HTTPResponse, out: BinaryIO) -> None:
    have = out.tell()
    declared = response.headers.get("Content-Length")
    total = have + int(declared) if declared and declared.isdigit() else job.size
    if total is None and job.sha256 is None and not response.chunked:
        raise job.failed("the server states no length, so the file cannot be checked")
    job.advance(have, total)
    while chunk := _read(response):
        if time.monotonic() > job.ends:
            raise job.failed(f"it has taken longer than {job.limit:g} seconds")
        have += len(chunk)
        if job.size is not None and have > job.size:
            raise job.failed(f"it is longer than the {job.size} bytes expected")
        out.write(chunk)
        job.advance(have, total)
    if total is not None and have < total:
        raise _Broken(f"the connection ended after {have} of {total} bytes")
    if job.size is not None and have < job.size:
        raise job.failed(f"it has {have} bytes, {job.size} were expected")


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read1(CHUNK)  # what is there, so that a slow server does not hide the time
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(f"the connection broke: {error or type(error).__name__}") from error


def _check_sum(url: str, part: Path, sha256: str | None) -> None:
    if sha256 is None:
        return
    found = file_sha256(part)
    if found != sha256.lower():
        raise DataError(f"{url} is not the expected file: SHA-256 is {found}, expected {sha256}")


@contextmanager
def _bar(name: str, progress: bool | None) -> Iterator[Advance]:
    if not (sys.stderr.isatty() if progress is None else progress):
        yield lambda have, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None)
        yield lambda have, total: bar.update(task, completed=have, total=total)
