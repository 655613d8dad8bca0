"""Unpacking archives from elsewhere without letting them write elsewhere."""

from __future__ import annotations

import tarfile
from pathlib import Path


def extract(archive: Path, into: Path) -> Path:
    """Unpack a tar file into the folder ``into`` (made if it is not there) and return that folder.

    Python's ``data`` filter refuses absolute paths, paths and links that lead out of ``into``, and devices.
    """
    if not hasattr(tarfile, "data_filter"):
        raise ValueError("this Python cannot unpack archives safely; use 3.10.12, 3.11.4 or newer")
    into.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(into, filter="data")
    except tarfile.FilterError as error:
        raise ValueError(f"{archive} was refused: {error}") from error
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, FileNotFoundError) and not archive.exists():
            raise
        raise ValueError(f"{archive} is not a whole tar file: {error}") from error
    return into
