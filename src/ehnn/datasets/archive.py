"""Unpack downloaded archives safely: no file is written outside the given folder."""

from __future__ import annotations

import tarfile
import zlib
from pathlib import Path

from ehnn._utils.untrusted import allowed, check_file, shortened


def extract(archive: Path, into: Path) -> Path:
    """Unpack a tar file into the folder ``into`` (made if it is not there) and return that folder.

    Python's ``data`` filter refuses absolute paths, paths and links that lead out of ``into``, and devices.
    """
    if not hasattr(tarfile, "data_filter"):
        raise ValueError("this Python cannot unpack archives safely; use 3.10.12, 3.11.4 or newer")
    check_file(archive)
    into.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(archive) as tar:
            _check_sizes(tar, allowed(archive.stat().st_size))
            tar.extractall(into, filter="data")
    except tarfile.FilterError as error:
        raise ValueError(f"{archive} was refused: {shortened(error)}") from error
    except FileNotFoundError as error:
        if not archive.exists():
            raise
        raise ValueError(f"{archive} is not a whole tar file: {shortened(error)}") from error
    except (tarfile.TarError, EOFError, OSError, KeyError, ValueError, OverflowError, zlib.error) as error:
        raise ValueError(f"{archive} is not a whole tar file: {shortened(error)}") from error
    return into


def _check_sizes(tar: tarfile.TarFile, limit: int) -> None:
    """Refuse what would grow out of all proportion, before a byte of it is unpacked."""
    total = 0
    for member in tar:
        total += member.size
        if total > limit:
            raise ValueError(f"it claims more than {limit:,} bytes; unpack it first if this is intended")
