"""Answers about missing reactions without an EHNN: logistic regression on columns, and CHESHIRE."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from ehnn.hypergraph import Hypergraph
from ehnn.nn.baselines import CHESHIRE
from ehnn.nn.baselines.cheshire import ranking_loss

from .missing import Ask

SIZE = ("degree count",)
DEGREES = ("degree",)
BALANCE = ("balance",)


def fit_linear(
    parts: list[Ask], setting: dict[str, Any], seeds: Iterable[int], *,
    directed: bool, prefixes: tuple[str, ...] | None = None,
) -> Callable[[Ask], np.ndarray]:  # fmt: skip
    """Logistic regression on the columns that begin so. ``setting`` has ``C``; ``seeds`` are not used."""

    def columns(ask: Ask) -> np.ndarray:
        found = ask.columns(directed).items()
        return np.stack([c for name, c in found if prefixes is None or name.startswith(prefixes)], 1)

    rows = np.concatenate([columns(part) for part in parts])
    answers = np.concatenate([part.answers for part in parts])
    mean, std = rows.mean(0), rows.std(0) + 1e-6
    model = LogisticRegression(C=setting["C"], class_weight="balanced", max_iter=3000)
    model.fit((rows - mean) / std, answers)
    return lambda ask: model.decision_function((columns(ask) - mean) / std)


def fit_cheshire(
    parts: list[Ask], setting: dict[str, Any], seeds: Iterable[int]
) -> Callable[[Ask], np.ndarray]:
    """CHESHIRE with its authors' settings; ``setting`` has ``epochs`` (theirs: 30).

    Its training hyperedges, which make the features of the nodes, are the real reactions of all parts; so
    they include the positives that it learns from, as in its authors' code.
    """
    positive, negative = (
        [part.candidates[np.flatnonzero(part.answers == answer)] for part in parts] for answer in (1, 0)
    )
    h = reduce(add, positive).hypergraph(False)
    batches = [((p + n).hypergraph(False), [len(p), len(n)]) for p, n in zip(positive, negative, strict=True)]
    models = [_trained(h, batches, setting["epochs"], seed) for seed in seeds]

    @torch.no_grad()
    def scores(ask: Ask) -> np.ndarray:
        found = [model(h, ask.candidates.hypergraph(False)) for model in models]
        return torch.stack(found).mean(0).squeeze(1).numpy()

    return scores


def _trained(h: Hypergraph, batches: list[tuple[Hypergraph, list[int]]], epochs: int, seed: int) -> CHESHIRE:
    """Each batch has candidates, and how many of them are real (they come first) and how many are not."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = CHESHIRE(h.num_edges)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
        for _ in range(epochs):
            for candidates, counts in batches:
                optimizer.zero_grad()
                ranking_loss(*model(h, candidates).split(counts)).backward()
                optimizer.step()
    return model.eval()
