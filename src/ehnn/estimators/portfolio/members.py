"""A member of the portfolio: what it reads, how it learns, and what it predicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..models import NetworkSpec
from .boosting import Boosting
from .ehnn_net import EHNN
from .graph_net import GraphNet
from .linear import Linear
from .nets import MLP, Schedule
from .outputs import Output

Array = np.ndarray


@dataclass(frozen=True)
class Spec:
    """A member before it is fitted.

    Attributes:
        name: in the leaderboard.
        kind: ``prior``, ``shares`` (a block is the prediction), ``evidence``, ``linear``, ``boosting``,
            ``mlp``, ``ehnn`` or ``graph``.
        blocks: of the table that it reads.
        options: arguments of its model.
        new_rows: whether it serves on rows of which nothing was seen in fit: it reads no labels of other
            rows and no spectral coordinates.
        seconds: that one fit takes on one core, roughly, with its share of the columns.
        always: tried within any budget.
    """

    name: str
    kind: str
    blocks: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    new_rows: bool = False
    seconds: float = 0.0
    always: bool = False

    @property
    def bagged(self) -> bool:
        """Whether the models of the folds are kept and averaged; others are fitted again on all labels."""
        return self.kind in ("mlp", "ehnn", "graph")

    def with_options(self, **options: Any) -> Spec:
        return replace(self, options=tuple({**dict(self.options), **options}.items()))


class Member:
    """A fitted `Spec`.

    Attributes:
        model: with ``arrays`` to save; None for members without parameters beyond ``prior``.
        prior: ``[width]``.
    """

    def __init__(self, spec: Spec, output: Output, device: str = "cpu") -> None:
        self.spec, self.output, self.device = spec, output, device
        self.prior = np.zeros(output.width)
        self.model = self._make()

    def _make(self) -> Any:
        options = dict(self.spec.options)
        if "schedule" in options and isinstance(options["schedule"], dict):
            options["schedule"] = Schedule(**options["schedule"])
        kind = self.spec.kind
        if kind == "linear":
            return Linear(self.output, **options)
        if kind == "boosting":
            return Boosting(self.output, **options)
        if kind == "mlp":
            return MLP(self.output, device=self.device, **options)
        if kind == "ehnn":
            plan = NetworkSpec(**options.pop("plan"))
            return EHNN(self.output, plan, device=self.device, **options)
        if kind == "graph":
            plan = NetworkSpec(**options.pop("plan"))
            return GraphNet(self.output, plan, device=self.device, **options)
        return None

    def fit(self, table: Any, rows: Array, weight: Array | None, seed: int) -> Member:
        """Learn from the labelled ``rows`` (numbers), whose labels are ``table.target``."""
        target = table.target
        self.prior = self.output.prior(target[rows], None if weight is None else weight[rows])
        if self.spec.kind == "ehnn":
            self.model.fit(table, self.spec.blocks, target, rows, weight, seed)
        elif self.spec.kind == "graph":
            self.model.fit(table, table.matrix(self.spec.blocks), target, rows, weight, seed)
        elif self.model is not None:
            self.model.fit(table.matrix(self.spec.blocks), target, rows, weight, seed)
        return self

    def scores(self, table: Any, rows: Array | None = None) -> Array:
        """``[rows, width]``; see `Output`. None: all rows."""
        chosen = slice(None) if rows is None else rows
        count = table.rows if rows is None else len(rows)
        if self.spec.kind == "prior":
            return np.repeat(self.output.from_shares(self.prior[None]), count, 0)
        if self.spec.kind == "ehnn":
            return self.model.scores(table, self.spec.blocks)[chosen]
        if self.spec.kind == "graph":
            asked = np.arange(table.rows) if rows is None else rows
            return self.model.scores(table, table.matrix(self.spec.blocks), asked)
        x = table.matrix(self.spec.blocks)[chosen]
        if self.spec.kind == "shares":
            return self.output.from_shares(x[:, : self.output.width].astype(np.float64))
        if self.spec.kind == "evidence":
            return self.output.clean(x.astype(np.float64) + np.log(self.prior))
        return self.model.scores(x)
