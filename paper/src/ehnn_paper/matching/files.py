"""Where the files of the vision datasets are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ehnn._utils.schema import check
from ehnn._utils.untrusted import read_json
from ehnn.datasets.errors import DataError
from ehnn.datasets.locate import cache_dir, data_folder, find_file

DataDir = str | os.PathLike[str] | None
_FOLDER = "vision"


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
    found = (find_file(f"{_FOLDER}/{name}", folder) for folder in _folders(data_dir))
    return next((path for path in found if path is not None), None)


def find_vision_folder(names: Sequence[str], data_dir: DataDir = None) -> Path | None:
    """The first folder there is of ``names``, looked for in the same places; or None."""
    places = (base / name for f in _folders(data_dir) for base in (f / _FOLDER, f) for name in names)
    return next((place for place in places if place.is_dir()), None)


def absent(dataset: str, names: Sequence[str], data_dir: DataDir = None, also: str = "") -> DataError:
    """The error for files that are nowhere; ``also`` says what else would do."""
    folders = [folder / _FOLDER for folder in _folders(data_dir)]
    return DataError(
        f"dataset {dataset!r} lacks {', '.join(names)}: not in {' or '.join(map(str, folders))}. "
        f"Put {'it' if len(names) == 1 else 'them'} at {', '.join(str(folders[0] / n) for n in names)}, "
        f"or into the folder 'vision' of another folder given as data_dir or EHNN_DATA.{also}"
    )


def _folders(data_dir: DataDir) -> list[Path]:
    folder = data_folder(data_dir)
    return [cache_dir()] if folder is None else [folder, cache_dir()]


def read_records(path: Path, schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The list of objects in a JSON file, each as ``schema`` says (`ehnn._utils.schema`)."""
    records = read_json(path, "keypoints")
    check(records, [{**schema, ...: object}], f"{path}: entries")
    return records
