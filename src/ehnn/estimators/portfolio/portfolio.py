"""Members are compared on labels that they were not trained on; the good ones are averaged."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ehnn._utils.threads import threads_with_cores
from ehnn.training import Progress

from .budget import Clock
from .folds import FEW, Folds
from .linear import search_rows
from .members import Member, Spec
from .metrics import summary
from .outputs import SALT, Output
from .selection import class_bias, greedy, guarded, hedged, hopeless, shrunk, temperature

Array = np.ndarray


@dataclass
class Portfolio:
    """An average of members with weights from cross-validation.

    Attributes:
        members: name → its fitted models: one, or one for each fold.
        weights: name → weight.
        new_weights: name → weight, for rows whose co-members fit did not see: members with ``new_rows`` only.
        powers: name → inverse temperature.
        leaderboard: a row for each member that was tried, and one for the average. A member that was given up
            early has the figures of the folds that it was fitted on.
        left_out: name → why a member was not tried or not finished: ``budget``, ``time`` (the clock stopped
            it) or ``behind`` (far worse than another).
        prior: ``[width]`` shares of the classes in fit.
        bias: ``[width]`` of the classes in decisions; see `class_bias`.
    """

    output: Output
    device: str = "cpu"
    seed: int = 0
    members: dict[str, list[Member]] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    new_weights: dict[str, float] = field(default_factory=dict)
    powers: dict[str, float] = field(default_factory=dict)
    leaderboard: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    prior: Array = field(default_factory=lambda: np.zeros(0))
    bias: Array = field(default_factory=lambda: np.zeros(0))

    def fit(
        self,
        table: Any,
        specs: Sequence[Spec],
        target: Array,
        *,
        weight: Array | None = None,
        clock: Clock,
        groups: Array | None = None,
        judging: Array | None = None,
        label: str = "portfolio",
        quiet: bool = True,
    ) -> Portfolio:
        """Try the members in order as long as the budget allows, and fit the chosen ones.

        Args:
            table: with `with_known`, `matrix` and ``rows``, such as `NodeTable`.
            specs: simple ones first.
            target: encoded; see `Output`.
            weight: ``[rows]`` of the rows.
            groups: ``[rows]``: rows of one group are in one fold.
            judging: ``[rows]`` bool: labels that compare the members and do not train them; None: drawn.
        """
        folds = Folds.draw(self.output, target, weight, self.seed, groups, judging)
        self.prior = self.output.prior(target[folds.rows], None if weight is None else weight[folds.rows])
        tables = [self.known(table, target, rows) for rows in folds.train]
        tried: dict[str, tuple[Spec, list[Member], Array]] = {}
        with Progress(label, len(specs) + 1, quiet=quiet, unit="model") as progress:
            for number, spec in enumerate(specs):
                found = self._crossed(spec, tables, folds, target, weight, clock, tried)
                if isinstance(found, str):
                    self.left_out[spec.name] = found
                else:
                    tried[spec.name] = found
                progress.update(number + 1)
            self._choose({name: scores for name, (_, _, scores) in tried.items()}, tried, folds)
            whole = self.known(table, target, folds.rows)
            for name in {**self.weights, **self.new_weights}:
                spec, models, _ = tried[name]
                again = not folds.train or (judging is None and not spec.bagged)
                self.members[name] = [self._fitted(spec, whole, folds.rows, weight, 0)] if again else models
            progress.update(len(specs) + 1)
        late = [name for name, why in self.left_out.items() if why == "time"]
        if late and not quiet:
            print(
                f"{label}: out of time after {clock.passed:.0f} s, without {', '.join(late)}", file=sys.stderr
            )
        return self

    def known(self, table: Any, target: Array, rows: Array) -> Any:
        """``table`` with the labels of ``rows`` (numbers) known."""
        keep = np.zeros(len(target), bool)
        keep[rows] = True
        return table.with_known(self.output, self.output.hide(target, keep), self.prior)

    def _crossed(
        self, spec: Spec, tables: list[Any], folds: Folds, target: Array, weight: Array | None, clock: Clock,
        tried: Mapping[str, tuple[Spec, list[Member], Array]],
    ) -> tuple[Spec, list[Member], Array] | str:  # fmt: skip
        """A member fitted on each fold, and calibrated scores of the rows outside; or why it is left out.

        It is ``behind`` where it is far behind one of those that were ``tried``, on its first rows.
        """
        again = 0 if spec.bagged else 1
        if not spec.always and not clock.room(spec.seconds * (len(tables) + again)):
            return "budget"
        start, models = clock.passed, []
        scores = np.zeros((len(folds.checked), self.output.width))
        if spec.kind == "linear" and tables:
            spec = self._tuned(spec, tables, folds, weight)
        clock.spent += spec.seconds * again
        for number, (known, train, asked) in enumerate(zip(tables, folds.train, folds.asked, strict=True)):
            if not spec.always and clock.late:
                return "time"
            member = self._fitted(spec, known, train, weight, number)
            scores[folds.place[number]] = member.scores(known, asked)
            models.append(member)
            clock.spent += spec.seconds
            if spec.always or number + 1 == len(tables):
                continue
            done = np.concatenate(folds.place[: number + 1])
            rivals = [other[done] for _, _, other in tried.values()]
            if hopeless(self.output, scores[done], rivals, folds.goal[done]):
                clock.spent -= spec.seconds * again
                self._give_up(spec, scores[done], folds.goal[done], clock.passed - start)
                return "behind"
        goal, share = target[folds.checked], folds.weight
        self.powers[spec.name] = temperature(self.output, scores, goal, share)
        scores = self.output.sharpen(scores, self.powers[spec.name])
        row = {"member": spec.name, **summary(self.output, scores, goal, share)}
        self.leaderboard.append(row | {"seconds": round(clock.passed - start, 3)})
        return spec, models, scores

    def _give_up(self, spec: Spec, scores: Array, goal: Array, seconds: float) -> None:
        """Keep the figures of a member on the rows that it was tried on."""
        figures = summary(self.output, scores, goal, np.ones(len(goal)))
        self.leaderboard.append({"member": spec.name, **figures, "seconds": round(seconds, 3)})

    def _fitted(self, spec: Spec, table: Any, rows: Array, weight: Array | None, number: int) -> Member:
        with threads_with_cores():
            return Member(spec, self.output, self.device).fit(table, rows, weight, self.seed + number)

    def _tuned(self, spec: Spec, tables: list[Any], folds: Folds, weight: Array | None) -> Spec:
        """The spec with the best penalty: from 1, down or up as long as the loss falls.

        With few rows the loss is that of all folds, with many that of the first. Fits end early, and slow
        ones use a part of the rows.
        """
        kept = [_drawn(rows, search_rows(len(rows), spec.seconds), self.seed) for rows in folds.train]
        used = len(tables) if len(folds.rows) < FEW else 1
        end = sum(map(len, folds.place[:used]))
        goal, share = folds.goal[:end], folds.weight[:end]
        losses: dict[float, float] = {}

        def loss(strength: float) -> float:
            if strength not in losses:
                trial = spec.with_options(strength=strength, rough=True)
                parts = zip(tables[:used], kept, folds.asked, strict=False)
                found = [self._fitted(trial, t, rows, weight, 0).scores(t, asked) for t, rows, asked in parts]
                scores = np.concatenate(found)
                power = temperature(self.output, scores, goal, share)
                each = self.output.losses(self.output.sharpen(scores, power), goal)
                losses[strength] = float((each * share).sum() / max(float(share.sum()), 1e-12))
            return losses[strength]

        for factor in (0.1, 10.0):
            strength = 1.0
            while 1e-4 < strength < 1e3 and loss(strength * factor) < loss(strength):
                strength *= factor
            if strength != 1.0:
                break
        return spec.with_options(strength=min(losses, key=losses.__getitem__))

    def _choose(self, scores: Mapping[str, Array], tried: Mapping[str, Any], folds: Folds) -> None:
        goal, self.bias = folds.goal, np.zeros(self.output.width)
        if not len(goal):  # too few labels to compare: the first member
            self.weights = self.new_weights = {next(iter(tried)): 1.0}
            return
        chosen = greedy(self.output, scores, goal, folds.weight, self.seed)
        chosen = hedged(self.output, scores, chosen, goal, len(folds.rows))
        chosen = guarded(self.output, scores, chosen, goal, folds.weight)
        self.weights = shrunk(self.output, scores, chosen, goal, folds.weight)
        new = {name: s for name, s in scores.items() if tried[name][0].new_rows} or scores
        chosen = greedy(self.output, new, goal, folds.weight, self.seed)
        self.new_weights = shrunk(self.output, new, chosen, goal, folds.weight)
        blend = self.output.blend([scores[n] for n in self.weights], list(self.weights.values()))
        self.bias = class_bias(self.output, blend, goal, folds.weight)
        seconds = round(sum(row["seconds"] for row in self.leaderboard), 3)
        for row in self.leaderboard:
            row["weight"] = round(self.weights.get(row["member"], 0.0), 4)
        self.leaderboard.append(
            {
                "member": "average",
                **summary(self.output, blend, goal, folds.weight, self.bias),
                "seconds": seconds,
                "weight": 1.0,
            }
        )

    def scores(self, table: Any, new: bool = False) -> Array:
        """``[rows, width]`` of a table with known labels.

        ``new``: use only members that do not read labels or spectral features.
        """
        weights = self.new_weights if new else self.weights
        return self.output.blend([self.member_scores(n, table) for n in weights], list(weights.values()))

    def member_scores(self, name: str, table: Any) -> Array:
        """``[rows, width]`` of one member."""
        models = self.members[name]
        mean = self.output.blend([m.scores(table) for m in models], [1 / len(models)] * len(models))
        return self.output.sharpen(mean, self.powers.get(name, 1.0))


def _drawn(rows: Array, count: int, seed: int) -> Array:
    """``count`` of the rows; all of them in their order, if they are not more."""
    if count >= len(rows):
        return rows
    return np.sort(np.random.default_rng([SALT, seed]).permutation(rows)[:count])
