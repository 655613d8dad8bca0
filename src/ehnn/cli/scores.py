"""The figures of a run, for the record and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.validation import short
from ehnn.report import accuracy_by_order, score_record
from ehnn.report.scores import class_figures, number_figures
from ehnn.tables import TableData
from ehnn.tables.reader import Reader

MOST_SHOWN = 8
"""Classes and columns that are named."""
SIMPLE = ("majority", "mean", "linear", "vote")
"""How the names of the simple members of a portfolio begin."""


def class_scores(
    estimator: Any,
    data: TableData,
    proba: np.ndarray,
    predicted: np.ndarray,
    rest: np.ndarray,
    test: np.ndarray,
) -> dict[str, Any]:
    """Of classes: what is in the record, and ``summary`` in words."""
    classes = estimator.classes_.tolist()
    number = {c: i for i, c in enumerate(classes)}
    true = np.array([-1 if v is None else number[v] for v in data.y or []])
    labels = [str(c) for c in classes]
    said = np.array([number[v] for v in predicted.tolist()])
    scores = score_record(true, said, labels, among=test)
    scores |= class_figures(true[test], proba[test], said[test])
    common = int(np.bincount(true[rest]).argmax())
    scores["majority"] = float((true[test] == common).mean())
    right = torch.from_numpy(true == said)
    scores["per_order"] = _by_order(data, right, torch.from_numpy(test))
    counts = np.bincount(true[true >= 0], minlength=len(labels)).tolist()
    shown = [f"{short(name, 60)} ({count})" for name, count in zip(labels, counts, strict=True)]
    lines = {
        "classes": _first(shown),
        "test accuracy": f"{_percent(scores, 'accuracy')} of {int(test.sum())}",
        "balanced accuracy": _percent(scores, "balanced_accuracy"),
        "macro-F1": _percent(scores, "macro_f1"),
        "AUROC": "none" if scores["auroc"] is None else f"{100 * scores['auroc']:.2f} %",
        "log loss": f"{scores['log_loss']:.4f}",
        "always the commonest class": f"{100 * scores['majority']:.2f} %  ({short(labels[common], 60)})",
    }
    return {"labels": labels, "test": scores, "summary": lines}


def _by_order(data: TableData, right: Tensor, test: Tensor) -> dict[int, list[int]] | None:
    if data.task == "nodes":
        return accuracy_by_order(data.h, right, test)
    order = data.h.orders if data.task == "sets" else data.h.orders[data.h.index[1]]
    return _tally(order, right, test)


def _tally(order: Tensor, right: Tensor, test: Tensor) -> dict[int, list[int]]:
    """Right and all test rows of each order."""
    size = int(order.max()) + 1 if len(order) else 1
    total, good = (torch.bincount(order[rows], minlength=size).tolist() for rows in (test, test & right))
    return {k: [hits, count] for k, (hits, count) in enumerate(zip(good, total, strict=True)) if count}


def number_scores(
    values: Sequence[Any], predicted: np.ndarray, rest: np.ndarray, test: np.ndarray
) -> dict[str, Any]:
    """Of numbers: what is in the record, and ``summary`` in words."""
    true = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    scores = number_figures(true[test], predicted[test])
    scores["mean_absolute_error_of_the_mean"] = float(np.abs(true[test] - true[rest].mean()).mean())
    count, r2 = int(test.sum()), scores["r2"]
    lines = {
        "test R²": f"none, its labels ({count}) are all one number" if r2 is None else f"{r2:.4f} of {count}",
        "mean absolute error": f"{scores['mean_absolute_error']:.4g}",
        "root mean squared error": f"{scores['root_mean_squared_error']:.4g}",
        "always the mean": f"{scores['mean_absolute_error_of_the_mean']:.4g}",
    }
    return {"test": scores, "summary": lines}


def _percent(scores: dict[str, Any], name: str) -> str:
    between = scores["intervals"][name]
    shown = "" if between is None else f"  (95 % interval {100 * between[0]:.1f} to {100 * between[1]:.1f})"
    return f"{100 * scores[name]:.2f} %{shown}"


def mean_and_deviation(tests: Sequence[dict[str, Any] | None], regression: bool) -> dict[str, str]:
    """Lines with mean ± standard deviation of the figures of the ``tests`` of several runs."""
    there = [test for test in tests if test is not None]
    wanted = (
        {"R²": ("r2", 1), "mean absolute error": ("mean_absolute_error", 1)}
        if regression
        else {"accuracy": ("accuracy", 100), "macro-F1": ("macro_f1", 100), "AUROC": ("auroc", 100)}
    )
    lines = {}
    for title, (name, factor) in wanted.items():
        found = factor * np.array([s[name] for s in there if s[name] is not None], dtype=np.float64)
        if len(found) > 1:
            unit = " %" if factor == 100 else ""
            shown = f"{found.mean():.4g} ± {found.std(ddof=1):.2g}{unit}"
            lines[f"{title}, {len(found)} runs"] = f"{shown}  (mean ± standard deviation)"
    return lines


def learned_from(reader: Reader) -> str:
    """What the model reads, for people who wonder why it is so good."""
    columns = [short(f.column, 60) for f in (*reader.node_features, *reader.edge_features)]
    return f"the sets and {_first(columns)}" if columns else "the sets alone"


def _first(shown: Sequence[str]) -> str:
    more = f" and {len(shown) - MOST_SHOWN} more" if shown[MOST_SHOWN:] else ""
    return ", ".join(shown[:MOST_SHOWN]) + more


# ---------------------------------------------------------------------- members of a portfolio


def leaderboard_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """A table of the members, with their figures on labels that they were not trained on."""
    names = [
        k for k in ("accuracy", "macro_f1", "auroc", "log_loss", "r2", "mse") if any(k in row for row in rows)
    ]
    head = ["on held-out labels", *(n.replace("_", " ") for n in names), "weight"]
    body = [
        [str(r["member"]), *(_figure(n, r.get(n)) for n in names), f"{r.get('weight', 0):.2f}"] for r in rows
    ]
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    return [
        "  ".join(
            [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        )
        for line in [head, *body]
    ]


def _figure(name: str, value: Any) -> str:
    if value is None:
        return ""
    return f"{100 * value:.2f} %" if name in ("accuracy", "macro_f1", "auroc") else f"{value:.4f}"


def no_better(rows: Sequence[dict[str, Any]]) -> str | None:
    """A remark where a simple member is as good as the average on held-out labels, and is not all of it."""
    figure = next(name for name in ("accuracy", "auroc", "r2") if name in rows[-1])
    simple = [r for r in rows[:-1] if str(r["member"]).startswith(SIMPLE)]
    if not simple:
        return None
    best = max(simple, key=lambda r: r[figure])
    if best[figure] < rows[-1][figure] or rows[-1][figure] >= 1 or best.get("weight") == 1:
        return None
    return f"on held-out labels {best['member']!r} alone is as good as the model"
