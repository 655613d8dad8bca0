"""Where the files of the vision datasets are."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ehnn.datasets.errors import DataError
from ehnn.datasets.locate import cache_dir, data_folder, find_file
from ehnn.hypergraph.validate import short

DataDir = str | os.PathLike[str] | None
_ROOM = "vision"


def vision_files(dataset: str, names: Sequence[str], data_dir: DataDir = None) -> list[Path]:
    """The paths of files, each looked for in ``vision/`` of the data folder, in that folder, in the cache.

    The data folder is ``data_dir`` or else ``$EHNN_DATA``. What is missing is named in a `DataError`.
    """
    found = [find_vision_file(name, data_dir) for name in names]
    missing = [name for name, path in zip(names, found, strict=True) if path is None]
    if missing:
        raise absent(dataset, missing, data_dir)
    return [path for path in found if path is not None]


def find_vision_file(name: str, data_dir: DataDir = None) -> Path | None:
    """The path of one file, or None."""
    found = (find_file(f"{_ROOM}/{name}", folder) for folder in _folders(data_dir))
    return next((path for path in found if path is not None), None)


def read_npz(path: Path, what: str) -> dict[str, np.ndarray]:
    """The arrays of an npz file; a ValueError says that it is not one of ``what``."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise
    except (ValueError, OSError, EOFError, AttributeError, TypeError, BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is not an npz file of {what}: {error}") from error


def find_vision_folder(names: Sequence[str], data_dir: DataDir = None) -> Path | None:
    """The first folder there is of ``names``, looked for in the same places; or None."""
    places = (base / name for f in _folders(data_dir) for base in (f / _ROOM, f) for name in names)
    return next((place for place in places if place.is_dir()), None)


def absent(dataset: str, names: Sequence[str], data_dir: DataDir = None, also: str = "") -> DataError:
    """The error for files that are nowhere; ``also`` says what else would do."""
    rooms = [folder / _ROOM for folder in _folders(data_dir)]
    return DataError(
        f"dataset {dataset!r} lacks {', '.join(names)}: not in {' or '.join(map(str, rooms))}. "
        f"Put {'it' if len(names) == 1 else 'them'} at {', '.join(str(rooms[0] / n) for n in names)}, "
        f"or into the folder 'vision' of another folder given as data_dir or EHNN_DATA.{also}"
    )


def _folders(data_dir: DataDir) -> list[Path]:
    folder = data_folder(data_dir)
    return [cache_dir()] if folder is None else [folder, cache_dir()]


def read_records(path: Path, keys: Mapping[str, type]) -> list[dict[str, Any]]:
    """The list of objects in a JSON file, each with ``keys`` of these types; a ValueError names a bad one."""
    try:
        records = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(records, list):
        raise ValueError(f"{path} must hold a list, got {type(records).__name__}")
    for i, record in enumerate(records):
        for key, kind in keys.items():
            value = record.get(key) if isinstance(record, dict) else None
            if not isinstance(value, kind):
                raise ValueError(
                    f"{path}: entry {i} must have {key!r} of type {kind.__name__}, got {short(record)}"
                )
    return records
