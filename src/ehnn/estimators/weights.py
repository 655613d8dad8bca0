"""Weights of rows and of classes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph

from .labels import as_list, has_names, plain, plain_class
from .targets import Classes, Targets

_FAR = 1e6
"""Weights are used as they are if the largest is between this and its inverse."""


def warn_unread(h: Hypergraph, model: Any) -> None:
    """A warning where ``h`` has weights of hyperedges or incidences, which the model does not read."""
    found = [name for name in ("edge_weight", "incidence_weight") if getattr(h, name) is not None]
    if found:
        told = short(model) if isinstance(model, str) else "a model of your own"
        warnings.warn(
            f"{' and '.join(found)} of the hypergraph: {told} does not read weights; EHNN and model='auto' "
            "of the estimators of nodes, hyperedges and incidences do",
            stacklevel=4,
        )


def check_weights(h: Hypergraph, model: Any) -> None:
    """A ValueError for weights of hyperedges or incidences that are all 0; "auto" takes none below 0."""
    for name in ("edge_weight", "incidence_weight"):
        weight = getattr(h, name)
        if weight is None:
            continue
        if model == "auto" and bool((below := weight < 0).any()):
            row = int(below.nonzero()[0])
            raise ValueError(f"{name} must not be negative, got {float(weight[row]):g} in row {row}")
        if len(weight) and not bool(weight.any()):
            raise ValueError(f"{name} is 0 in all {len(weight)} rows: no hyperedge would count")


def in_order_of(y: Any, given: Any, name: str = "sample_weight") -> Any:
    """What is ``given`` with names (called ``name``) in the order of ``y``, where that has some; else as is.

    Names are the keys of a mapping, or the index of a Series that has one of its own.
    """
    named = [isinstance(one, Mapping) or has_names(one) for one in (y, given)]
    if not all(named):
        return given
    names, own = (list(one) if isinstance(one, Mapping) else one.index.tolist() for one in (y, given))
    if names == own:  # here a name may be there twice
        return list(given.values()) if isinstance(given, Mapping) else given
    weights = dict(given.items())
    if len(weights) < len(given):
        raise ValueError(f"{name} must have each name once, or those of y in the same order")
    missing = [row for row in names if row not in weights]
    if missing:
        told = f"{short(missing[0])} and {len(missing) - 1} more have none"
        raise ValueError(f"{name} must have one row for each label: {told}")
    return [weights[row] for row in names]


def row_weights(given: Any, rows: int) -> np.ndarray | None:
    """``[rows]`` float32 of a ``sample_weight``; a ValueError for what is no weight.

    Weights far from 1 are divided by the largest: single precision and sums of losses have limits.
    """
    if given is None:
        return None
    try:
        weight = np.asarray(as_list(given, "sample_weight"), np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}") from error
    if weight.shape != (rows,):
        raise ValueError(f"sample_weight must have one number per row ({rows}), got {list(weight.shape)}")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError("sample_weight must be finite, not negative, and not all zero")
    largest = weight.max()
    return (weight if 1 / _FAR < largest < _FAR else weight / largest).astype(np.float32)


def counted(
    targets: Targets, target: Tensor, rows: np.ndarray | None, by_class: Any
) -> tuple[Tensor, np.ndarray | None]:
    """The labels that count, and ``[rows]`` float32: ``sample_weight`` times ``class_weight``.

    Their mean over the labels is 1, so that only their ratios count. They are None where neither is given. A
    label whose ``sample_weight`` is 0 is hidden: it is no input of others either. A ValueError where no row
    with a label is left.
    """
    target = target if rows is None else targets.hide(target, torch.from_numpy(rows > 0))
    given = [weight for weight in (rows, class_weights(by_class, targets, target)) if weight is not None]
    if not given:
        return target, None
    found, labelled = np.prod(given, 0, dtype=np.float64), targets.labelled(target).numpy()
    if not found[labelled].any():
        raise ValueError("sample_weight and class_weight must be above 0 for a row with a label")
    return target, (found / found[labelled].mean()).astype(np.float32)


def score_weights(given: Any, labelled: Tensor, row: str) -> Tensor:
    """``[rows]`` float64 of the ``sample_weight`` of a score, ones where there is none.

    A ValueError where no row with a label counts; ``row`` is what a row is.
    """
    weight = row_weights(given, len(labelled))
    found = torch.ones(len(labelled)) if weight is None else torch.from_numpy(weight)
    if not bool((found * labelled).any()):
        told = "has a label" if weight is None else "has a label and a sample_weight above 0"
        raise ValueError(f"there is nothing to score: not one {row} {told}")
    return found.double()


def class_weights(given: Any, targets: Targets, target: Tensor) -> np.ndarray | None:
    """``[rows]`` float64 of a ``class_weight``; rows without a label get 0."""
    if given is None:
        return None
    if not isinstance(targets, Classes):
        raise ValueError("class_weight is for one class per row; for several labels use sample_weight")
    known = target.numpy()
    count = np.bincount(known[known >= 0], minlength=targets.num_outputs)
    if isinstance(given, str) and given == "balanced":
        each = count.sum() / np.maximum(count, 1) / len(count)
    elif isinstance(given, Mapping):
        wrong = [v for v in given.values() if not isinstance(plain(v), (int, float))]
        if wrong:
            raise ValueError(f"class_weight must map classes to numbers, got {short(wrong[0])}")
        named = {plain_class(plain(k)): float(v) for k, v in given.items()}
        unknown = [k for k in named if k not in targets.classes]
        if unknown:
            raise ValueError(
                f"class_weight has {short(unknown[0])}, which is not one of the classes "
                f"{short(list(targets.classes))}"
            )
        if any(not np.isfinite(v) or v < 0 for v in named.values()):
            raise ValueError(f"class_weight must map classes to weights ≥ 0, got {short(given)}")
        each = np.array([named.get(c, 1.0) for c in targets.classes])
    else:
        raise ValueError(f"class_weight must be a mapping, 'balanced' or None, got {short(given)}")
    return np.where(known >= 0, each[np.maximum(known, 0)], 0.0)
