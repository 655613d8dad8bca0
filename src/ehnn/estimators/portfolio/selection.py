"""Which members to trust, from predictions of labels that they were not trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .metrics import macro_f1
from .outputs import SALT, Output

Array = np.ndarray
_POWERS = np.array([0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0, 1.25, 1.6, 2.0, 3.0, 5.0, 8.0, 12.0])
_STEPS, _SAMPLES, _MOST = 12, 8, 3000
"""Members drawn in each greedy selection, selections on bootstrap samples, and rows of a sample at most."""
_BALANCE, _FEW = (0.1, 0.2, 0.3, 0.4, 0.5), 40
"""Powers that `class_bias` tries, and the rows that it needs."""
_MANY = 200
"""With at least this many rows, a member that beats the average by one standard error is taken alone; with
fewer rows, by two."""
_HEDGE, _LEAST = 20.0, 0.02
"""See `hedged`; members with less weight than the second are dropped, because they cost time in
prediction."""
_FLOOR = 0.02
"""Each predicted probability is mixed with 0.5 by this share, so that a few confident rows do not dominate
the loss."""


def temperature(output: Output, scores: Array, target: Array, weight: Array) -> float:
    """The inverse temperature with the least log loss; of numbers the factor with the least squared error.

    Numbers are standardised: a factor under 1 shrinks them to the mean, which corrects members that overfit.
    """
    if not len(target):
        return 1.0
    if output.kind == "numbers":
        values, known = output.matrix(target)
        share = known * weight[:, None]
        slope = (share * scores * values).sum() / max(float((share * scores**2).sum()), 1e-12)
        return float(np.clip(slope, 0.0, 1.0))
    powers = _POWERS if len(target) >= _MANY else _POWERS[_POWERS <= 2]  # on few rows: not sharper
    losses = [_mean(output.losses(output.sharpen(scores, p), target), weight) for p in powers]
    return float(powers[int(np.argmin(losses))])


def hopeless(output: Output, scores: Array, rivals: Sequence[Array], target: Array) -> bool:
    """Whether the best rival's loss is less by a quarter and by three standard errors.

    Such a member hardly helps an average, so it need not be fitted on further folds.
    """
    if len(target) < _FEW or not rivals:
        return False
    power = temperature(output, scores, target, np.ones(len(target)))
    own = output.losses(output.sharpen(scores, power), target)
    best = min((output.losses(rival, target) for rival in rivals), key=np.mean)
    lead = own - best
    return float(lead.mean()) > max(3 * float(lead.std()) / len(lead) ** 0.5, 0.25 * float(best.mean()))


def greedy(
    output: Output, scores: Mapping[str, Array], target: Array, weight: Array, seed: int = 0
) -> dict[str, float]:
    """Weights of members by greedy selection with repetition (Caruana et al. 2004).

    It minimises the mean loss; for classes the Brier score, the squared error of the probabilities, which a
    few confident rows, right or wrong, do not dominate.

    It is repeated on bootstrap samples of the rows and the weights are averaged, so that on few rows more
    members share the weight. Members earlier in ``scores`` win ties.
    """
    names = list(scores)
    mixable = [_mixable(output, scores[name]) for name in names]
    generator = np.random.default_rng([SALT, seed])
    weights = np.zeros(len(names))
    for _ in range(_SAMPLES):
        rows = generator.integers(0, len(target), min(len(target), _MOST))
        weights += _select(output, [m[rows] for m in mixable], target[rows], weight[rows])
    weights[weights < 0.05 * weights.sum()] = 0.0  # such a member costs time in prediction
    return {name: float(w) for name, w in zip(names, weights / weights.sum(), strict=True) if w > 0}


def _select(output: Output, mixable: list[Array], target: Array, weight: Array) -> Array:
    """``[members]`` weights of one greedy selection."""
    counts = np.zeros(len(mixable))
    total: Array | float = 0.0
    best, least = counts.copy(), np.inf
    for step in range(1, _STEPS + 1):
        found = [_mean(_mixed_losses(output, (total + m) / step, target), weight) for m in mixable]
        chosen = int(np.argmin(found))
        total = total + mixable[chosen]
        counts[chosen] += 1
        if found[chosen] < least:
            best, least = counts / step, found[chosen]
    return best


def hedged(
    output: Output, scores: Mapping[str, Array], weights: dict[str, float], target: Array, rows: int
) -> dict[str, float]:
    r"""``weights`` of classes from ``rows`` labels, of which a part moves to members that are hardly worse.

    Few labels cannot distinguish good members: several may predict all of them correctly. With :math:`n`
    labels, a part :math:`20 / (n + 20)` of the weight is shared in proportion to :math:`\exp(-z^2 / 2)`.
    There, :math:`2 z` is the difference of a member's Brier score to the least one, in standard errors.
    """
    if output.kind != "classes":
        return weights
    losses = np.stack([_mixed_losses(output, _mixable(output, s), target) for s in scores.values()], 1)
    mean = losses.mean(0)
    error = (losses - losses[:, [int(mean.argmin())]]).std(0) / rows**0.5
    near = np.exp(-(((mean - mean.min()) / (2 * np.maximum(error, 0.5 / rows))) ** 2) / 2)
    part = _HEDGE / (rows + _HEDGE)
    shares = dict(zip(scores, part * near / near.sum(), strict=True))
    moved = {name: float((1 - part) * weights.get(name, 0.0) + shares[name]) for name in scores}
    kept = {name: w for name, w in moved.items() if w >= _LEAST}
    return {name: w / sum(kept.values()) for name, w in kept.items()}


def guarded(
    output: Output, scores: Mapping[str, Array], weights: dict[str, float], target: Array, weight: Array
) -> dict[str, float]:
    """``weights``, or the one member that beats the average by a standard error (on few rows, two).

    Its loss must be at most that of the average too: of many members, the most accurate one may be a
    standard error ahead by chance.
    """
    blend = output.blend([scores[n] for n in weights], list(weights.values()))
    name = max(scores, key=lambda n: _mean(output.hits(scores[n], target), weight))
    gain = output.hits(scores[name], target) - output.hits(blend, target)
    share = weight / max(weight.sum(), 1e-12)
    mean = float((share * gain).sum())
    error = float(np.sqrt((share**2 * (gain - mean) ** 2).sum()))
    errors = 1.0 if len(target) >= _MANY else 2.0
    own, others = (
        _mean(_mixed_losses(output, _mixable(output, s), target), weight) for s in (scores[name], blend)
    )
    return {name: 1.0} if mean > max(errors * error, 1e-9) and own <= others else weights


def shrunk(
    output: Output, scores: Mapping[str, Array], weights: dict[str, float], target: Array, weight: Array
) -> dict[str, float]:
    r"""``weights`` of numbers, a part of which moves to the first member, their mean.

    With many members, one may fit noise by chance. With the slope :math:`b` of the target on the average and
    its standard error :math:`s`, the average counts by :math:`1 - 4 s^2 / b^2` (after James and Stein): if
    the slope is within two standard errors of 0, the average gets no weight; if the error is small, it keeps
    most.
    """
    if output.kind != "numbers":
        return weights
    blend = output.blend([scores[n] for n in weights], list(weights.values()))
    values, known = output.matrix(target)
    share = known * weight[:, None]
    size = max(float((share * blend**2).sum()), 1e-12)
    slope = float((share * blend * values).sum()) / size
    error = float(np.sqrt(((share * blend * (values - slope * blend)) ** 2).sum())) / size
    kept = max(0.0, 1 - 4 * error**2 / slope**2) if slope > 0 else 0.0
    mean = next(iter(scores))
    moved = {name: kept * w for name, w in weights.items() if kept > 0}
    moved[mean] = moved.get(mean, 0.0) + 1 - kept
    return moved


def class_bias(output: Output, scores: Array, target: Array, weight: Array) -> Array:
    """``[width]`` added to log-probabilities before the largest is chosen.

    Rare classes are hardly ever the most probable. So classes are chosen by probability divided by a power of
    their share: the power with the best sum of accuracy and macro-F1 on held-out rows, if accuracy falls by
    at most half its standard error on these rows, and by at most a quarter in expectation. The expectation is
    the mean probability of the chosen classes, which varies far less than the accuracy.
    """
    nothing = np.zeros(output.width)
    if output.kind != "classes" or len(target) < _FEW:
        return nothing
    share = np.maximum(output.matrix(target)[0].mean(0), 0.5 / len(target))
    hits = output.hits(scores, target)
    plain = _mean(hits, weight)
    error = float(np.sqrt(plain * (1 - plain) / len(target)))
    sure = _mean(np.exp(scores.max(1)), weight)
    best, chosen = plain + macro_f1(target, scores.argmax(1), output.width, weight), nothing
    for power in _BALANCE:
        bias = -power * np.log(share)
        accuracy = _mean(output.hits(scores + bias, target), weight)
        both = accuracy + macro_f1(target, (scores + bias).argmax(1), output.width, weight)
        chance = np.take_along_axis(scores, (scores + bias).argmax(1)[:, None], 1)[:, 0]
        cost = sure - _mean(np.exp(chance), weight)
        if cost <= error / 4 and accuracy >= plain - error / 2 and both > best + 1e-9:
            best, chosen = both, bias
    return chosen


def _mixable(output: Output, scores: Array) -> Array:
    """Scores whose mean is the blend."""
    if output.kind == "classes":
        return np.exp(scores).astype(np.float32)
    return (1 / (1 + np.exp(-scores))).astype(np.float32) if output.kind == "labels" else scores


def _mixed_losses(output: Output, mean: Array, target: Array) -> Array:
    if output.kind == "classes":
        return (mean**2).sum(1) - 2 * np.take_along_axis(mean, target[:, None], 1)[:, 0] + 1
    if output.kind == "labels":
        mean = (1 - _FLOOR) * mean + _FLOOR / 2
    return output.losses(output.from_shares(mean), target)


def _mean(values: Array, weight: Array) -> float:
    return float((values * weight).sum() / max(weight.sum(), 1e-12))
