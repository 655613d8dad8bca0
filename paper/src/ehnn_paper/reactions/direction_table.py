"""The models of the direction table: one protocol and one search for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from .baselines import DEGREES, HISTORY, fit_linear, fit_trees
from .data import Reactions, folds
from .direction import accuracy, fit_ehnn, log_loss, questions

SPLITS = 5
SEEDS = (0, 1, 2)
"""Of the networks and tree ensembles whose scores are averaged."""
PUBLISHED = {
    "iAB_RBC_283": 85.7, "iIT341": 80.0, "iAF692": 80.6, "iHN637": 69.4, "iAF1260b": 81.3, "iJO1366": 80.7,
    "yeast-gem": 89.9, "closegaps-iMM904": 57.6,
}  # fmt: skip
"""The networks, and the better of two logistic regressions (degrees; degrees and history) that came with the
data, in percent, on a split of its own."""


@dataclass(frozen=True)
class Model:
    """How a model is fitted, and the settings among which the validation reactions choose."""

    fit: Callable[..., Callable[..., np.ndarray]]
    grid: list[dict[str, Any]]


_LINEAR = [{"C": c} for c in (0.003, 0.03, 0.3, 3.0)]
_TREES = [{"leaves": leaves, "rate": rate} for leaves, rate in product((6, 15), (0.03, 0.1))]
_EHNN = [{"dropout": dropout, "epochs": epochs} for dropout, epochs in product((0.2, 0.5), (8, 20))]
MODELS = {
    "lr-degrees": Model(partial(fit_linear, prefixes=DEGREES), _LINEAR),
    "lr-history": Model(partial(fit_linear, prefixes=HISTORY), _LINEAR),
    "lr-all": Model(partial(fit_linear, prefixes=None), _LINEAR),
    "boosted-trees": Model(fit_trees, _TREES),
    "ehnn-undirected": Model(partial(fit_ehnn, roles=False, columns=False), _EHNN[:1]),
    "ehnn-directed": Model(partial(fit_ehnn, roles=True, columns=False), _EHNN),
    "ehnn-directed-all": Model(partial(fit_ehnn, roles=True, columns=True), _EHNN),
}
"""``all`` reads every column of `ehnn_paper.reactions.columns`, as boosted trees do; the other EHNN read the
columns of single metabolites and the hypergraph. Without roles both directions are the same set, so every
score is 0 and there is nothing to choose."""


def measure(model: str, reactions: Reactions, split: int, seed: int = 0) -> dict[str, Any]:
    """Test accuracy of a split, and the setting that was chosen.

    ``seed`` deals the folds. Fold ``split`` of five is the test and the next one the validation part; groups
    stay together. Each setting is fitted on the other three, and the one with the smallest log loss on the
    validation part is fitted again on four.
    """
    found = MODELS[model]
    asked = reactions.asked
    fold = folds(reactions.group[asked], SPLITS, seed)
    test, valid = fold == split, fold == (split + 1) % SPLITS
    parts, question = questions(reactions, asked[~test & ~valid], asked[valid])
    seeds = [seed + one for one in SEEDS]
    losses = [log_loss(found.fit(parts, setting, seeds[:1])(question)) for setting in found.grid]
    setting = found.grid[int(np.argmin(losses))]
    parts, question = questions(reactions, asked[~test], asked[test])
    return {"accuracy": accuracy(found.fit(parts, setting, seeds)(question)), "setting": setting}
