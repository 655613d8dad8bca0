"""Patterns whose rows or columns live on several ranks; `ehnn.ops` sums over them like over any other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ehnn._utils.cached import keep
from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import OwnSums
from ehnn.hypergraph.weighted import WeightedPattern
from ehnn.ops import segment_softmax_sum, segment_sum
from ehnn.ops.segment_sum import broadcast_rows
from ehnn.ops.segment_sum.weighted import copies

from .exchange import PendingRows, append_ghosts
from .plan import Plan
from .ranks import Ranks
from .softmax import pooled_softmax_sum, pushed_softmax_sum

_INDICES = ("ptr", "index", "t_ptr", "t_index", "t_perm", "rows", "split", "t_split")


class ShardedPairs(OwnSums):
    """This rank's part of a pattern. ``num_rows`` and ``num_cols`` count what the rank owns.

    ``inner`` is the part of the pattern that is computed here, with ghosts after the own rows (or columns).
    ``lengths`` are those of the whole pattern.
    """

    inner: SparsePattern

    def __init__(self, num_rows: int, num_cols: int, inner: SparsePattern, **more: Any) -> None:
        for name, value in {"num_rows": num_rows, "num_cols": num_cols, "inner": inner, **more}.items():
            object.__setattr__(self, name, value)

    def __getattribute__(self, name: str) -> Any:
        if name in _INDICES:
            # Not an AttributeError with silent fallbacks: the indices of one rank would give wrong sums.
            raise ValueError(
                f"a relation that is spread over ranks has no {name!r} of its own; this layer reads indices "
                "directly and cannot run partition-parallel"
            )
        return super().__getattribute__(name)

    def __len__(self) -> int:
        return len(self.inner)


class PushPairs(ShardedPairs):
    """Columns are here, some rows elsewhere: partial sums of ghost rows are sent to their owners.

    Attributes:
        inner: ``SparsePattern`` of (own rows, then ghost rows) × own columns.
        plan: where the ghost rows belong.
    """

    plan: Plan
    total: Tensor

    def __init__(self, inner: SparsePattern, plan: Plan, lengths: Tensor) -> None:
        super().__init__(plan.own, inner.num_cols, inner, plan=plan, total=lengths)

    @property
    def lengths(self) -> Tensor:
        return self.total

    @property
    def t_lengths(self) -> Tensor:
        return self.inner.t_lengths

    def reduce_sum(self, x: Tensor) -> Tensor:
        """`ehnn.ops.segment_sum` over all ranks."""
        return self.plan.fold(segment_sum(x, self.inner))

    def reduce_softmax(self, x: Tensor, logits: Tensor) -> Tensor:
        """`ehnn.ops.segment_softmax_sum` over all ranks."""
        return pushed_softmax_sum(*_weighed(x, logits, self.inner), self.plan)

    def parted(self, first: int, x: Tensor) -> tuple[SparsePattern, SparsePattern]:
        """Start a sum over ``x``. Returns patterns for its ``first`` rows and for the others.

        No other rank adds to the first rows. The sum of the second pattern waits for other ranks.
        """
        plan = self.plan
        early, own, ghosts = segment_sum(x, self.inner).split([first, plan.own - first, plan.ghosts])
        late = partial(plan.folded, own, plan.send_home(ghosts), first)
        done = PendingSum(self.num_cols, self.total[:first], lambda: early)
        return done, PendingSum(self.num_cols, self.total[first:], late)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> PushPairs:
        plan, total = self.plan.to(device, non_blocking), self.total.to(device, non_blocking=non_blocking)
        return PushPairs(self.inner.to(device, non_blocking), plan, total)


class PendingSum(OwnSums):
    """Some rows of a `PushPairs` whose sum has been started. It serves this one sum.

    Attributes:
        lengths: ``[num_rows]`` of the whole pattern.
        rows_of: gives the rows.
    """

    total: Tensor
    rows_of: Callable[[], Tensor]

    def __init__(self, num_cols: int, lengths: Tensor, rows_of: Callable[[], Tensor]) -> None:
        given = {"num_rows": len(lengths), "num_cols": num_cols, "total": lengths, "rows_of": rows_of}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @property
    def lengths(self) -> Tensor:
        return self.total

    def reduce_sum(self, x: Tensor) -> Tensor:
        """The sum that has been started; waits for it if rows of other ranks belong to it."""
        return self.rows_of()


class PullPairs(ShardedPairs):
    """Rows are here, some columns elsewhere: the values of ghost columns are fetched from their owners.

    Attributes:
        inner: ``SparsePattern`` of own rows × (own columns, then ghost columns).
        plan: where the ghost columns come from.
        pending: the values of ghosts that are being sent, for one sum.
    """

    plan: Plan
    pending: PendingRows | None

    def __init__(self, inner: SparsePattern, plan: Plan, pending: PendingRows | None = None) -> None:
        super().__init__(inner.num_rows, plan.own, inner, plan=plan, pending=pending)

    @property
    def lengths(self) -> Tensor:
        return self.inner.lengths

    def reduce_sum(self, x: Tensor) -> Tensor:
        """`ehnn.ops.segment_sum` over all ranks."""
        return segment_sum(self._with_ghosts(x)[0], self.inner)

    def reduce_softmax(self, x: Tensor, logits: Tensor) -> Tensor:
        """`ehnn.ops.segment_softmax_sum` over all ranks."""
        values, s = self._with_ghosts(x, logits)
        return segment_softmax_sum(values, s, self.inner)

    def _with_ghosts(self, *values: Tensor) -> tuple[Tensor, ...]:
        return self.plan.with_ghosts(*values) if self.pending is None else append_ghosts(values, self.pending)

    def sent(self, rows: Tensor, first: int) -> SparsePattern:
        """Start to send ``rows``: own rows from ``first`` on. Returns a pattern for one sum over all rows.

        No other rank needs the rows before.
        """
        made = PullPairs(self.inner, self.plan, self.plan.send_out(rows, first=first))
        return keep(made, inverse_lengths=self.inverse_lengths)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> PullPairs:
        return PullPairs(self.inner.to(device, non_blocking), self.plan.to(device, non_blocking))


class PooledPairs(ShardedPairs):
    """Few rows that every rank has (the members of a batch): sums are all-reduced and replicated.

    Attributes:
        inner: ``SparsePattern`` of rows × own columns.
        lengths: ``[num_rows]`` of the whole pattern.
    """

    ranks: Ranks
    total: Tensor

    def __init__(self, inner: SparsePattern, ranks: Ranks, lengths: Tensor) -> None:
        super().__init__(inner.num_rows, inner.num_cols, inner, ranks=ranks, total=lengths)

    @property
    def lengths(self) -> Tensor:
        return self.total

    def reduce_sum(self, x: Tensor) -> Tensor:
        """`ehnn.ops.segment_sum` over all ranks."""
        return _AllSum.apply(segment_sum(x, self.inner), self.ranks)

    def reduce_softmax(self, x: Tensor, logits: Tensor) -> Tensor:
        """`ehnn.ops.segment_softmax_sum` over all ranks."""
        return pooled_softmax_sum(*_weighed(x, logits, self.inner), self.ranks)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> PooledPairs:
        total = self.total.to(device, non_blocking=non_blocking)
        return PooledPairs(self.inner.to(device, non_blocking), self.ranks, total)


def in_one_row(columns: int, device: torch.device, rows: int = 1) -> SparsePattern:
    """All ``columns`` in the one row (none if there is no row), with shared memory."""
    count, zeros = (
        torch.arange(columns + 1, device=device),
        torch.zeros(columns, dtype=torch.int64, device=device),
    )
    ptr = torch.tensor([0, columns][: rows + 1], device=device)
    return SparsePattern.unchecked(rows, columns, ptr, count[:-1], count, zeros, count[:-1])


def pooled(inner: SparsePattern, ranks: Ranks) -> PooledPairs:
    """`PooledPairs` with the lengths of all ranks. A collective."""
    return PooledPairs(inner, ranks, ranks.sum(inner.lengths))


def _weighed(x: Tensor, logits: Tensor, pairs: SparsePattern) -> tuple[Tensor, Tensor, SparsePattern]:
    """The same softmax sum over pairs without weights: a weight multiplies the term of its pair."""
    if not isinstance(pairs, WeightedPattern):
        return x, logits, pairs
    return copies(x, pairs), broadcast_rows(logits, pairs.columns), pairs.per_row


class _AllSum(torch.autograd.Function):
    """The sum over ranks. Every rank uses it for its own part of the loss, so gradients add up too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: Ranks) -> Tensor:
        ctx.ranks = ranks
        return ranks.sum(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _AllSum.apply(grad, ctx.ranks), None
