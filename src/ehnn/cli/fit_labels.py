"""Classes or numbers of nodes, sets, or nodes within sets: split, fit, score, save."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import typer
from torch import Tensor

import ehnn
from ehnn._utils.atomic import atomic_write
from ehnn._utils.folders import write_json
from ehnn.datasets.splits import PARTS
from ehnn.estimators.supervised import hold_out
from ehnn.estimators.targets import Classes, Numbers
from ehnn.report import attention_by_order, data_record, hypergraph_record
from ehnn.tables import TableData

from .run_folder import PREDICTED, RUNS
from .scores import class_scores, learned_from, mean_and_deviation, number_scores

if TYPE_CHECKING:
    from .train_table import Request

KINDS = {"nodes": "Node", "sets": "Hyperedge", "incidences": "Incidence"}
SIMPLE_BUDGET = 1e-3
"""Seconds in which the default tries simple models alone: votes and linear ones."""
FIRST = {"nodes": ["node"], "sets": ["set"], "incidences": ["node", "set"]}
"""Columns that name the rows of each task."""


def estimator_of(task: str, regression: bool) -> Any:
    """The class of estimators for a task."""
    name = KINDS[task] + ("Regressor" if regression else "Classifier")
    kind = getattr(ehnn.estimators, name, None)
    if kind is None:
        raise ValueError(f"--task {task} takes no --regression: the label of a node within a set is a class")
    return kind


def row_names(task: str, h: ehnn.Hypergraph) -> list[tuple[Any, ...]]:
    """The names of the rows of a task."""
    nodes, sets = h.node_names or (), h.edge_names or ()
    if task == "incidences":
        return [(nodes[v], sets[e]) for v, e in h.index.T.tolist()]
    return [(name,) for name in (sets if task == "sets" else nodes)]


def _unread(left_out: dict[str, str]) -> dict[str, str]:
    """Members without figures, and why; those that were ``behind`` have figures."""
    return {name: why for name, why in left_out.items() if why != "behind"}


class LabelRun:
    """A classifier or regressor. Making one splits the labels; `fit` does the rest.

    Attributes:
        values: ``[rows]`` the labels, None where there is none.
    """

    def __init__(self, request: Request, data: TableData) -> None:
        self.request, self.data, self.values = request, data, data.y or []
        self.kind = estimator_of(data.task, request.regression)
        self.targets = (Numbers if request.regression else Classes).learn(self.values)

    def split(self, seed: int) -> tuple[Tensor, Tensor]:
        """Boolean rows to learn from, and to score at the end."""
        return hold_out(self.targets, self.targets.encode(self.values), self.request.test, seed)

    def fit(self, folder: Path) -> dict[str, Any]:
        """Train, save, score; returns the record. Of several runs the model of the first is saved.

        Runs that were done before the command was stopped are read from the folder.
        """
        first, scores = self._first(folder)
        others = self._others(folder)
        tests = [scores["test"], *others]
        figures = mean_and_deviation(tests, self.request.regression) if others else {}
        record = self._record(first, scores)
        record["summary"] |= figures
        if others:
            record["runs"] = tests
        return record

    def _first(self, folder: Path) -> tuple[Any, dict[str, Any]]:
        """The estimator of the first run, fitted or saved before, and its scores."""
        if (folder / "model.json").exists():
            try:
                estimator = ehnn.estimators.load(folder)
            except ValueError:  # a save that was stopped, or of another version: fit again
                pass
            else:
                return estimator, self._scores(estimator, *self.split(self.request.seed), folder)
        estimator, scores = self._one(self.request.seed, folder)
        estimator.save(folder)
        return estimator, scores

    def _others(self, folder: Path) -> list[dict[str, Any] | None]:
        """Test figures of the runs after the first; each is kept as soon as it is there."""
        path = folder / RUNS
        done: list[Any] = []
        if path.exists():
            with suppress(ValueError):
                done = list(json.loads(path.read_text(encoding="utf-8")))[: self.request.runs - 1]
        for i in range(len(done) + 1, self.request.runs):
            typer.echo(f"Run {i + 1} of {self.request.runs}", err=True)
            done.append(self._one(self.request.seed + i, None)[1]["test"])
            write_json(path, done)
        return done

    def _one(self, seed: int, folder: Path | None) -> tuple[Any, dict[str, Any]]:
        """An estimator fitted on one split, and its scores."""
        rest, test = self.split(seed)
        estimator = self.kind(**self.request.estimator | {"random_state": seed})
        if folder is not None:
            vars(estimator).update(checkpoints=folder)  # where `fit` keeps its state
        visible = [value if keep else None for value, keep in zip(self.values, rest.tolist(), strict=True)]
        estimator.fit(self.data, visible)
        return estimator, self._scores(estimator, rest, test, folder)

    def _parts(self, estimator: Any, rest: Tensor, test: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rows that were trained on, that chose the model, and that are scored."""
        if estimator.model == "auto":  # all labels but those of the test part do both, in turn
            return rest, torch.zeros_like(rest), test
        target = self.targets.hide(self.targets.encode(self.values), rest)
        train, valid = hold_out(
            self.targets, target, estimator.validation_fraction, int(estimator.random_state)
        )
        if not bool(valid.any()):
            typer.echo("Note: no label was left to select the epoch by: the model is of the last", err=True)
        return train, valid, test

    def _scores(self, estimator: Any, rest: Tensor, test: Tensor, folder: Path | None) -> dict[str, Any]:
        parts = self._parts(estimator, rest, test)
        if self.request.regression:
            predicted, proba = estimator.predict(self.data.h), None
        else:
            predicted, proba = estimator.predict_with_proba(self.data.h)
        if folder is not None:
            self._write_predicted(folder / PREDICTED, predicted, parts)
        counts = {part: int(rows.sum()) for part, rows in zip(PARTS, parts, strict=True)}
        found: dict[str, Any] = {"predicted": predicted, "counts": counts}
        if not counts["test"]:
            return found | {"test": None, "summary": {"test": "no label was left for it"}}
        masks = rest.numpy(), test.numpy()
        if proba is None:
            return found | number_scores(self.values, predicted, *masks)
        return found | class_scores(estimator, self.data, proba, predicted, *masks)

    def _simple(self, test: dict[str, Any]) -> dict[str, str]:
        """Lines: the test figure of simple models, and a note where a network alone is no better."""
        rest, asked = self.split(self.request.seed)
        shown, hidden = (
            [v if there else None for v, there in zip(self.values, rows.tolist(), strict=True)]
            for rows in (rest, asked)
        )
        weight = {k: v for k, v in self.request.settings.items() if k == "class_weight"}
        simple = self.kind(budget=SIMPLE_BUDGET, random_state=self.request.seed, device="cpu", **weight)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit before said them
            found = simple.fit(self.data.h, shown).score(self.data.h, hidden)
        reached = test["r2" if self.request.regression else "accuracy"]
        figure = f"{found:.4f}" if self.request.regression else f"{100 * found:.2f} %"
        lines = {"votes and linear models": figure}
        if reached is not None and reached <= found:
            lines["note"] = "votes and linear models are as good or better; without --model both are compared"
        return lines

    def _record(self, estimator: Any, scores: dict[str, Any]) -> dict[str, Any]:
        auto = estimator.model == "auto"
        if not auto and scores["test"]:
            scores["summary"] |= self._simple(scores["test"])
        split = {
            "learned from": learned_from(self.data.reader),
            "labels": ", ".join(f"{count} {part}" for part, count in scores["counts"].items() if count),
        }
        nodes = self.data.task == "nodes"
        h, predicted = self.data.h, scores.pop("predicted").tolist()
        transformer = estimator.model == "ehnn-transformer" and nodes
        counts = scores.pop("counts")
        return {
            "metric": "negative loss" if self.request.regression else "accuracy, %",
            "data": data_record(h) | {"labelled": counts},
            "history": estimator.history_, "best_epoch": estimator.best_epoch_,
            "hypergraph": hypergraph_record(h, *([self.values, predicted] if nodes else [])),
            "attention": attention_by_order(estimator, h) if transformer else None,
            "leaderboard": estimator.leaderboard_ if auto else None,
            "left_out": _unread(estimator.left_out_) if auto else None,
            **scores, "summary": split | scores["summary"],
        }  # fmt: skip

    def _write_predicted(self, path: Path, predicted: np.ndarray, parts: Sequence[Tensor]) -> None:
        """Every row: in which part it was, its label and what is predicted."""
        part = np.full(len(self.values), "", dtype=object)
        for name, rows in zip(PARTS, parts, strict=True):
            part[rows.numpy()] = name
        known = ["" if v is None else v for v in self.values]
        names = row_names(self.data.task, self.data.h)
        with atomic_write(path) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*FIRST[self.data.task], "part", "label", "predicted"])
            writer.writerows(
                (*n, *row) for n, *row in zip(names, part, known, predicted.tolist(), strict=True)
            )
