"""The folder of a run on a user's own data: what it is a run of, and where files may be written."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ehnn.io.atomic import atomic_write

from .recipe import NAME, VECTORS

RECORD, REQUEST, PREDICTED = "run.json", "request.json", "predicted.csv"
_OURS = (RECORD, REQUEST, PREDICTED, NAME, VECTORS, "model.json", "metrics.jsonl", "checkpoint.safetensors")
SECOND, ALONE = "residual", "columns-alone"
"""Folders in that of a run, where models of further choices are trained."""
_WORTH = (RECORD, "model.json", "metrics.jsonl", "checkpoint.safetensors")


def default_folder(data: Path, request: Mapping[str, Any]) -> Path:
    """A folder of its own for each file and set of options."""
    code = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:8]
    return Path("runs") / "train" / data.name.partition(".")[0] / f"{request['model']}-{code}"


def holds(folder: Path, request: Mapping[str, Any], fresh: bool) -> bool:
    """Whether ``folder`` has (part of) this run; nothing is written.

    Raises:
        ValueError: another run is there (and not ``fresh``), or files that are not of a run.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out {folder} is a file; a run is a folder")
    there = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if there and REQUEST not in there:
        raise ValueError(
            f"--out {folder} is not empty and holds no run of `ehnn train --data`; choose another"
        )
    if fresh or there.isdisjoint(_WORTH):
        return False
    before, now = _request(folder), json.loads(json.dumps(request))
    if before != now:
        differ = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        told = ", ".join("the files" if name == "digest" else name for name in differ)
        raise ValueError(
            f"--out {folder} holds a run with other data or options ({told}); choose another, or give --fresh"
        )
    return True


def claim(folder: Path, request: Mapping[str, Any]) -> None:
    """Make ``folder`` the place of this run, in place of what another left there."""
    for path in [*(folder / name for name in _OURS), *folder.glob("weights-*.safetensors")]:
        path.unlink(missing_ok=True)
    for name in (SECOND, ALONE):
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / REQUEST, request)


def _request(folder: Path) -> Any:
    try:
        return json.loads((folder / REQUEST).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{folder / REQUEST} is damaged: {error}") from error


def write_json(path: Path, value: Any) -> None:
    with atomic_write(path) as file:
        file.write(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def check_target(target: Path, inputs: Iterable[Path], force: bool) -> None:
    """Refuse to write over what was read, and over what is there unless ``force``."""
    for path in inputs:
        if target.exists() and path.exists() and target.samefile(path):
            raise ValueError(f"{target} is one of the files that are read; choose another name to write to")
    if target.is_dir():
        raise ValueError(f"{target} is a folder; give the name of a file")
    if target.exists() and not force:
        raise ValueError(f"{target} is there already; choose another name, or replace it: --force")
    if not target.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {target.absolute().parent} to write {target.name} to")
