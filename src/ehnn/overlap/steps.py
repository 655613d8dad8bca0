"""The steps of a layer, for relations that choose the order in which rows are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from ehnn.hypergraph import SparsePattern

from .orders import Orders


@dataclass(frozen=True, eq=False)
class LayerSteps:
    """The functions by which a layer takes rows of sources to rows of groups and members.

    Attributes:
        before: x and the orders of sources → rows to be summed. It treats each row by itself.
        local: a pattern of groups × sources and those rows → rows of groups, the terms of 𝓘 ≥ 1.
        everywhere: those rows → rows of members, the terms of 𝓘 = 0; None without them.
        after: rows of groups and members, and their sizes → the result. It treats each row by itself.
    """

    before: Callable[[Tensor, Orders], Tensor]
    local: Callable[[SparsePattern, Tensor], Tensor]
    everywhere: Callable[[Tensor], Tensor] | None
    after: Callable[[Tensor, Orders], Tensor]


class OwnSchedule:
    """A relation that runs the steps: `ehnn.parallel` computes some rows while others are exchanged."""

    @property
    def exchanges_rows(self) -> bool:
        """Whether ranks exchange rows, so that there is an order to choose."""
        raise NotImplementedError

    def run_steps(self, x: Tensor, steps: LayerSteps) -> Tensor:
        """``[num_sources, d] → [num_groups (+ num_members), d]``."""
        raise NotImplementedError
