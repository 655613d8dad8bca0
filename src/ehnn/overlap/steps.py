"""What a layer does along a relation, so that the relation can choose the order in which rows are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from .orders import Orders

Values = tuple[Tensor, ...]


@dataclass(frozen=True, eq=False)
class Steps:
    """From rows of sources to rows of groups and members. What is done before and after sums is row by row.

    Attributes:
        before: x and orders of sources → the tensors that are added up over groups, and those over members.
        local: a pattern of groups × sources and the first tensors → rows of groups.
        everywhere: the second tensors → rows of members; None without 𝓘 = 0.
        after: rows of groups and members, and their sizes → the result.
    """

    before: Callable[[Tensor, Orders], tuple[Values, Values]]
    local: Callable[..., Tensor]
    everywhere: Callable[..., Tensor] | None
    after: Callable[[Tensor, Orders], Tensor]
