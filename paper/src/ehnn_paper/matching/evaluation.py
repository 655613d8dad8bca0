"""F1 of matchings by category, over fixed pairs: as they are, turned, or with outliers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from .hungarian import hungarian
from .keypoints import KeypointSet
from .loading import Drawn
from .loss import matching_metrics
from .pair_model import Prepared
from .pairs import Pair, fixed_pairs, seeded
from .transforms import turn_second, with_outliers

SCALES = (0.5, 2.0)
HARDER = ("rotated", "2 outliers")
"""Turned: the second image's keypoints, by any angle and a factor in `SCALES`, features kept. Outliers: on
both images, with features read where they lie."""
TRACKED = "tracked"
"""Test pairs that are judged while training, where these are not all of them."""
_OUTLIERS = 2
_SEEDS = {"test": 0, "valid": 1, "rotated": 2, "2 outliers": 3}


def evaluation_pairs(
    keypoint_set: KeypointSet,
    valid: int = 100,
    test: int = 100,
    hard: int = 100,
    kinds: Iterable[str] = HARDER,
) -> dict[str, list[Pair]]:
    """Fixed pairs "valid", "test" and those of `HARDER`, so many of each category, always the same.

    The harder ones are the first ``hard`` test pairs of a category. A split that is not there has no
    pairs.
    """
    counts = {"valid": valid, "test": test}
    found = {s: _pairs_of(keypoint_set, s, n) for s, n in counts.items() if s in keypoint_set.splits}
    for kind in kinds:
        found[kind] = harder(_pairs_of(keypoint_set, "test", hard), kind)
    return found


def _pairs_of(keypoint_set: KeypointSet, split: str, count: int) -> list[Pair]:
    pairs: list[Pair] = []
    for category in keypoint_set.categories:
        if keypoint_set.items(category, split):
            pairs += fixed_pairs(keypoint_set, category, count, _SEEDS[split], split)
    return pairs


def first_of_each(pairs: Iterable[Pair], count: int) -> list[Pair]:
    """The first ``count`` pairs of every category."""
    seen: Counter[str] = Counter()
    found = []
    for pair in pairs:
        seen[pair.category] += 1
        if seen[pair.category] <= count:
            found.append(pair)
    return found


def harder(pairs: Sequence[Pair], kind: str) -> list[Pair]:
    """The same pairs, of a kind in `HARDER`."""
    if kind == "rotated":
        return turn_second(pairs, seeded(_SEEDS[kind]), scales=SCALES)
    if kind == "2 outliers":
        generator = seeded(_SEEDS[kind])
        return [with_outliers(pair, _OUTLIERS, generator) for pair in pairs]
    raise ValueError(f"kind must be one of {HARDER}, got {kind!r}")


def f1_by_category(
    predict: Callable[[Prepared], Tensor], batches: Iterable[Drawn], ready: Callable[[Drawn], Prepared]
) -> dict[str, Tensor]:
    """F1 in percent, ``[runs]``, of each category and (``"mean"``) the mean of the categories.

    Args:
        predict: a batch → ``[runs, c]``, the larger the more likely.
        batches: of pairs with categories, on the CPU.
        ready: brings a batch to the model.
    """
    scores: dict[str, list[Tensor]] = {}
    for drawn in batches:
        prepared = ready(drawn)
        found, candidates = predict(prepared).cpu(), prepared.association.candidates
        matched = [hungarian(run, candidates) for run in found]
        f1 = torch.stack([matching_metrics(rows, drawn.batch)["f1"] for rows in matched])
        for category, score in zip(drawn.batch.categories, f1.unbind(1), strict=True):
            scores.setdefault(category, []).append(score)
    if not scores:
        raise ValueError("batches must hold at least one pair, got none")
    means = {category: 100 * torch.stack(found).mean(0) for category, found in scores.items()}
    return means | {"mean": torch.stack(list(means.values())).mean(0)}
