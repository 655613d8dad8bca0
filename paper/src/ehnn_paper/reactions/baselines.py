"""Answers about directions without a network: logistic regression and boosted trees on the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from .direction import Question

DEGREES = ("degree",)
HISTORY = ("degree", "history")


def fit_linear(
    parts: list[Question], setting: dict[str, Any], seeds: Iterable[int], *, prefixes: tuple[str, ...] | None
) -> Callable[[Question], np.ndarray]:
    """Logistic regression without intercept on tail − head: antisymmetric. ``setting`` has ``C``.

    It is deterministic; ``seeds`` are not used.
    """
    rows = np.concatenate([part.table.antisymmetric(prefixes) for part in parts])
    scale = np.sqrt((rows**2).mean(0)) + 1e-9
    both = np.concatenate([rows, -rows]) / scale
    answers = np.repeat([1, 0], len(rows))
    model = LogisticRegression(C=setting["C"], fit_intercept=False, max_iter=3000).fit(both, answers)
    return lambda asked: model.decision_function(asked.table.antisymmetric(prefixes) / scale)


def fit_trees(
    parts: list[Question], setting: dict[str, Any], seeds: Iterable[int]
) -> Callable[[Question], np.ndarray]:
    """Boosted trees on all columns of both directions; the score is half the difference of both answers.

    ``setting`` has ``leaves`` and ``rate``; one ensemble of trees per seed, and the mean of their scores.
    """
    rows = np.concatenate([part.table.whole() for part in parts])
    both = np.concatenate([rows, np.concatenate([part.table.turned().whole() for part in parts])])
    answers = np.repeat([1, 0], len(rows))
    models = [
        HistGradientBoostingClassifier(
            learning_rate=setting["rate"], max_leaf_nodes=setting["leaves"], max_iter=150,
            min_samples_leaf=10, l2_regularization=1.0, max_features=0.3, early_stopping=False,
            random_state=seed,
        ).fit(both, answers)
        for seed in seeds
    ]  # fmt: skip

    def scores(asked: Question) -> np.ndarray:
        stated, turned = asked.table.whole(), asked.table.turned().whole()
        found = [model.decision_function(stated) - model.decision_function(turned) for model in models]
        return np.mean(found, 0) / 2

    return scores
