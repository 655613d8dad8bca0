"""The models of the table of labels of hyperedges."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

import ehnn
from ehnn.estimators.portfolio.node_table import NodeTable
from ehnn.estimators.portfolio.outputs import Output
from ehnn.hypergraph import dual
from ehnn.ops import segment_mean

from .data import Labelled

Array = np.ndarray
PENALTIES = (0.01, 0.1, 1.0, 10.0)
SETTINGS: tuple[dict[str, Any], ...] = ({"lr": 3e-3, "dropout": 0.5}, {"lr": 1e-2, "dropout": 0.2})
Found = tuple[Array, dict[str, Any]]
"""A class for each hyperedge, and what was chosen."""


def majority(data: Labelled, seed: int, device: str) -> Found:
    """The commonest class."""
    commonest = np.bincount(data.y[data.rows(0, 1)]).argmax()
    return np.full(len(data.y), commonest), {}


def linear(blocks: tuple[str, ...], directed: bool, data: Labelled, seed: int, device: str) -> Found:
    """Logistic regression on blocks of `NodeTable` of the dual; the penalty is chosen on validation rows."""
    scores = {p: (_logistic(data, blocks, directed, p, 0)[data.rows(1)] == data.y[data.rows(1)]).mean()
              for p in PENALTIES}  # fmt: skip
    best = max(scores, key=lambda p: scores[p])
    return _logistic(data, blocks, directed, best, 0, 1), {"C": best}


def _logistic(data: Labelled, blocks: tuple[str, ...], directed: bool, penalty: float, *parts: int) -> Array:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    rows = data.rows(*parts)
    output = Output("classes", int(data.y.max()) + 1)
    target = np.where(np.isin(np.arange(len(data.y)), rows), data.y, -1)
    h = data.h if directed else data.h.replace(roles=None)
    x = NodeTable(dual(h)).with_known(output, target, output.prior(target[rows])).matrix(blocks)
    scale = MaxAbsScaler() if hasattr(x, "tocsr") else StandardScaler()
    model = make_pipeline(scale, LogisticRegression(C=penalty, max_iter=300))
    return model.fit(x[rows], data.y[rows]).predict(x)


def network(model: str, data: Labelled, seed: int, device: str) -> Found:
    """A network on the dual, the better of two settings on a fifth of its labels.

    Features of a hyperedge are the mean of those of its members. Features that are all equal say nothing and
    are dropped, so that the network reads the structure instead.
    """
    h = data.h.replace(roles=None)
    if h.x is not None:
        told = bool((h.x != h.x[:1]).any())
        h = h.replace(x=None, edge_x=segment_mean(h.x, h.incidence) if told else None)
    found = []
    for setting in SETTINGS:
        fixed: dict[str, Any] = {
            "model": model,
            "epochs": 200,
            "patience": 40,
            "random_state": seed,
            "device": device,
        }
        fitted = ehnn.HyperedgeClassifier(**fixed, **setting).fit(h, _shown(data))
        valid = fitted.history_[fitted.best_epoch_ - 1]["valid"]
        found.append((valid, setting, fitted.predict(h)))
    _, setting, classes = max(found, key=lambda each: each[0])
    return np.asarray(classes), setting


def estimator(directed: bool, data: Labelled, seed: int, device: str) -> Found:
    """`ehnn.HyperedgeClassifier` with its defaults."""
    h = data.h if directed else data.h.replace(roles=None)
    fitted = ehnn.HyperedgeClassifier(random_state=seed, device=device).fit(h, _shown(data))
    weights = {row["member"]: row["weight"] for row in fitted.leaderboard_[:-1] if row.get("weight")}
    return np.asarray(fitted.predict(h)), weights


def _shown(data: Labelled) -> list[int | None]:
    known = np.isin(data.part, (0, 1)) & (data.y >= 0)
    return [int(y) if there else None for y, there in zip(data.y, known, strict=True)]


MODELS: dict[str, Any] = {
    "majority": majority,
    "lr-degrees": partial(linear, ("degree",), False),
    "lr-history": partial(linear, ("degree", "count", "vote"), False),
    "lr-members": partial(linear, ("members",), False),
    "hgnn": partial(network, "hgnn"),
    "all-set-transformer": partial(network, "all-set-transformer"),
    "hyperedge-classifier": partial(estimator, False),
}
DIRECTED: dict[str, Any] = {
    "lr-members-directed": partial(linear, ("members",), True),
    "hyperedge-classifier-directed": partial(estimator, True),
}
"""Of reactions alone."""


def measure(model: str, data: Labelled, seed: int, device: str) -> dict[str, Any]:
    """Accuracy and macro-F1 in percent over the test hyperedges."""
    from sklearn.metrics import f1_score

    torch.set_num_threads(1)
    found, chosen = (MODELS | DIRECTED)[model](data, seed, device)
    rows = data.rows(2)
    truth = data.y[rows]
    return {
        "accuracy": 100 * float((found[rows] == truth).mean()),
        "macro-f1": 100 * float(f1_score(truth, found[rows], average="macro")),
        "chosen": chosen,
    }
