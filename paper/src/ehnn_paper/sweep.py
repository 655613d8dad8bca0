"""Tables whose settings are searched on validation: trials in several processes, each kept when it ends.

A trial trains one setting of a model on a dataset, all its runs (splits or folds) side by side. Every model
has as many settings. A run takes the setting that is best on its own validation part, so nothing of its test
part is seen before it is scored: the search is nested.
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ehnn._utils.atomic import atomic_write
from ehnn._utils.schema import check
from ehnn._utils.untrusted import read_json
from ehnn_paper.digest import digest
from ehnn_paper.results import origin

Found = dict[str, list[float]]
"""One number per run: ``valid`` and ``test`` at the epoch that validation chose, ``valid_last`` and
``test_last`` at the last epoch, or whatever else a table shows."""
KEPT: dict[str, Any] = {"trial": dict, "found": dict, "origin": dict}


@dataclass(frozen=True)
class Trial:
    """One setting of a model on a dataset.

    Attributes:
        dataset, model: names.
        choice: number of the setting, from 0.
        settings: all that decides the result beside the data, as JSON.
        data: digest of the data.
    """

    dataset: str
    model: str
    choice: int
    settings: Mapping[str, Any]
    data: str = ""

    def path(self, folder: Path) -> Path:
        """Where its figures are kept; other settings or other data have another place."""
        return folder / self.dataset / f"{self.model}-{self.choice}-{digest(asdict(self))}.json"


def on_data(trials: Sequence[Trial], digest_of: Callable[[str], str]) -> list[Trial]:
    """The trials, each with the digest of its dataset: ``digest_of(name)``."""
    digests = {name: digest_of(name) for name in dict.fromkeys(trial.dataset for trial in trials)}
    return [replace(trial, data=digests[trial.dataset]) for trial in trials]


def sweep(
    trials: Sequence[Trial],
    compute: Callable[[Trial], Found],
    folder: Path,
    *,
    jobs: int = 1,
    minutes: float | None = None,
    say: Callable[[str], None] = print,
) -> int:
    """Compute the trials that ``folder`` does not have, in their order; returns how many are still missing.

    Args:
        trials: what is wanted.
        compute: a function at the top level of a module, or a `functools.partial` of one.
        folder: of the finished trials.
        jobs: trials at once, each in a process of its own.
        minutes: no trial begins later than that.
        say: is told of every trial.
    """
    todo = [trial for trial in trials if read(trial, folder) is None]
    end = None if minutes is None else time.time() + 60 * minutes
    context = multiprocessing.get_context("spawn")  # a GPU cannot be shared with a forked process
    missing = len(todo)
    with ProcessPoolExecutor(max(1, jobs), mp_context=context) as pool:
        waiting: list[Future[str]] = [pool.submit(_finish, t, compute, folder, end) for t in todo]
        for i, done in enumerate(as_completed(waiting), 1):
            text = done.result()
            missing -= not text.startswith(_NOT_DONE)
            say(f"[{i}/{len(todo)}] {text}")
    return missing


_NOT_DONE = "not done: "


def _finish(trial: Trial, compute: Callable[[Trial], Found], folder: Path, end: float | None) -> str:
    """Compute a trial and keep it, unless it is later than ``end``; what goes wrong is told, no more."""
    import torch

    name = f"{trial.dataset}, {trial.model}, setting {trial.choice}"
    if end is not None and time.time() > end:
        return f"{_NOT_DONE}{name}: out of time"
    torch.set_num_threads(1)
    start = time.monotonic()
    try:
        found = compute(trial)
    except Exception:  # told below
        return f"{_NOT_DONE}{name}: {traceback.format_exc()[-600:]}"
    finally:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    path = trial.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        json.dump({"trial": asdict(trial), "found": found, "origin": origin()}, file)
    seconds = time.monotonic() - start
    return f"{name}: valid {statistics.mean(found['valid']):.2f}, {seconds:.0f} s"


def read(trial: Trial, folder: Path) -> dict[str, Any] | None:
    """What was kept of a finished trial: ``found`` and ``origin``; None where there is nothing."""
    path = trial.path(folder)
    if not path.exists():
        return None
    try:
        kept = read_json(path, "a finished trial")
        check(kept, KEPT, f"{path}: the trial")
    except ValueError as error:
        raise ValueError(f"{error}; remove the file to train again") from error
    return dict(kept)


@dataclass(frozen=True)
class Chosen:
    """The runs of a model on a dataset, each with the setting that its validation part chose.

    Attributes:
        values: metric of each run.
        choices: number of the setting of each run.
        trials: all that was tried.
        origins: where the trials were trained.
    """

    values: list[float]
    choices: list[int]
    trials: tuple[Trial, ...]
    origins: list[dict[str, str]]

    def settings(self) -> dict[str, Any]:
        """What the search space was, and how often each setting was chosen."""
        counts = {str(c): self.choices.count(c) for c in sorted(set(self.choices))}
        return {"search": {str(t.choice): dict(t.settings) for t in self.trials}, "chosen": counts}


def choose(
    trials: Sequence[Trial], folder: Path, by: str = "valid", metric: str = "test"
) -> Iterator[tuple[str, str, Chosen]]:
    """(dataset, model, its runs) where every trial is there; of equally good settings the first is taken."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.dataset, trial.model), []).append(trial)
    for (dataset, model), tried in groups.items():
        kept = [read(trial, folder) for trial in tried]
        if any(one is None for one in kept):
            continue
        found = [one["found"] for one in kept if one is not None]
        by_run = zip(*(f[by] for f in found), strict=True)
        best = [scores.index(max(scores)) for scores in by_run]
        values = [found[i][metric][run] for run, i in enumerate(best)]
        choices = [tried[i].choice for i in best]
        yield dataset, model, Chosen(values, choices, tuple(tried), [one["origin"] for one in kept if one])
