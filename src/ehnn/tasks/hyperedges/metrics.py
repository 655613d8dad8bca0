"""How well scores rank answers: AUROC, average precision, mean reciprocal rank. Ties count as half."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def auroc(scores: Any, answers: Any, weight: Any = None) -> float:
    """The share of (positive, negative) pairs in which the positive has the larger score; equal: half.

    ``scores`` and ``answers`` (0 or 1) are ``[candidates]``; both answers must occur. With a ``weight``
    ``[candidates]``, a pair counts as much as the product of its two weights.

    >>> auroc([0.9, 0.4, 0.4, 0.1], [1, 1, 0, 0])
    0.875
    """
    scores, answers = _checked(scores, answers)
    share = torch.ones_like(scores) if weight is None else _floats(weight, "weight")
    _, place = torch.unique(scores, return_inverse=True)
    equal = torch.bincount(place, share * ~answers)  # the weight of negatives with each score
    below = (equal.cumsum(0) - equal / 2)[place]
    pairs = (share * answers).sum() * (share * ~answers).sum()
    if not float(pairs) > 0:
        raise ValueError("weight must be above 0 for a candidate with answer 0 and for one with answer 1")
    return float((below * share * answers).sum() / pairs)


def average_precision(scores: Any, answers: Any) -> float:
    """Σ (increase of recall) × precision, over decreasing thresholds; equal scores are one threshold.

    ``answers`` are 1 (or True) for what is real and 0 for the rest, one for each of the ``scores``.

    >>> average_precision([0.9, 0.8, 0.7], [1, 0, 1])
    0.8333333333333333
    """
    scores, answers = _checked(scores, answers)
    values, place = torch.unique(scores, return_inverse=True)
    at = torch.zeros(2, len(values), dtype=torch.float64)
    at[0].index_add_(0, place, answers.double())
    at[1].index_add_(0, place, torch.ones(len(place), dtype=torch.float64))
    right, all_ = at.flip(1).cumsum(1)  # from the largest score down
    precision = right / all_
    return float((precision * at[0].flip(0)).sum() / at[0].sum())


def mean_reciprocal_rank(positive: Any, negative: Any) -> float:
    """The mean of 1 / rank of each positive among its own negatives; equal scores share the middle rank.

    ``positive`` is ``[m]``, ``negative`` is ``[m, negatives]``.

    >>> mean_reciprocal_rank([0.9, 0.2], [[0.1, 0.3], [0.8, 0.1]])
    0.75
    """
    ours, theirs = _floats(positive, "positive"), _floats(negative, "negative")
    if ours.dim() != 1 or theirs.dim() != 2 or theirs.shape[0] != ours.shape[0] or not ours.numel():
        raise ValueError(
            f"positive must be [m] and negative [m, negatives], got {list(ours.shape)}, {list(theirs.shape)}"
        )
    ours = ours.unsqueeze(1)
    rank = 1 + (theirs > ours).sum(1) + (theirs == ours).sum(1) / 2
    return float((1 / rank).mean())


def _checked(scores: Any, answers: Any) -> tuple[Tensor, Tensor]:
    try:
        scores, answers = _floats(scores, "scores"), torch.as_tensor(answers).cpu()
    except (TypeError, ValueError, RuntimeError) as error:  # text, or None among numbers
        raise ValueError(f"scores must be numbers and answers 0 or 1: {error}") from error
    if scores.dim() != 1 or scores.shape != answers.shape:
        raise ValueError(
            f"scores and answers must be [candidates], got {list(scores.shape)} and {list(answers.shape)}"
        )
    found = set(answers.unique().tolist())
    if found != {0, 1}:
        raise ValueError(f"answers must be 0 and 1, and both must occur; got {sorted(found)[:5]}")
    return scores, answers.bool()


def _floats(values: Any, name: str) -> Tensor:
    tensor = torch.as_tensor(values).detach().cpu().to(torch.float64)
    if bool(tensor.isnan().any()):
        raise ValueError(f"{name} must be numbers, got NaN")
    return tensor
