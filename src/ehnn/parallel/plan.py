"""Who sends which rows to whom: the halo of a shard."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import Pairs
from ehnn.hypergraph.kept import kept_property
from ehnn.hypergraph.pairs import selection
from ehnn.ops import segment_sum

from .ranks import Ranks


@dataclass(frozen=True, eq=False)
class Plan:
    """Rows that this rank owns and *ghosts*: rows of other ranks that it reads or adds to.

    `fetch` brings the values of the ghosts here; `deliver`, its transpose, brings values made here for
    the ghosts to their owners and adds them up. Both are one all-to-all and differentiable, and the
    backward pass of each is the other.

    Attributes:
        own: number of rows owned.
        sends: ``Pairs`` of sent rows (sorted by receiver) × own rows.
        send, receive: rows sent to and received from each rank by `fetch`.
        owner: ``[ghosts]`` rank that owns each ghost, ascending.
        remote: ``[ghosts]`` number of the ghost among the rows of its owner.
    """

    ranks: Ranks
    own: int
    sends: Pairs
    send: tuple[int, ...]
    receive: tuple[int, ...]
    owner: Tensor
    remote: Tensor

    @property
    def ghosts(self) -> int:
        return self.remote.shape[0]

    @kept_property
    def returns(self) -> Pairs:
        """``Pairs`` of own rows × sent rows."""
        return self.sends.transpose()

    def fetch(self, x: Tensor) -> Tensor:
        """``[own, …] → [ghosts, …]``: the values of the ghosts."""
        return _Swap.apply(segment_sum(x, self.sends), self.ranks, self.send, self.receive)

    def deliver(self, partial: Tensor) -> Tensor:
        """``[ghosts, …] → [own, …]``: for each row, the sum of what the other ranks hold for it."""
        return segment_sum(self.hand_over(partial), self.returns)

    def hand_over(self, partial: Tensor) -> Tensor:
        """``[ghosts, …] → [sent rows, …]``: `deliver` before the sum."""
        return _Swap.apply(partial, self.ranks, self.receive, self.send)

    def renumbered(self, place: Tensor, own: int) -> Plan:
        """The same exchange where own row i is now row ``place[i]`` of ``own``."""
        return dataclasses.replace(self, own=own, sends=selection(place[self.sends.index], own))

    def behind(self, counts: Sequence[int]) -> Plan:
        """The same exchange where ``counts[p]`` other rows stand before the own rows of each rank p."""
        here = counts[self.ranks.rank]
        before = torch.tensor(counts, device=self.remote.device)
        moved = selection(self.sends.index + here, self.own + here)
        remote = self.remote + before[self.owner]
        return dataclasses.replace(self, own=self.own + here, sends=moved, remote=remote)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Plan:
        owner, remote = (t.to(device, non_blocking=non_blocking) for t in (self.owner, self.remote))
        sends = self.sends.to(device, non_blocking)
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
    return Plan(ranks, own, selection(wanted, own), send, receive, owner, remote)


class _Swap(torch.autograd.Function):
    """All-to-all of rows; its gradient is the all-to-all in the other direction."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: Ranks, send: Any, receive: Any) -> Tensor:
        ctx.way = ranks, receive, send
        return ranks.exchange(x, send, receive)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Swap.apply(grad, *ctx.way), None, None, None
