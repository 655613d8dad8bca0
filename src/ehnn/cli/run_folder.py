"""The folder of a run on a user's own data: what it is a run of, and where files may be written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ehnn._utils.folders import REQUEST, RunFolder, run_folder
from ehnn.report.runs import EXPLANATIONS

RECORD, PREDICTED, STUDY, RUNS = "run.json", "predicted.csv", "study.sqlite", "runs.json"
DEFAULT = "default.json"
"""What a search has found of the default."""
SECOND = "residual"
"""The folder in that of a run, where the model of a further choice is trained."""
_VALUABLE = (RECORD, "model.json", "metrics.jsonl", "checkpoint.safetensors", STUDY)
_OWNED = (*_VALUABLE, PREDICTED, RUNS, DEFAULT, EXPLANATIONS, "weights-*.safetensors", SECOND, "tensorboard")


def default_folder(data: Path, request: Mapping[str, Any]) -> Path:
    """A folder of its own for each file and set of options."""
    code = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:8]
    return Path("runs") / "train" / data.name.partition(".")[0] / f"{request['model']}-{code}"


def own_run(
    folder: Path, request: Mapping[str, Any], fresh: bool = False
) -> AbstractContextManager[RunFolder]:
    """Claim ``folder`` for a run of ``ehnn train --data``; see `run_folder`."""
    hint = "choose another --out" + (", or give --fresh" if (folder / REQUEST).exists() else "")
    return run_folder(folder, request, owned=_OWNED, valuable=_VALUABLE, fresh=fresh, hint=hint)


def check_target(target: Path, inputs: Iterable[Path], force: bool) -> None:
    """Refuse to write over what was read, and over what is there unless ``force``."""
    for path in inputs:
        if target.exists() and path.exists() and target.samefile(path):
            raise ValueError(f"{target} is one of the files that are read; choose another name to write to")
    if target.is_dir():
        raise ValueError(f"{target} is a folder; give the name of a file")
    if target.is_file() and not force:  # a device or a pipe is written to
        raise ValueError(f"{target} exists; choose another name, or replace it with --force")
    if not target.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {target.absolute().parent} to write {target.name} to")
