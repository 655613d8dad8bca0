"""Classes or numbers of nodes, or of sets: split, fit, score, save."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import typer
from torch import Tensor

from ehnn.datasets.splits import PARTS
from ehnn.estimators import NodeClassifier, NodeRegressor
from ehnn.estimators.supervised import hold_out
from ehnn.estimators.targets import Classes, Numbers
from ehnn.hypergraph.validate import short
from ehnn.io.atomic import atomic_write
from ehnn.report import accuracy_by_order, attention_by_order, data_record, hypergraph_record, score_record

from .columns import many_classes
from .labels import alike_classes, read_labels
from .recipe import Recipe
from .run_folder import ALONE, PREDICTED
from .sheets import Sheet

if TYPE_CHECKING:
    from .train_table import Request

MOST_TOLD = 8
"""Classes that are named."""


class LabelRun:
    """A classifier or regressor of nodes or sets. Making one reads the labels; `fit` does the rest.

    Attributes:
        values: ``[num_nodes]`` the labels, None where there is none.
        rest, test: boolean rows, to train (and validate) on and to score at the end.
    """

    def __init__(self, request: Request, recipe: Recipe, sheet: Sheet) -> None:
        columns = recipe.columns(sheet)
        if columns is None or recipe.label is None:
            raise ValueError(f"{sheet.path} says nothing about {recipe.task}: give --nodes")
        self.request, self.recipe, self.sheet = request, recipe, sheet
        self.graph, _ = recipe.graph(sheet)
        count = self.graph.num_nodes
        shared = recipe.task == "nodes" and sheet.edges is not None and sheet.edges.table is columns.table
        hint = "; for labels of sets: --task sets" if shared else ""
        self.values = read_labels(columns, recipe.label, count, request.regression, hint)
        for remark in filter(None, (many_classes(f, columns, count) for f in recipe.features)):
            typer.echo(f"Note: {remark}", err=True)
        if alike := alike_classes(self.values):
            typer.echo(f"Note: column {recipe.label!r} has classes that differ in case: {alike}", err=True)
        targets = (Numbers if request.regression else Classes).learn(self.values)
        self.rest, self.test = hold_out(targets, targets.encode(self.values), request.test, request.seed)

    def fit(self, folder: Path) -> dict[str, Any]:
        """Train, save, score; returns the record."""
        estimator = self._chosen(folder)
        estimator.save(folder)
        train, valid = self._parts(estimator)
        predicted = estimator.predict(self.graph)
        self._write_predicted(folder / PREDICTED, predicted, (train, valid, self.test))
        counts = {part: int(r.sum()) for part, r in zip(PARTS, (train, valid, self.test), strict=True)}
        if not counts["valid"]:
            typer.echo("Note: no label was left to select the epoch by: the model is of the last", err=True)
        scores = self._scores(estimator, predicted, train)
        split = {
            "learned from": self._learned_from(estimator),
            "labels": ", ".join(f"{count} {part}" for part, count in counts.items()),
        }
        transformer = self.request.settings["model"] == "ehnn-transformer"
        return {
            "metric": "negative loss" if self.request.regression else "accuracy, %",
            "data": data_record(self.sheet.h) | {"labelled": counts},
            "history": estimator.history_, "best_epoch": estimator.best_epoch_,
            "hypergraph": hypergraph_record(self.graph, self.values, predicted.tolist()),
            "attention": attention_by_order(estimator, self.graph) if transformer else None,
            **scores, "summary": split | scores["summary"],
        }  # fmt: skip

    def _learned_from(self, estimator: Any) -> str:
        """The columns and places that the model reads, for people who wonder why it is so good."""
        read = [feature.column for feature in self.recipe.features]
        read += [f"{self.recipe.places.vectors.shape[1]} places"] if self.recipe.places.names else []
        kept = ", with residual connections" if getattr(estimator, "residual_", False) else ""
        return (", ".join(read) or "degrees and orders") + kept

    def _chosen(self, folder: Path) -> Any:
        """The estimator; with places, the better of that and of one without them, in validation.

        Sixty-four numbers of a node's company can drown the one column, or the degree, that is the answer.
        """
        recipe = self.recipe
        if not recipe.places.names and (folder / ALONE).is_dir():  # it was chosen, and then interrupted
            return self._fitted(folder / ALONE)
        estimator = self._fitted(folder)
        if not (recipe.places.names and "valid" in estimator.history_[-1]):
            return estimator
        self.recipe = recipe.without_places(self.sheet)
        both, (self.graph, _) = self.graph, self.recipe.graph(self.sheet)
        alone = self._fitted(folder / ALONE)
        figures = [e.history_[e.best_epoch_ - 1]["valid"] for e in (estimator, alone)]
        if not self._prefers(figures[1], figures[0], int(self._parts(alone)[1].sum())):
            self.recipe, self.graph = recipe, both
            return estimator
        what = (
            "the columns alone are as good or better" if recipe.features else "degrees and orders do better"
        )
        typer.echo(f"Note: in validation {what}: places are not used", err=True)
        self.recipe.save(folder)
        return alone

    def _prefers(self, alone: float, both: float, labels: int) -> bool:
        """Whether to do without places: columns must be as good in validation, degrees and orders better
        than chance would have it (a standard error of the accuracy, a tenth of the loss)."""
        if self.recipe.features:
            return alone >= both
        if self.request.regression:
            return -alone < 0.9 * -both
        share = min(max(both / 100, 0.0), 1.0)
        return alone - both > 100 * math.sqrt(max(share * (1 - share), 1 / labels) / labels)

    def _fitted(self, folder: Path) -> Any:
        kind = NodeRegressor if self.request.regression else NodeClassifier
        features = "structural" if self.graph.x is None else "both"
        estimator = kind(**self.request.estimator, features=features)
        vars(estimator).update(checkpoints=folder)  # where `fit` keeps its state and goes on from
        visible = [
            value if keep else None for value, keep in zip(self.values, self.rest.tolist(), strict=True)
        ]
        return estimator.fit(self.graph, visible)

    def _parts(self, estimator: Any) -> tuple[Tensor, Tensor]:
        """Rows that were trained on, and that selected the epoch: drawn as `fit` drew them."""
        targets = estimator.targets_
        target = targets.hide(targets.encode(self.values), self.rest)
        return hold_out(targets, target, estimator.validation_fraction, self.request.seed)

    def _scores(self, estimator: Any, predicted: np.ndarray, train: Tensor) -> dict[str, Any]:
        if not bool(self.test.any()):
            return {"test": None, "summary": {"test": "no label was left for it"}}
        if self.request.regression:
            return _numbers(self.values, predicted, train.numpy(), self.test.numpy())
        found = _classes(
            estimator.classes_.tolist(), self.values, predicted, train.numpy(), self.test.numpy()
        )
        right = torch.tensor([a == b for a, b in zip(self.values, predicted.tolist(), strict=True)])
        if self.recipe.task == "nodes":
            found["test"]["per_order"] = accuracy_by_order(self.graph, right, self.test)
        else:
            found["test"]["per_order"] = _tally(self.graph.degrees, right, self.test)
        return found

    def _write_predicted(self, path: Path, predicted: np.ndarray, parts: Sequence[Tensor]) -> None:
        """Every node or set: in which part it was, its label and what is predicted."""
        part = np.full(self.graph.num_nodes, "", dtype=object)
        for name, rows in zip(PARTS, parts, strict=True):
            part[rows.numpy()] = name
        known = ["" if v is None else v for v in self.values]
        names = self.graph.node_names or ()
        with atomic_write(path) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["set" if self.recipe.task == "sets" else "node", "part", "label", "predicted"])
            writer.writerows(zip(names, part, known, predicted.tolist(), strict=True))


def _classes(
    classes: list[Any], values: list[Any], predicted: np.ndarray, train: np.ndarray, test: np.ndarray
) -> dict[str, Any]:
    number = {c: i for i, c in enumerate(classes)}
    true = np.array([-1 if v is None else number[v] for v in values])
    labels = [str(c) for c in classes]
    scores = score_record(true, [number[v] for v in predicted.tolist()], labels, among=test)
    common = int(np.bincount(true[train]).argmax())
    scores["majority"] = float((true[test] == common).mean())
    counts = np.bincount(true[true >= 0], minlength=len(labels)).tolist()
    told = [f"{short(name)} ({count})" for name, count in zip(labels, counts, strict=True)]
    lines = {
        "classes": ", ".join(told[:MOST_TOLD])
        + (f" and {len(told) - MOST_TOLD} more" if told[MOST_TOLD:] else ""),
        "test accuracy": f"{100 * scores['accuracy']:.2f} % of {int(test.sum())}",
        "always the commonest class": f"{100 * scores['majority']:.2f} %  ({labels[common]!r})",
    }
    return {"labels": labels, "test": scores, "summary": lines}


def _numbers(values: list[Any], predicted: np.ndarray, train: np.ndarray, test: np.ndarray) -> dict[str, Any]:
    true = np.array([np.nan if v is None else v for v in values])
    error, spread = true[test] - predicted[test], true[test] - true[test].mean()
    differ = np.ptp(true[test]) > 0
    scores = {
        "r2": float(1 - (error**2).sum() / (spread**2).sum()) if differ else None,
        "mean_absolute_error": float(np.abs(error).mean()),
        "mean_absolute_error_of_the_mean": float(np.abs(true[test] - true[train].mean()).mean()),
    }
    lines = {
        "test R²": _r2(scores["r2"], int(test.sum())),
        "mean absolute error": f"{scores['mean_absolute_error']:.4g}",
        "always the mean": f"{scores['mean_absolute_error_of_the_mean']:.4g}",
    }
    return {"test": scores, "summary": lines}


def _r2(value: float | None, count: int) -> str:
    return f"none, its labels ({count}) are all one number" if value is None else f"{value:.4f} of {count}"


def _tally(order: Tensor, right: Tensor, test: Tensor) -> dict[int, list[int]]:
    """Right and all test sets of each order."""
    size = int(order.max()) + 1 if len(order) else 1
    total, good = (torch.bincount(order[rows], minlength=size).tolist() for rows in (test, test & right))
    return {k: [hits, count] for k, (hits, count) in enumerate(zip(good, total, strict=True)) if count}
