"""Shared by readers and writers: text of a file, optional libraries, a check for one hypergraph."""

from __future__ import annotations

import importlib
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from ehnn._utils.untrusted import allowed, check_file
from ehnn.hypergraph import Hypergraph

_HEAD = 16
"""Bytes that tell whether text is UTF-16."""
MIN_BOUND, BOUND_PER_ENTRY = 1_000_000, 100


def single(h: Hypergraph, target: str, carries: tuple[str, ...] = ()) -> Hypergraph:
    """``h``, unless it is a batch or has other things that ``target`` cannot carry.

    ``carries`` names what it can: ``"roles"``, ``"direction"`` (two or three roles), ``"incidence_x"``.
    """
    if not isinstance(h, Hypergraph):
        raise ValueError(f"{target} takes a Hypergraph, got {type(h).__name__}")
    if h.num_members != 1:
        raise ValueError(
            f"{target} cannot carry a batch (of {h.num_members} hypergraphs): convert each of h.unbatch()"
        )
    direction = "direction" in carries and h.num_roles in (2, 3)
    if h.roles is not None and "roles" not in carries and not direction:
        raise ValueError(f"{target} cannot carry {h.num_roles} roles: h.replace(roles=None) leaves them out")
    if h.incidence_x is not None and "incidence_x" not in carries:
        raise ValueError(f"{target} cannot carry incidence_x: h.replace(incidence_x=None) leaves it out")
    return h


def check_role_names(h: Hypergraph, names: Sequence[str]) -> None:
    """A ValueError if there is not a name for each role of ``h``."""
    if len(names) != h.num_roles or len(set(names)) != len(names):
        raise ValueError(f"role_names must be a different name for each of {h.num_roles} roles, got {names}")


_UNPACK = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "lzma"}
_PICKLE = "is a pickle file; pickles are never read, as they can run code: write the table as CSV or Parquet"
_OTHER = {
    b"PK": "is a ZIP archive or an Excel workbook; unpack it, or save the sheet as 'CSV UTF-8'",
    b"PAR1": "is a Parquet file; name it with the end .parquet",
    b"\xd0\xcf\x11\xe0": "is an old Excel workbook; save the sheet as 'CSV UTF-8'",
    b"%PDF": "is a PDF file; a text file is expected",
    **{bytes([0x80, protocol]): _PICKLE for protocol in (2, 3, 4, 5)},
}


_once: ContextVar[dict[tuple[int, int], bytes] | None] = ContextVar("once", default=None)


@contextmanager
def reading_once() -> Iterator[None]:
    """Inside, `raw_bytes` reads a pipe once and then gives the same bytes again, as it would of a file.

    A reader looks at a file several times: for its kind, its columns, its checksum.
    """
    if _once.get() is not None:
        yield
        return
    token = _once.set({})
    try:
        yield
    finally:
        _once.reset(token)


def raw_bytes(path: str | os.PathLike[str]) -> bytes:
    """All bytes of a file or a pipe; a ValueError for a folder, or a device, which may have no end."""
    check_file(path)
    about, kept = os.stat(path), _once.get()
    if kept is None or not stat.S_ISFIFO(about.st_mode):
        return Path(path).read_bytes()
    key = (about.st_dev, about.st_ino)
    if key not in kept:
        kept[key] = Path(path).read_bytes()
    return kept[key]


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """What is in a file, unpacked where it was packed with gzip, bzip2 or xz."""
    data = raw_bytes(path)
    module = next((name for mark, name in _UNPACK.items() if data.startswith(mark)), None)
    if module is None:
        return data
    room = allowed(len(data))
    try:
        with importlib.import_module(module).open(io.BytesIO(data)) as file:
            text = file.read(room + 1)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path} is packed with {module} and damaged: {error}") from error
    if len(text) > room:
        raise ValueError(f"{path} unpacks to more than {room:,} bytes; unpack it first if this is intended")
    return text


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a UTF-8 file (or UTF-16), unpacked, without a byte-order mark.

    A ValueError names the line that is not UTF-8, or says what else the file is.
    """
    data = read_bytes(path)
    other = next((what for mark, what in _OTHER.items() if data.startswith(mark)), None)
    if other is not None:
        raise ValueError(f"{path} {other}")
    encoding = _utf_16_of(data)
    text = _utf_8(data, path) if encoding is None else _utf_16(data, encoding, path)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(f"{path}, line {line}: contains a NUL character; the file is binary or damaged")
    return text


def _utf_8(data: bytes, path: str | os.PathLike[str]) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8 text; save it as "
            f"'CSV UTF-8', or convert it: iconv -f WINDOWS-1252 -t UTF-8"
        ) from error


def _utf_16_of(data: bytes) -> str | None:
    """The kind of UTF-16, by its mark, or where the first letters are ASCII and none but they are NUL."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    first, second = data[0:_HEAD:2], data[1:_HEAD:2]
    if len(data) < 4 or len(data) % 2 or any(first) == any(second):
        return None
    kind, letters = ("utf-16-le", first) if any(first) else ("utf-16-be", second)
    return kind if all(letters) else None


def _utf_16(data: bytes, encoding: str, path: str | os.PathLike[str]) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} begins like UTF-16 text but is not: {error.reason}") from error


def check_bound(largest: int, entries: int, what: str, place: Callable[[], str]) -> None:
    """Refuse a number that would make a small file claim a huge hypergraph."""
    bound = max(MIN_BOUND, BOUND_PER_ENTRY * entries)
    if largest >= bound:
        raise ValueError(
            f"{place()}: {what} number {largest} is beyond {bound:,}, too large for a file with {entries:,} "
            "entries; if this is intended, give the count"
        )
