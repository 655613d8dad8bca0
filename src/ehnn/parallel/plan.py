"""Which rank sends which rows to which rank: the halo of a shard."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ehnn._utils.cached import cached_tensors, plain_tensors
from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import selection
from ehnn.ops import segment_sum

from .exchange import Exchange, PendingRows, append_ghosts, side_by_side
from .ranks import Ranks

FEW = 16
"""If a rank has more own rows than this for each row that is exchanged, it computes all of them together: to
copy them once more would take longer than to wait."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Rows that this rank owns and *ghosts*: rows of other ranks that it reads or adds to.

    `with_ghosts` brings the values of the ghosts here; `fold`, its transpose, brings values made here for the
    ghosts to their owners and adds them up. Each is one all-to-all, and the backward pass of the other.
    `send_out` and `send_home` only start them.

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

    @cached_tensors
    def alone(self) -> int:
        """The number of own rows before the first one that is a ghost of another rank."""
        return int(self.sends.min()) if len(self.sends) else self.own

    @property
    def ahead(self) -> int:
        """The number of `alone` rows that are computed during the exchange; 0 if few rows are exchanged."""
        return self.alone if FEW * (self.ghosts + len(self.sends)) >= self.own else 0

    @cached_tensors
    def _sent(self) -> dict[int, SparsePattern]:
        """By ``first``: ``SparsePattern`` of sent rows × own rows from ``first`` on."""
        return {}

    def with_ghosts(self, *values: Tensor) -> tuple[Tensor, ...]:
        """``[own, …] → [own + ghosts, …]`` for tensors of one dtype, in one exchange."""
        return values if self.ranks.size == 1 else append_ghosts(values, self.send_out(*values))

    def send_out(self, *values: Tensor, first: int = 0) -> PendingRows:
        """Start to send own rows to where they are ghosts; ``values`` have the own rows from ``first`` on."""
        if first not in self._sent:
            with plain_tensors():
                self._sent[first] = selection(self.sends - first, self.own - first)
        sent = [segment_sum(v, self._sent[first]) for v in values]
        return PendingRows(sent, Exchange(self.ranks, self.send, self.receive))

    def send_home(self, ghosts: Tensor) -> PendingRows:
        """Start to send ``[ghosts, …]`` what this rank has for rows of others."""
        return PendingRows([ghosts], Exchange(self.ranks, self.receive, self.send))

    def fold(self, rows: Tensor) -> Tensor:
        """``[own + ghosts, …] → [own, …]``: own rows, with what other ranks hold for them added."""
        if self.ranks.size == 1:
            return rows
        own, ghosts = rows.split([self.own, self.ghosts])
        return self.folded(own, self.send_home(ghosts))

    def folded(self, own: Tensor, pending: PendingRows, first: int = 0) -> Tensor:
        """The own rows from ``first`` on, with what arrives for them added."""
        rows, pairs = self.touched
        return own.index_add(0, rows - first, segment_sum(pending.wait()[0], pairs))

    def hand_over(self, rows: Tensor) -> Tensor:
        """``[ghosts, …] → [sent rows, …]``: what each rank has for rows of this one; not differentiable."""
        return self.ranks.exchange(rows, self.receive, self.send)

    def known(self, values: Tensor) -> Tensor:
        """``[own, …] → [own + ghosts, …]``: constants, sent without rounding; not differentiable."""
        sent = side_by_side([values.index_select(0, self.sends)]).view(torch.uint8)
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
        """The same exchange where ``counts[p]`` other rows come before the own rows of each rank p."""
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
    """Ask every owner for the rows ``wanted``; both ``[ghosts]``, ``owner`` ascending.

    Returns the rows that others ask of this rank (in order of rank), how many rows go to each, and how many
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
