"""Which rank sends which rows to which rank: the halo of a shard."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ehnn._utils.cached import cached_tensors
from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import selection
from ehnn.ops import segment_sum

from .ranks import Ranks


@dataclass(frozen=True, eq=False)
class Plan:
    """Rows that this rank owns and *ghosts*: rows of other ranks that it reads or adds to.

    `with_ghosts` brings the values of the ghosts here; `fold`, its transpose, brings values made here for the
    ghosts to their owners and adds them up. Each is one all-to-all, and the backward pass of the other.

    Attributes:
        own: number of rows owned.
        sends: ``[sent]`` the own rows that are sent, sorted by receiver.
        send, receive: rows sent to and received from each rank by `with_ghosts`.
        owner: ``[ghosts]`` rank that owns each ghost, ascending.
        remote: ``[ghosts]`` number of the ghost among the rows of its owner.
    """

    ranks: Ranks
    own: int
    sends: Tensor
    send: tuple[int, ...]
    receive: tuple[int, ...]
    owner: Tensor
    remote: Tensor

    @property
    def ghosts(self) -> int:
        return self.remote.shape[0]

    @cached_tensors
    def touched(self) -> tuple[Tensor, SparsePattern]:
        """Own rows that are ghosts of other ranks, ascending, and ``SparsePattern`` of these × sent rows."""
        rows, place = torch.unique(self.sends, return_inverse=True)
        return rows, selection(place, rows.shape[0]).transpose()

    def with_ghosts(self, *values: Tensor) -> tuple[Tensor, ...]:
        """``[own, …] → [own + ghosts, …]`` for tensors of one dtype, in one exchange."""
        return _WithGhosts.apply(self, *values)

    def fold(self, rows: Tensor) -> Tensor:
        """``[own + ghosts, …] → [own, …]``: own rows, with what other ranks hold for them added *in place*.

        The transpose of `with_ghosts`; not differentiable.
        """
        return self.fold_all(rows)[0]

    def fold_all(self, *values: Tensor) -> tuple[Tensor, ...]:
        """`fold` for tensors of one dtype, in one exchange."""
        if self.ranks.size == 1:
            return values
        theirs = self.hand_over(_side_by_side([v[self.own :] for v in values]))
        rows, pairs = self.touched
        parts = segment_sum(theirs, pairs).split([_width(v) for v in values], 1)
        own = tuple(v[: self.own] for v in values)
        for v, part in zip(own, parts, strict=True):
            v.index_add_(0, rows, part.reshape(-1, *v.shape[1:]))
        return own

    def hand_over(self, rows: Tensor) -> Tensor:
        """``[ghosts, …] → [sent rows, …]``: what each rank has for rows of this one; not differentiable."""
        return self.ranks.exchange(rows, self.receive, self.send)

    def known(self, values: Tensor) -> Tensor:
        """``[own, …] → [own + ghosts, …]``: constants, as they are whatever the wire; not differentiable."""
        sent = _side_by_side([values.index_select(0, self.sends)]).view(torch.uint8)
        ghosts = self.ranks.exchange(sent, self.send, self.receive).view(values.dtype)
        return torch.cat([values, ghosts.reshape(-1, *values.shape[1:])])

    def counted(self, counts: Tensor) -> Tensor:
        """``[own + ghosts, …]``: integers of each row, added up over all ranks; not differentiable."""
        own, theirs = counts[: self.own], self.hand_over(counts[self.own :])
        return self.known(own.index_add(0, self.sends, theirs))

    def renumbered(self, place: Tensor, own: int) -> Plan:
        """The same exchange where own row i is now row ``place[i]`` of ``own``."""
        return dataclasses.replace(self, own=own, sends=place[self.sends])

    def behind(self, counts: Sequence[int]) -> Plan:
        """The same exchange where ``counts[p]`` other rows stand before the own rows of each rank p."""
        here = counts[self.ranks.rank]
        before = torch.tensor(counts, device=self.remote.device)
        remote = self.remote + before[self.owner]
        return dataclasses.replace(self, own=self.own + here, sends=self.sends + here, remote=remote)

    def refined(self, keys: Tensor, here: int, base: int) -> tuple[Plan, Tensor]:
        """The exchange of parts of rows: part p of row r has the key r · ``base`` + p. A collective.

        ``keys`` ascend; the first ``here`` are of own rows, the others are of ghosts. Returns the plan and
        the keys of its own rows: those, and what other ranks have of them.
        """
        row, part = torch.div(keys[here:], base, rounding_mode="floor") - self.own, keys[here:] % base
        owner, remote = self.owner[row], self.remote[row] * base + part
        wanted, send, receive = ask(self.ranks, owner, remote)
        own = torch.unique(torch.cat([keys[:here], wanted]))
        sends = torch.searchsorted(own, wanted)
        return Plan(self.ranks, own.shape[0], sends, send, receive, owner, remote), own

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Plan:
        tensors = (self.sends, self.owner, self.remote)
        sends, owner, remote = (t.to(device, non_blocking=non_blocking) for t in tensors)
        return dataclasses.replace(self, sends=sends, owner=owner, remote=remote)


def ask(ranks: Ranks, owner: Tensor, wanted: Tensor) -> tuple[Tensor, tuple[int, ...], tuple[int, ...]]:
    """Tell every owner what is wanted of it; both ``[ghosts]``, ``owner`` ascending.

    Returns what the others want of this rank (in order of rank), how many rows go to each, and how many
    come from each.
    """
    receive = torch.bincount(owner, minlength=ranks.size)
    ones = [1] * ranks.size
    send = tuple(ranks.exchange(receive, ones, ones).tolist())
    received = tuple(receive.tolist())
    return ranks.exchange(wanted, received, send), send, received


def make_plan(ranks: Ranks, own: int, owner: Tensor, remote: Tensor) -> Plan:
    """The plan of a rank that needs row ``remote[i]`` of rank ``owner[i]`` (ascending). A collective."""
    wanted, send, receive = ask(ranks, owner, remote)
    return Plan(ranks, own, wanted, send, receive, owner, remote)


class _WithGhosts(torch.autograd.Function):
    """Own rows, then ghosts."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, *values: Tensor) -> tuple[Tensor, ...]:
        ctx.plan = plan
        if plan.ranks.size == 1:
            return tuple(v.view_as(v) for v in values)
        sent = _side_by_side([v.index_select(0, plan.sends) for v in values])
        ghosts = plan.ranks.exchange(sent, plan.send, plan.receive).split([_width(v) for v in values], 1)
        return tuple(torch.cat([v, g.reshape(-1, *v.shape[1:])]) for v, g in zip(values, ghosts, strict=True))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:
        # A copy: what is given to a backward pass may be used elsewhere too.
        return None, *ctx.plan.fold_all(*(g.clone() for g in grads))


def _width(rows: Tensor) -> int:
    return prod(rows.shape[1:])


def _side_by_side(values: Sequence[Tensor]) -> Tensor:
    """``[rows, …]`` tensors as one matrix, so that one exchange serves them all."""
    return torch.cat([v.reshape(v.shape[0], _width(v)) for v in values], 1)
