"""What a layer does along a relation, for relations that choose the order in which rows are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from ehnn.hypergraph import SparsePattern

from .orders import Orders


@dataclass(frozen=True, eq=False)
class Steps:
    """From rows of sources to rows of groups and members. What is done before and after sums is row by row.

    Attributes:
        before: x and orders of sources → rows that are added up.
        local: a pattern of groups × sources and those rows → rows of groups.
        everywhere: those rows → rows of members; None without 𝓘 = 0.
        after: rows of groups and members, and their sizes → the result.
    """

    before: Callable[[Tensor, Orders], Tensor]
    local: Callable[[SparsePattern, Tensor], Tensor]
    everywhere: Callable[[Tensor], Tensor] | None
    after: Callable[[Tensor, Orders], Tensor]


class OwnOrder:
    """A relation that makes rows in an order of its own: `ehnn.parallel` makes some while others travel."""

    @property
    def travels(self) -> bool:
        """Whether rows travel, so that there is an order to choose."""
        raise NotImplementedError

    def through(self, x: Tensor, steps: Steps) -> Tensor:
        """``[num_sources, d] → [num_groups (+ num_members), d]``: the steps of a layer."""
        raise NotImplementedError
