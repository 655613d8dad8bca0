"""The models of the tables of missing reactions: one protocol for all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ehnn.tasks.hyperedges import auroc, average_precision

from .data import folds
from .missing import Ask, Network, fit_ehnn
from .missing_baselines import BALANCE, DEGREES, SIZE, fit_cheshire, fit_linear
from .swapped import half_swapped

FOLDS, PARTS = 5, 5
SPLITS = 3
SEEDS = (0,)
POOLS = ("iAB_RBC_283", "iIT341", "iAF692", "iHN637", "iAF1260b", "iJO1366")
SWAPPED = (*POOLS, "closegaps-iMM904")
_LINEAR, _EHNN = {"C": 0.1}, {"dropout": 0.3, "epochs": 30}
MODELS: dict[str, tuple[Callable[..., Callable[[Ask], np.ndarray]], dict[str, Any]]] = {
    "size": (partial(fit_linear, directed=False, prefixes=SIZE), _LINEAR),
    "degrees": (partial(fit_linear, directed=False, prefixes=DEGREES), _LINEAR),
    "mass-balance": (partial(fit_linear, directed=True, prefixes=BALANCE), _LINEAR),
    "lr-undirected": (partial(fit_linear, directed=False), _LINEAR),
    "lr-directed": (partial(fit_linear, directed=True), _LINEAR),
    "cheshire": (fit_cheshire, {"epochs": 30}),
    "ehnn-undirected": (partial(fit_ehnn, directed=False), _EHNN),
    "ehnn-directed": (partial(fit_ehnn, directed=True), _EHNN),
}
"""How each is fitted, and its setting. CHESHIRE's is that of its authors; no setting was searched for."""
Answer = tuple[np.ndarray, np.ndarray]


def measure(kind: str, model: str, network: Network, split: int, seed: int = 0) -> dict[str, Any]:
    """AUROC and average precision in percent of a split, a fifth of whose reactions are hidden.

    ``seed`` deals the folds. Fold ``split`` of five is hidden.
    """
    protocol = {"pool": pool, "swapped": swapped}[kind]
    real = np.flatnonzero(network.real)
    hidden = folds(real, FOLDS, seed) == split
    fit, setting = MODELS[model]
    fit = partial(fit, setting=setting, seeds=[seed + one for one in SEEDS])
    scores, answers = protocol(fit, network, real[~hidden], real[hidden], seed + split)
    return {
        "auroc": 100 * auroc(scores, answers),
        "ap": 100 * average_precision(scores, answers),
        "setting": setting,
    }


Fit = Callable[[list[Ask]], Callable[[Ask], np.ndarray]]


def swapped(fit: Fit, network: Network, known: np.ndarray, asked: np.ndarray, seed: int) -> Answer:
    """Scores and answers: asked reactions against half-swapped copies of them, drawn by ``seed``."""
    rows, part = network.rows, folds(known, PARTS, seed=1)
    parts = [
        Ask.of(network, rows[known[part != i]], rows[known[part == i]],
               half_swapped(rows[known[part == i]], seed=100 * seed + i))
        for i in range(PARTS)
    ]  # fmt: skip
    ask = Ask.of(network, rows[known], rows[asked], half_swapped(rows[asked], seed=100 * seed + PARTS))
    return fit(parts)(ask), ask.answers


def pool(fit: Fit, network: Network, known: np.ndarray, asked: np.ndarray, seed: int) -> Answer:
    """Scores and answers: asked reactions against the reactions of the pool that the model does not have.

    Known reactions are told from candidates without an answer, asked ones among them. No candidate is scored
    by a model that was trained on it: there are two halves, dealt by ``seed``, and a model for each.
    """
    rows, part = network.rows, folds(known, PARTS, seed=1)
    open_ = np.concatenate([asked, np.flatnonzero(~network.real)])
    answers = np.repeat([1.0, 0.0], [len(asked), len(open_) - len(asked)])
    share = np.random.default_rng(seed).permutation(len(open_)) % (2 * PARTS)
    scores = np.zeros(len(open_))
    for half in range(2):
        parts = [
            Ask.of(network, rows[known[part != i]], rows[known[part == i]],
                   rows[open_[share == half * PARTS + i]])
            for i in range(PARTS)
        ]  # fmt: skip
        other = share // PARTS != half
        asks = Ask(network, rows[known], rows[open_[other]], answers[other])
        scores[other] = fit(parts)(asks)
    return scores, answers
