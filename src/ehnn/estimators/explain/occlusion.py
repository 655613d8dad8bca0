"""Copies of a neighbourhood, each without one thing, and what a model says of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.validation import is_missing, short
from ehnn.hypergraph import Hypergraph

from ..labels import plain
from ..targets import Classes, MultiLabel, Targets
from .explanation import Contribution, Explanation
from .near import Near, without

Array = np.ndarray
_INCIDENCES, _CELLS = 200_000, 20_000_000
"""Incidences and numbers of features that are held in copies at once."""


def _none() -> Array:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Change:
    """One thing to leave out.

    Attributes:
        kind, name, detail: as in `Contribution`.
        drop: numbers of incidences of the neighbourhood.
        columns, values: of the features of the row, which are set to ``values``.
        hide: whether the known label of the row is hidden.
    """

    kind: str
    name: Any
    detail: str = ""
    drop: Array = field(default_factory=_none)
    columns: Array = field(default_factory=_none)
    values: Array = field(default_factory=_none)
    hide: bool = False

    def apply(self, h: Hypergraph, node: int) -> Hypergraph:
        """``h`` without it; ``node`` has the features."""
        found = without(h, self.drop)
        if not len(self.columns):
            return found
        assert h.x is not None
        x = h.x.clone() if h.x.is_floating_point() else h.x.double()
        x[node, torch.from_numpy(self.columns)] = torch.from_numpy(self.values).to(x.dtype)
        return found.replace(x=x)


NOTHING = Change("", None)
Score = Callable[[list[Hypergraph], Sequence[Change]], Tensor]
"""Copies and their changes → ``[copies, outputs]`` of the row that is explained."""


def occluded(near: Near, node: int, changes: Sequence[Change], score: Score) -> tuple[Tensor, Tensor]:
    """``[outputs]`` with everything, and ``[changes, outputs]`` without each thing."""
    all_changes = [NOTHING, *changes]
    width = 0 if near.h.x is None else near.h.x.shape[1]
    at_once = min(
        _INCIDENCES // max(1, near.h.num_incidences), _CELLS // max(1, width * near.h.num_nodes)
    )  # fmt: skip
    step = max(1, at_once)
    parts = []
    for i in range(0, len(all_changes), step):
        some = all_changes[i : i + step]
        parts.append(score([change.apply(near.h, node) for change in some], some))
    found = torch.cat(parts).double()
    return found[0], found[1:]


@dataclass(frozen=True)
class Scale:
    """On which scale effects are measured: log-odds of a class or label, or a number.

    Attributes:
        column: of the outputs.
    """

    targets: Targets
    column: int

    @classmethod
    def of(cls, targets: Targets, logits: Tensor, decided: Tensor, target: Any) -> Scale:
        """Of the class ``target``; None: the predicted class, or the label with the largest log-odds."""
        if isinstance(targets, Classes):
            if target is None:
                return cls(targets, int(decided.argmax()))
            wanted = plain(target)
            if is_missing(wanted) or wanted not in targets.classes:
                raise ValueError(
                    f"class {short(wanted)} was not there in fit; known: {short(targets.classes)}"
                )
            return cls(targets, targets.classes.index(wanted))
        if target is None:
            return cls(targets, int(logits.argmax()) if isinstance(targets, MultiLabel) else 0)
        if target in targets.columns:
            return cls(targets, targets.columns.index(target))
        if not isinstance(target, (int, np.integer)) or not 0 <= target < targets.num_outputs:
            names = f" or one of {short(list(targets.columns))}" if targets.columns else ""
            raise ValueError(
                f"target must be a column from 0 to {targets.num_outputs - 1}{names}, got {target!r}"
            )
        return cls(targets, int(target))

    @property
    def unit(self) -> str:
        return "log-odds" if isinstance(self.targets, (Classes, MultiLabel)) else "number"

    @property
    def target(self) -> Any:
        """The class, or the name or the number of the column."""
        names = self.targets.classes if isinstance(self.targets, Classes) else self.targets.columns
        return names[self.column] if names else self.column

    def scores(self, logits: Tensor) -> Tensor:
        """``[rows]`` log-odds or numbers from ``[rows, outputs]``."""
        own = logits[:, self.column].double()
        if isinstance(self.targets, Classes):
            others = logits.double().clone()
            others[:, self.column] = -torch.inf
            return own - others.logsumexp(1)
        if isinstance(self.targets, MultiLabel):
            return own
        return own * self.targets.scale[self.column] + self.targets.mean[self.column]

    def value(self, score: Tensor) -> float:
        """A probability from log-odds; a number stays as it is."""
        return float(score.sigmoid() if self.unit == "log-odds" else score)

    def prediction(self, decided: Tensor) -> Any:
        """The prediction for one row, ``[outputs]``."""
        found = self.targets.predict(decided[None])[0]
        return found[self.column] if np.ndim(found) else found


def explained(
    row: Any, near: Near, node: int, changes: Sequence[Change], score: Score, scale: Scale,
    logits: Tensor, decided: Tensor, untried: dict[str, int],
) -> Explanation:  # fmt: skip
    """The explanation of one row, whose ``[outputs]`` on all the data are ``logits``."""
    base, parts = occluded(near, node, changes, score)
    start, ends = scale.scores(base[None])[0], scale.scores(parts)
    found = [
        Contribution(c.kind, c.name, c.detail, float(start - end), scale.value(end))
        for c, end in zip(changes, ends, strict=True)
    ]
    found.sort(key=lambda c: -abs(c.effect))
    return Explanation(
        row, scale.prediction(decided), scale.target, scale.value(scale.scores(logits[None])[0]), scale.unit,
        tuple(found), None if near.whole else near.h.num_incidences,
        None if near.whole else scale.value(start), tuple((k, n) for k, n in untried.items() if n > 0),
        not isinstance(scale.targets, Classes) and scale.targets.num_outputs > 1,
    )  # fmt: skip
