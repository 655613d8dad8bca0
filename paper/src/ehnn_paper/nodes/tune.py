"""Search of hyperparameters for node classification with Optuna, on validation accuracy only.

The study lives in an SQLite file: a search that was stopped goes on, and any number of processes may work on
one study at the same time. Points are comparable only with the same runs and epochs, so these are part of the
study's name: one file may hold many studies.
"""

from __future__ import annotations

import datetime
import hashlib
import inspect
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from typing import Any

import torch

from ehnn._utils.atomic import locked
from ehnn._utils.optional import require
from ehnn.datasets import card, load
from ehnn.hypergraph import Hypergraph
from ehnn.tasks.node_classification import NodeClassification
from ehnn.training import NotFiniteError

from .config import find_model, settings_of
from .runs import digest_of
from .search import FIRST_SEED, compare
from .settings import Settings

Grid = Mapping[str, Sequence[Any]]

PAPER_GRID: Grid = {"width": (64, 128, 256, 512), "weight_decay": (0.0, 1e-5), "mlp_dropout": (0.0, 0.2)}
"""The paper's grid for EHNN-MLP; the learning rate is fixed at 0.001."""

TRANSFORMER_GRID: Grid = {
    **PAPER_GRID,
    "heads": (4, 8),
    "attention_dropout": (0.0, 0.1),
    "classifier_hidden": (64, 128),
}
"""The paper's grid for EHNN-Transformer. Here the classifier has the hidden layer whose width is searched."""

BASELINE_GRID: Grid = {"width": (64, 128, 256, 512), "weight_decay": (0.0, 1e-5), "lr": (1e-3, 1e-2, 1e-1)}
"""AllSet's grid, from which the paper's baseline figures come."""

SAMPLERS = ("grid", "tpe")
_PAUSE, _GRACE = 0.5, 120
_TRIES = 20


def grid_of(model: str) -> Grid:
    """The grid that a model is searched on."""
    find_model(model)
    grids = {"ehnn-mlp": PAPER_GRID, "ehnn-transformer": TRANSFORMER_GRID}
    return grids.get(model.removesuffix("+"), BASELINE_GRID)


def settings_from(model: str, dataset: str, values: Mapping[str, Any]) -> Settings:
    """The committed settings with the values of a point of the grid in their place."""
    own = dict(values)
    options = dict(settings_of(model, dataset).options)
    if "mlp_dropout" in own:
        options["dropout"] = own.pop("mlp_dropout")
    if "heads" in own:
        options["heads"] = own.pop("heads")
    if "attention_dropout" in own:
        options["local_dropout"] = options["global_dropout"] = own.pop("attention_dropout")
    if "classifier_hidden" in own:
        own["classifier_layers"] = 2
    return replace(
        settings_of(model, dataset), **own, options=options
    )  # an unknown name is a TypeError that names it


def tune(
    dataset: str,
    model: str,
    *,
    storage: Path | str,
    sampler: str = "grid",
    trials: int | None = None,
    runs: int = 5,
    epochs: int = 500,
    device: str = "cpu",
    data_dir: Path | str | None = None,
    h: Hypergraph | None = None,
    grid: Grid | None = None,
) -> Any:
    """The Optuna study of the mean best validation accuracy in percent; test nodes are not scored.

    It has ``trials`` finished trials, by default (and on the grid at most) as many as the grid has points.

    Call it again with the same ``storage``, ``runs`` and ``epochs`` to go on, or in several processes at once
    to share the work. A trial whose process died is failed and queued again: at once where no other process
    works on the file, otherwise after two minutes without a sign of life. A trial that diverges or runs out
    of memory counts as pruned.

    Args:
        storage: the SQLite file.
        sampler: ``"grid"`` tries every point once; ``"tpe"`` goes where validation accuracy is high.
        runs: splits per trial, trained side by side.
        grid: in place of `grid_of` the model.
    """
    optuna = _optuna()
    grid = grid_of(model) if grid is None else grid
    if h is None:
        dataset = card(dataset).name
        h = load(dataset, data_dir)
    NodeClassification(h, [FIRST_SEED])  # without features or labels: an error before there is a study
    # With other committed settings, another grid or other data, it is another search.
    start = json.dumps([settings_of(model, dataset).to_dict(), grid, digest_of(h)], sort_keys=True)
    version = hashlib.sha256(start.encode()).hexdigest()[:6]
    name = f"{dataset}/{model}/{sampler}/{runs} runs/{epochs} epochs/{version}"
    study = _study(optuna, name, Path(storage), _sampler(optuna, sampler))
    points = _points(grid)
    goal = points if trials is None else min(trials, points) if sampler == "grid" else trials

    def objective(trial: Any) -> float:
        values = {name: trial.suggest_categorical(name, list(choices)) for name, choices in grid.items()}
        settings = settings_from(model, dataset, values)
        try:
            return compare(h, model, settings, runs=runs, epochs=epochs, device=device)["best"]
        except (NotFiniteError, torch.OutOfMemoryError) as error:
            raise optuna.TrialPruned(str(error)) from error
        except KeyboardInterrupt:
            if sampler == "tpe":  # the points of a grid are queued anyway, see `_fill_queue`
                _queue_again(study, study.trials[trial.number])
            raise

    with _at_work(Path(storage)) as alone:
        while tried(study, sampler) < goal:
            _fail_stale(optuna, study, alone())
            if sampler == "grid":
                _fill_queue(study, grid, goal, Path(storage))
            if _is_work_left(study, sampler, goal):
                study.optimize(objective, n_trials=1)
            else:  # other processes are on the last ones
                time.sleep(_PAUSE)
    return study


def best_settings(study: Any, dataset: str, model: str) -> Settings:
    """The settings of the trial with the best validation accuracy."""
    return settings_from(model, dataset, study.best_params)


def tried(study: Any, sampler: str, *, running: bool = False) -> int:
    """How many trials have ended with a value or pruned (or are ``running``); on a grid, of other points.

    A grid is over when each of its points has been tried: two processes may have drawn the same one at the
    same moment.
    """
    from optuna.trial import TrialState

    states = [TrialState.COMPLETE, TrialState.PRUNED, *([TrialState.RUNNING] if running else [])]
    trials = study.get_trials(deepcopy=False, states=states)
    return len({tuple(t.params.items()) if sampler == "grid" and t.params else t.number for t in trials})


def _points(grid: Grid) -> int:
    count = 1
    for choices in grid.values():
        count *= len(choices)
    return count


def _is_work_left(study: Any, sampler: str, goal: int) -> bool:
    """Whether there is a point that no process has taken: a queued one of a grid, any one otherwise."""
    from optuna.trial import TrialState

    if sampler == "grid":
        return bool(study.get_trials(deepcopy=False, states=[TrialState.WAITING]))
    return tried(study, sampler, running=True) < goal


def _fill_queue(study: Any, grid: Grid, goal: int, path: Path) -> None:
    """Queue the points among the first ``goal`` of a grid that have no trial, or only failed ones."""
    from optuna.trial import TrialState

    with locked(path.parent):
        trials = study.get_trials(deepcopy=False, states=[s for s in TrialState if s != TrialState.FAIL])
        there = [{**t.system_attrs.get("fixed_params", {}), **t.params} for t in trials]
        for values in islice(product(*grid.values()), goal):
            point = dict(zip(grid, values, strict=True))
            if point not in there:
                study.enqueue_trial(point)


def _fail_stale(optuna: Any, study: Any, alone: bool) -> None:
    """Fail the trials of processes that died; all that are running if this process is ``alone``.

    Optuna fails those whose last sign of life is old. A process that was killed right after it made a trial
    has given none: its trial has no values yet.
    """
    from optuna.trial import TrialState

    with _quiet(optuna):
        optuna.storages.fail_stale_trials(study)
    old = datetime.datetime.now() - datetime.timedelta(seconds=_GRACE)
    for trial in study.get_trials(deepcopy=False, states=[TrialState.RUNNING]):
        if alone or (not trial.params and trial.datetime_start < old):
            study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
            if trial.params and "tpe" in study.study_name.split("/"):
                _queue_again(study, trial)


@contextmanager
def _at_work(storage: Path) -> Iterator[Callable[[], bool]]:
    """Share a lock with the other processes on a storage; the function says whether there are none.

    Where there are no file locks it says that there may be some.
    """
    try:
        import fcntl
    except ImportError:
        yield lambda: False
        return

    with open(storage.with_name(f".{storage.name}.lock"), "w") as file:

        def alone() -> bool:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
            finally:
                fcntl.flock(file, fcntl.LOCK_SH)
            return True

        fcntl.flock(file, fcntl.LOCK_SH)
        yield alone


def _queue_again(study: Any, trial: Any) -> None:
    """The point of a trial that did not end is tried again: a grid counts it as visited."""
    from optuna.trial import TrialState, create_trial

    attributes = {**trial.system_attrs, "fixed_params": trial.params}
    study.add_trial(create_trial(state=TrialState.WAITING, system_attrs=attributes))


def _optuna() -> Any:
    optuna = require("optuna", "tune", "./paper")
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # it warns of a failed trial with a traceback
    return optuna


def _sampler(optuna: Any, name: str) -> Any:
    if name not in SAMPLERS:
        raise ValueError(f"sampler must be one of {SAMPLERS}, got {name!r}")
    if name == "grid":  # its points are queued; two processes at the last one may draw another
        return optuna.samplers.RandomSampler()
    with _quiet(optuna):  # counts the trials of other processes that have not ended yet
        return optuna.samplers.TPESampler(constant_liar=True)


def _study(optuna: Any, name: str, path: Path, sampler: Any) -> Any:
    """The study; opened again if another process is making the same file at this moment."""
    from sqlalchemy.exc import SQLAlchemyError

    for left in reversed(range(_TRIES)):
        try:
            return _open_study(optuna, name, path, sampler)
        except SQLAlchemyError as error:
            reason = str(error).partition("\n")[0]
            if not left or "not a database" in reason:
                break
            time.sleep(_PAUSE)
    raise ValueError(f"storage must be an SQLite file that can be opened, got {path}: {reason}")


def _open_study(optuna: Any, name: str, path: Path, sampler: Any) -> Any:
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = _one_at_a_time(optuna.storages.RDBStorage, path)
    names = ("heartbeat_stale_trial_callback", "failed_trial_callback")  # since Optuna 4.9, and before
    callback = next(name for name in names if name in inspect.signature(kind.__init__).parameters)
    with _quiet(optuna):
        storage = kind(
            f"sqlite:///{path}",
            engine_kwargs={"connect_args": {"timeout": 60}},
            heartbeat_interval=30,
            grace_period=_GRACE,
            **{callback: _queue_again if "tpe" in name.split("/") else None},
        )
    return optuna.create_study(
        storage=storage, sampler=sampler, study_name=name, direction="maximize", load_if_exists=True
    )


def _one_at_a_time(kind: Any, path: Path) -> Any:
    """A storage in which two processes cannot take the same waiting trial: SQLite locks no rows."""

    class Storage(kind):
        def set_trial_state_values(self, *args: Any, **options: Any) -> bool:
            with locked(path.parent):
                return bool(super().set_trial_state_values(*args, **options))

    return Storage


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Without Optuna's note that these of its features may change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        yield
