"""Search of the settings of a single model on a user's own data, with Optuna, on validation labels alone.

The default, which compares and averages models, is judged on the same labels, and trained in the end where no
single model is better.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer

from ehnn._utils.folders import RunFolder, write_json
from ehnn._utils.optional import require
from ehnn.estimators.supervised import hold_out
from ehnn.estimators.weights import counted

from .errors import choose
from .fit_labels import LabelRun
from .run_folder import DEFAULT, RECORD, SECOND, STUDY, default_folder, own_run
from .train_table import Request, prepared, read_record, record_of, show

SPACE: dict[str, tuple[Any, ...]] = {
    "width": (32, 64, 128), "dropout": (0.0, 0.2, 0.5), "lr": (1e-3, 3e-3, 1e-2),
    "weight_decay": (0.0, 1e-5, 1e-3),
}  # fmt: skip
"""Values that are tried of each setting that is not given."""
MODELS = ("ehnn-mlp", "ehnn-transformer", "all-set-transformer", "hgnn", "mlp")


@dataclass(frozen=True)
class Search:
    """What to search.

    Attributes:
        request: as of a training; its settings are kept as they are given.
        models: to choose among.
        trials: how many points are tried in all.
        splits: of the labels that a trial is validated on; the value is the mean.
        beside: whether the default is judged too.
    """

    request: Request
    models: Sequence[str]
    trials: int
    splits: int
    beside: bool = False

    def identity(self) -> dict[str, Any]:
        """What identifies a search; more trials continue the same one."""
        told = {"models": list(self.models), "splits": self.splits, "search": True, "beside": self.beside}
        return self.request.to_dict() | told

    def settings(self, trial: Any) -> dict[str, Any]:
        """A point: a model and its settings."""
        given = self.request.settings
        model = trial.suggest_categorical("model", list(self.models))
        own = {k: trial.suggest_categorical(k, list(v)) for k, v in SPACE.items() if k not in given}
        return {**given, **own, "model": model}

    @property
    def default(self) -> dict[str, Any]:
        """The settings of the default, which has epochs of its own."""
        return {k: v for k, v in self.request.settings.items() if k != "epochs"} | {"model": "auto"}

    def value(self, data: Any, settings: dict[str, Any]) -> float:
        """The mean best validation figure over the splits; labels of the test part are not read."""
        found = []
        for split in range(self.splits):
            run, visible, _ = self._split(data, settings, split)
            fitted = run.kind(**run.request.estimator | {"verbose": False}).fit(data.h, visible)
            found.append(fitted.history_[fitted.best_epoch_ - 1]["valid"])
        return float(np.mean(found))

    def value_of_default(self, data: Any) -> float:
        """The same figure of the default, which is trained without the validation labels."""
        found = []
        for split in range(self.splits):
            run, visible, valid = self._split(data, self.default, split)
            parts = [
                [v if asked == part else None for v, asked in zip(visible, valid, strict=True)]
                for part in (False, True)
            ]
            fitted = run.kind(**run.request.estimator | {"verbose": False}).fit(data.h, parts[0])
            logits, targets = fitted._decided(fitted._logits(data.h)).unsqueeze(0), fitted.targets_
            target = targets.encode(parts[1], judged=True)
            found.append(float(targets.metric(logits, target, self._weight(run, visible))))
        return float(np.mean(found))

    def _weight(self, run: LabelRun, visible: list[Any]) -> torch.Tensor | None:
        """``[rows]`` weights of the labels, as a trial has them; None where all are the same."""
        by_class = self.request.settings.get("class_weight")
        weight = counted(run.targets, run.targets.encode(visible), None, by_class)[1]
        return None if weight is None else torch.from_numpy(weight)

    def _split(
        self, data: Any, settings: dict[str, Any], split: int
    ) -> tuple[LabelRun, list[Any], list[bool]]:
        """A run with these settings and a seed of its own, and its labels without those of the test part.

        Then which of these validate.
        """
        run = LabelRun(replace(self.request, settings=settings, seed=self.request.seed + split), data)
        rest, _ = run.split(self.request.seed)
        visible = [v if keep else None for v, keep in zip(run.values, rest.tolist(), strict=True)]
        fraction = run.request.estimator["validation_fraction"]
        valid = hold_out(run.targets, run.targets.encode(visible), fraction, run.request.seed)[1].tolist()
        if not any(valid):
            known = sum(v is not None for v in run.values)
            raise ValueError(
                f"of {known} labels none is left to validate a trial: ehnn tune needs more labels"
            )
        return run, visible, valid


def tune_table(search: Search, out: Path | None, fresh: bool) -> Path:
    """Search, or continue, then train with the best settings and score the test part; returns the folder."""
    optuna = require("optuna", "tune")
    request = search.request
    for model in search.models:
        choose("model", model, MODELS)
    replace(request, settings={**request.settings, "model": search.models[0]}).check()
    if not request.valid:
        raise ValueError("--valid must be above 0: the search compares validation labels")
    identity = search.identity()
    folder = out or default_folder(Path(request.source.data), identity | {"model": "tune"})
    with own_run(folder, identity, fresh) as run:
        _search(search, run, optuna)
    return folder


def _search(search: Search, folder: RunFolder, optuna: Any) -> None:
    request, path = search.request, folder.path
    data = prepared(request)
    if data.task == "hyperedges":
        raise ValueError("ehnn tune needs labels: give --label-column")
    if data.task == "incidences":
        raise ValueError(
            "ehnn tune is for labels of nodes and of sets; those of nodes within sets: ehnn train"
        )
    if data.h.roles is not None:
        search = _by_ehnn(search, "roles")
    other, what = (
        (data.h.x, "columns of nodes") if data.task == "sets" else (data.h.edge_x, "columns of sets")
    )
    if other is not None:
        search = _by_ehnn(search, what)
    if not folder.going_on:
        folder.begin()
    beside = _default(search, data, path / DEFAULT)
    study = _study(optuna, path / STUDY)
    done = _finished(study)
    if done >= search.trials and (path / RECORD).exists():
        typer.echo(f"{path} holds this search, done before; to continue it, give more --trials", err=True)
        show(read_record(path / RECORD), path)
        return
    for _ in range(done, search.trials):
        study.sampler = _sampler(optuna, study, request.seed)
        study.optimize(_objective(search, data), n_trials=1)
    best = replace(request, settings={**request.settings, **study.best_params})
    typer.echo(f"best of {_finished(study)} trials: {study.best_value:.4g}  {study.best_params}", err=True)
    if beside and beside[0]["value"] >= study.best_value:
        typer.echo("the default is as good or better, and is trained in its place", err=True)
        best = replace(request, settings=search.default)
    _forget_training(path)
    record = record_of(best, data, LabelRun(best, data), path) | {"trials": [*beside, *_rows(study)]}
    write_json(path / RECORD, record)
    show(record, path)


def _default(search: Search, data: Any, path: Path) -> list[dict[str, Any]]:
    """The default as a row of the table of trials, judged once; none where it is not asked for."""
    if not search.beside:
        return []
    if not path.exists():
        start = time.monotonic()
        row = {"number": "default", "value": search.value_of_default(data), "params": {"model": "auto"}}
        write_json(path, row | {"seconds": round(time.monotonic() - start, 1)})
    found = read_record(path)
    typer.echo(f"the default: {found['value']:.4g}", err=True)
    return [found]


def _by_ehnn(search: Search, what: str) -> Search:
    """The search among models that read ``what``."""
    models = [model for model in search.models if model.startswith("ehnn")]
    if not models:
        raise ValueError(f"--models: none of {', '.join(search.models)} reads {what}; EHNN models do")
    if len(models) < len(search.models):
        typer.echo(f"Note: the table has {what}, which these models read: {', '.join(models)}", err=True)
    return replace(search, models=models)


def _forget_training(path: Path) -> None:
    """What the best of fewer trials left is no state of the next training."""
    for place in (path, path / SECOND):
        for name in ("checkpoint.safetensors", "metrics.jsonl"):
            (place / name).unlink(missing_ok=True)


def _study(optuna: Any, path: Path) -> Any:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path.parent.mkdir(parents=True, exist_ok=True)
    return optuna.create_study(
        storage=f"sqlite:///{path}", study_name="search", direction="maximize", load_if_exists=True,
    )  # fmt: skip


def _sampler(optuna: Any, study: Any, seed: int) -> Any:
    """What draws the next point, with its own seed: one seed for all would draw the first points again."""
    tried = sum(trial.state.name in ("COMPLETE", "FAIL") for trial in study.trials)
    return optuna.samplers.TPESampler(seed=(seed + tried) % 2**32)


def _objective(search: Search, data: Any) -> Callable[[Any], float]:
    def value(trial: Any) -> float:
        found = search.value(data, search.settings(trial))
        typer.echo(f"trial {trial.number}: {found:.4g}  {trial.params}", err=True)
        return found

    return value


def _finished(study: Any) -> int:
    return sum(trial.state.name == "COMPLETE" for trial in study.trials)


def _rows(study: Any) -> list[dict[str, Any]]:
    """The finished trials, for the record."""
    return [
        {"number": t.number, "value": t.value, "params": t.params, "seconds": t.duration.total_seconds()}
        for t in study.trials
        if t.state.name == "COMPLETE"
    ]
