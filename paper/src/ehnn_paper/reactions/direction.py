"""Which side of an irreversible reaction is consumed? The question, and the EHNN that answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array, vstack
from torch import Tensor, nn

from ehnn.training import TrainConfig, fit

from .columns import Table, metabolite_columns, table
from .data import Reactions, as_hypergraph, folds
from .net import Candidates, DirectionScorer, ReactionScorer

PARTS = 5
"""The training reactions are asked in so many parts, each with the directions of the others known."""
_TIE = 1e-5
_LARGEST = 5.0
"""Standardised columns are cut to this size."""


@dataclass(frozen=True, eq=False)
class Question:
    """Asked reactions (numbers ``[n]``) beside known ones (mask ``[E]``), in their true direction.

    A model must answer the same whichever side is stated first: score(h, t) = −score(t, h).
    """

    reactions: Reactions
    known: np.ndarray
    asked: np.ndarray
    table: Table

    @classmethod
    def of(cls, reactions: Reactions, known: np.ndarray, asked: np.ndarray) -> Question:
        return cls(reactions, known, asked, table(reactions, known, asked))


def questions(reactions: Reactions, train: np.ndarray, test: np.ndarray) -> tuple[list[Question], Question]:
    """Parts of the training reactions, each beside the rest of them; and the test beside all of them.

    Irreversible reactions with one side only are always known. Reactions of one group are asked together.
    """
    given = reactions.irreversible & ~reactions.two_sided
    part = folds(reactions.group[train], PARTS, seed=1)

    def known(numbers: np.ndarray) -> np.ndarray:
        return given | np.isin(np.arange(len(given)), numbers)

    asked = [
        Question.of(reactions, known(train[part != i]), train[part == i])
        for i in range(PARTS) if (part == i).any()
    ]  # fmt: skip
    return asked, Question.of(reactions, known(train), test)


def accuracy(scores: np.ndarray) -> float:
    """Share of positive scores, in percent; a score of 0, up to rounding, is half right."""
    return 100 * float(np.mean((scores > _TIE) + 0.5 * (np.abs(scores) <= _TIE)))


def log_loss(scores: np.ndarray) -> float:
    """Mean of log(1 + exp(−score))."""
    return float(np.logaddexp(0, -scores).mean())


class Standard:
    """Zero mean and unit deviation, as the training parts have it."""

    def __init__(self, rows: Iterable[np.ndarray]) -> None:
        every = np.concatenate(list(rows))
        self.mean, self.std = every.mean(0), every.std(0) + 1e-6

    def __call__(self, rows: np.ndarray) -> Tensor:
        scaled = (rows - self.mean) / self.std
        return torch.from_numpy(scaled.clip(-_LARGEST, _LARGEST)).float()


class Prepare:
    """Makes the `Candidates` of questions: both directions of each asked reaction.

    Args:
        parts: the questions of the training.
        roles: False hides who is consumed and who is produced, in known reactions and candidates.
        columns: whether candidates have a table.
    """

    def __init__(self, parts: list[Question], *, roles: bool = True, columns: bool = True) -> None:
        self.roles, self.columns = roles, columns
        self.metabolites = Standard(_metabolites(part) for part in parts)
        self.rows = Standard(_both(part.table) for part in parts)

    def __call__(self, asked: Question) -> Candidates:
        r = asked.reactions
        known = as_hypergraph(r.tails[asked.known], r.heads[asked.known])
        tails, heads = r.tails[asked.asked], r.heads[asked.asked]
        sets = as_hypergraph(vstack([tails, heads]).tocsr(), vstack([heads, tails]).tocsr())
        if not self.roles:
            known, sets = known.replace(roles=None), sets.replace(roles=None)
        known = known.replace(x=self.metabolites(_metabolites(asked)))
        return Candidates(known, sets, self.rows(_both(asked.table)) if self.columns else None)


def _metabolites(asked: Question) -> np.ndarray:
    return np.stack(list(metabolite_columns(asked.reactions, asked.known).values()), 1)


def _both(columns: Table) -> np.ndarray:
    """``[2n, columns]``: as stated, then turned round."""
    return np.concatenate([columns.whole(), columns.turned().whole()])


@dataclass(frozen=True)
class DirectionTask:
    """Training of a `DirectionScorer`: every score should be positive."""

    parts: list[Candidates]

    def batches(self, epoch: int) -> Iterable[Candidates]:
        order = torch.Generator().manual_seed(epoch)
        return [self.parts[i] for i in torch.randperm(len(self.parts), generator=order).tolist()]

    def loss(self, scores: Tensor, asked: Candidates) -> Tensor:
        return nn.functional.softplus(-scores).mean((1, 2))

    def evaluate(self, predict: Callable[[Any], Tensor]) -> dict[str, Tensor]:
        return {}


def fit_ehnn(
    parts: list[Question], setting: dict[str, Any], seeds: Iterable[int], *, roles: bool, columns: bool
) -> Callable[[Question], np.ndarray]:
    """Train one network per seed; returns the mean of their scores.

    ``setting`` has ``dropout`` and ``epochs``.
    """
    prepare = Prepare(parts, roles=roles, columns=columns)
    ready = [prepare(part) for part in parts]
    width = 0 if ready[0].table is None else ready[0].table.shape[1]
    d_in = ready[0].known.features("nodes").shape[1]

    def make() -> nn.Module:
        return DirectionScorer(ReactionScorer(d_in, width, dropout=setting["dropout"]))

    config = TrainConfig(
        epochs=setting["epochs"], lr=3e-3, weight_decay=1e-2, optimizer="adamw", schedule="cosine",
        evaluate_every=setting["epochs"],
    )  # fmt: skip
    models = []
    for seed in seeds:
        result = fit(make, DirectionTask(ready), [seed], config, quiet=True)
        models.append(result.runs.extract(0).eval())

    @torch.no_grad()
    def scores(asked: Question) -> np.ndarray:
        found = prepare(asked)
        return torch.stack([model(found) for model in models]).mean(0).squeeze(1).numpy()

    return scores


def turned(asked: Question) -> Question:
    """The same question with the sides of the asked reactions exchanged; known ones stay as they are."""
    r = asked.reactions
    swap = np.isin(np.arange(r.tails.shape[0]), asked.asked)
    tails, heads = _mixed(r.tails, r.heads, swap), _mixed(r.heads, r.tails, swap)
    return Question.of(replace(r, tails=tails, heads=heads), asked.known, asked.asked)


def _mixed(one: csr_array, other: csr_array, swap: np.ndarray) -> csr_array:
    """Rows of ``other`` where ``swap``, else of ``one``."""
    keep, take = (diags_array(mask.astype(float)) for mask in (~swap, swap))
    return csr_array(keep @ one + take @ other)
