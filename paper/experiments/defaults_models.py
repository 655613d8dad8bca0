"""The models of `defaults.py`: the estimators as they come, simple answers, and networks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import defaults_data as sets
import numpy as np
import torch

import ehnn
from ehnn._utils.atomic import atomic_write
from ehnn.estimators.models import find
from ehnn.estimators.portfolio.graph_table import GraphTable
from ehnn.estimators.portfolio.incidence_table import IncidenceTable
from ehnn.estimators.portfolio.metrics import macro_f1
from ehnn.estimators.portfolio.node_table import NodeTable
from ehnn.estimators.portfolio.outputs import Output
from ehnn.hypergraph import dual

Array = np.ndarray
SEARCH = ({"lr": 1e-3, "dropout": 0.5}, {"lr": 1e-2, "dropout": 0.5}, {"lr": 3e-3, "dropout": 0.2})
PENALTIES = (0.01, 1.0, 100.0)
TRIALS = 30
KINDS = {
    "nodes": ehnn.NodeClassifier, "hyperedges": ehnn.HyperedgeClassifier,
    "incidences": ehnn.IncidenceClassifier, "hypergraphs": ehnn.HypergraphClassifier,
}  # fmt: skip


def figures(y: Array, scores: Array) -> dict[str, float]:
    """Accuracy (exact match of several labels) and macro-F1."""
    if y.ndim == 1:
        predicted = scores.argmax(1)
        return {
            "accuracy": float((predicted == y).mean()),
            "macro_f1": macro_f1(y, predicted, scores.shape[1]),
        }
    yes = scores > 0.5
    each = [macro_f1(a, b.astype(np.int64), 2) for a, b in zip(y.T, yes.T, strict=True)]
    return {"accuracy": float((yes == (y > 0)).all(1).mean()), "macro_f1": float(np.mean(each))}


def default(data: sets.Data, train: Array, valid: Array, seed: int, device: str) -> Array:
    """The estimator with nothing set."""
    return _estimator(data, np.concatenate([train, valid]), {"random_state": seed, "device": device})[0]


def network(
    model: str, data: sets.Data, train: Array, valid: Array, seed: int, device: str, part: Path
) -> Array:
    """A network with the best of the settings; ``part`` as in `search`."""
    return _best(data, [{"model": model, **s} for s in SEARCH], train, valid, seed, device, part)


def search(data: sets.Data, train: Array, valid: Array, seed: int, device: str, part: Path) -> Array:
    """The best of 30 random points of the space that ``ehnn tune`` searches.

    ``part`` is a file for the best so far: a search that was stopped goes on after its last finished trial.
    """
    from ehnn.cli.tune_table import MODELS, SPACE

    random = np.random.default_rng([TRIALS, seed])
    space = {"model": MODELS, **SPACE}
    points = [{k: v[random.integers(len(v))] for k, v in space.items()} for _ in range(TRIALS)]
    return _best(data, points, train, valid, seed, device, part)


def _best(
    data: sets.Data, settings: list[dict[str, Any]], train: Array, valid: Array, seed: int, device: str,
    part: Path,
) -> Array:  # fmt: skip
    """The scores of the best of the settings on the estimator's own validation labels."""
    same = {"epochs": 200, "patience": 40, "validation_fraction": 1 / 3, "random_state": seed}
    done, found = 0, None
    if part.exists():
        with np.load(part) as kept:
            done, found = int(kept["done"]), (float(kept["reached"]), kept["scores"])
    for i, setting in enumerate(settings[done:], done + 1):
        fit = {**same, **setting, "device": device}
        ready = data if find(setting["model"]).stacked else _without_member_features(data)
        scores, fitted = _estimator(ready, np.concatenate([train, valid]), fit)
        reached = fitted.history_[fitted.best_epoch_ - 1]["valid"]
        found = (reached, scores) if found is None or reached > found[0] else found
        with atomic_write(part, "wb") as file:
            np.savez(file, done=i, reached=found[0], scores=found[1])
    assert found is not None
    part.unlink(missing_ok=True)
    return found[1]


def _without_member_features(data: sets.Data) -> sets.Data:
    """Hyperedges with the mean features of their members, for models that read features of rows alone."""
    if data.task != "hyperedges" or data.h.x is None:
        return data
    mean = torch.from_numpy(NodeTable(dual(data.h)).matrix(("x",)))
    return replace(data, h=data.h.replace(x=None, edge_x=mean))


def _estimator(data: sets.Data, rows: Array, settings: dict[str, Any]) -> tuple[Array, Any]:
    model = KINDS[data.task](**settings)
    if data.task == "hypergraphs":
        model.fit([data.h[i] for i in rows], data.y[rows])
    else:
        known: list[Any] = [None] * len(data.y)
        for i in rows.tolist():
            known[i] = int(data.y[i])
        model.fit(data.h, known)
    predicted = np.asarray(model.predict(data.h))
    return (predicted if data.y.ndim == 2 else np.eye(int(data.y.max()) + 1)[predicted]), model


def simple(model: str, data: sets.Data, train: Array, valid: Array) -> Array | None:
    """Majority, vote and logistic regression; None where there is nothing to read."""
    y, both = data.y, np.concatenate([train, valid])
    if model == "majority":
        share = _hot(y, both)[both].mean(0)
        return np.repeat(share[None], len(y), 0)
    if model == "vote":
        votes = _blocks(data, both, "vote")
        return None if votes is None else votes
    losses = []
    part, whole = (_blocks(data, rows, model) for rows in (train, both))
    if part is None or whole is None:
        return None
    for penalty in PENALTIES:
        scores = _logistic(part, y, train, penalty)
        losses.append(figures(y[valid], scores[valid])["accuracy"])
    return _logistic(whole, y, both, PENALTIES[int(np.argmax(losses))])


def _hot(y: Array, rows: Array) -> Array:
    """``[rows, outputs]`` labels of ``rows``; others are zero."""
    wide = y if y.ndim == 2 else np.eye(int(y.max()) + 1)[np.maximum(y, 0)]
    return wide * np.isin(np.arange(len(y)), rows)[:, None]


def _logistic(x: Any, y: Array, rows: Array, penalty: float) -> Array:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    def fitted(target: Array) -> Any:
        scale = MaxAbsScaler() if hasattr(x, "tocsr") else StandardScaler()
        return make_pipeline(scale, LogisticRegression(C=penalty, max_iter=300)).fit(x[rows], target)

    if y.ndim == 1:
        model = fitted(y[rows])
        found = np.zeros((len(y), int(y.max()) + 1))
        found[:, model.classes_] = model.predict_proba(x)
        return found
    columns = [
        fitted(c).predict_proba(x)[:, 1] if 0 < c.sum() < len(c) else np.full(len(y), c.mean())
        for c in y[rows].T
    ]
    return np.stack(columns, 1)


def _blocks(data: sets.Data, rows: Array, model: str) -> Any:
    """The columns that a simple model reads, with the labels of ``rows`` known."""
    if data.task == "hypergraphs":
        return GraphTable(data.h).matrix(("sizes",)) if model == "lr-degrees" else None
    output = Output("classes", int(data.y.max()) + 1)
    target = np.where(np.isin(np.arange(len(data.y)), rows), data.y, -1)
    prior = output.prior(target)
    if data.task == "incidences":
        table: Any = IncidenceTable(data.h, partly=data.groups is None)
        table.alone = np.zeros(data.h.num_edges, bool)
        table = table.with_known(output, target, prior)
        blocks = {
            "lr-features": ("x",),
            "lr-degrees": ("degree",),
            "vote": ("history",),
            "lr-features-vote": ("x", "degree", "history", "mates"),
        }
    else:
        table = NodeTable(dual(data.h) if data.task == "hyperedges" else data.h).with_known(
            output, target, prior
        )
        blocks = {
            "lr-features": ("x",),
            "lr-degrees": ("degree",),
            "vote": ("count",),
            "lr-features-vote": ("x", "degree", "count", "vote"),
        }
    if model == "lr-features" and not table.has_features:
        return None
    found = table.matrix(blocks[model])
    return found[:, : output.width] if model == "vote" else found
