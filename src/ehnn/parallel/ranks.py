"""The ranks of a run, and PyTorch's collectives with counted traffic."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from math import prod
from threading import Thread
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

_Found = TypeVar("_Found")
PATIENCE = timedelta(days=1)
"""How long the others wait for what rank 0 does alone."""
WIRES: dict[str, torch.dtype | None] = {"exact": None, "bfloat16": torch.bfloat16}
"""How rows of numbers are sent: exactly, or rounded."""


@dataclass
class Traffic:
    """Bytes that this rank gave to collectives since the last `clear`.

    Attributes:
        exchanged: rows sent to *other* ranks by all-to-all.
        reduced: tensors that were all-reduced (each counted once, whatever the algorithm sends).

    >>> Traffic()
    Traffic(exchanged=0, reduced=0)
    """

    exchanged: int = 0
    reduced: int = 0

    def clear(self) -> None:
        self.exchanged = self.reduced = 0


class Ranks:
    """The ranks of a process group, or a single rank where ``torch.distributed`` was not started.

    Every method is a collective: all ranks call it, in the same order.

    Args:
        group: of ``torch.distributed``; None: all ranks.
        wire: a key of `WIRES`: ``exact``, or ``bfloat16``, which rounds the rows of activations and of their
            gradients that are sent to other ranks, and halves these bytes in float32. Sums over all ranks
            (`sum`, so the gradients of parameters) and log-sum-exps stay exact.

    Attributes:
        ahead: whether layers compute rows that no other rank needs while others are exchanged. False is for
            measurements: ranks then only wait.

    >>> Ranks()
    Ranks(rank 0 of 1)
    """

    def __init__(self, group: Any = None, wire: str = "exact") -> None:
        if wire not in WIRES:
            raise ValueError(f"wire must be one of {tuple(WIRES)}, got {wire!r}")
        self.group, self.traffic, self.wire = group, Traffic(), WIRES[wire]
        alone = not (dist.is_available() and dist.is_initialized())
        self.rank = 0 if alone else dist.get_rank(group)
        self.size = 1 if alone else dist.get_world_size(group)
        self.ahead = True
        self._direct = self.size == 1  # a test of NCCL with one rank sets it to False: collectives are called

    def __repr__(self) -> str:
        return f"Ranks(rank {self.rank} of {self.size})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Ranks:
        return self  # a process group cannot be copied

    def exchange(self, rows: Tensor, send: Sequence[int], receive: Sequence[int]) -> Tensor:
        """``[Σ send, …] → [Σ receive, …]``: the next ``send[p]`` rows go to rank p; theirs come by rank."""
        return self.begin(rows, send, receive)()

    def begin(self, rows: Tensor, send: Sequence[int], receive: Sequence[int]) -> Callable[[], Tensor]:
        """Start an `exchange`; call what is returned to wait for its rows. Do not change ``rows`` before."""
        flat = rows.detach().reshape(rows.shape[0], prod(rows.shape[1:])).contiguous()
        if self._direct or (self.size == 1 and not rows.shape[0]):
            return flat.reshape(rows.shape).clone
        flat = self.on_wire(flat)
        # As bytes: nothing is added up on the way, so one path serves every dtype.
        raw = flat.view(torch.uint8)
        out = raw.new_empty(sum(receive), raw.shape[1])
        work = dist.all_to_all_single(
            out, raw, list(receive), list(send), group=self.group, async_op=True
        )  # fmt: skip
        self.traffic.exchanged += (raw.shape[0] - send[self.rank]) * raw.shape[1]

        def arrived() -> Tensor:
            work.wait()
            return out.view(flat.dtype).reshape(-1, *rows.shape[1:]).to(rows.dtype)

        return arrived

    def on_wire(self, rows: Tensor) -> Tensor:
        """``rows`` in the dtype in which they are sent; integers and bytes are sent as they are."""
        return rows if self.wire is None or not rows.is_floating_point() else rows.to(self.wire)

    def sum(self, values: Tensor) -> Tensor:
        """The sum over ranks of tensors of one shape."""
        return self._reduce(values, dist.ReduceOp.SUM)

    def max(self, values: Tensor) -> Tensor:
        """The elementwise maximum over ranks."""
        return self._reduce(values, dist.ReduceOp.MAX)

    def _reduce(self, values: Tensor, op: Any) -> Tensor:
        out = values.detach().clone(memory_format=torch.contiguous_format)  # NCCL refuses others
        if not self._direct and out.numel():
            dist.all_reduce(out, op, group=self.group)
            self.traffic.reduced += out.numel() * out.element_size()
        return out

    def gather(self, values: Tensor) -> list[Tensor]:
        """The one-dimensional tensors of all ranks, whose lengths may differ."""
        if self._direct:
            return [values]
        lengths = self._gather_equal(values.new_tensor([values.shape[0]], dtype=torch.int64))
        longest = max(int(n) for n in lengths)
        padded = values.new_zeros(longest)
        padded[: values.shape[0]] = values
        return [t[: int(n)] for t, n in zip(self._gather_equal(padded), lengths, strict=True)]

    def _gather_equal(self, values: Tensor) -> list[Tensor]:
        out = [torch.empty_like(values) for _ in range(self.size)]
        dist.all_gather(out, values, group=self.group)
        return out

    def counts(self, value: int, device: torch.device | str = "cpu") -> list[int]:
        """The integers of all ranks."""
        return [int(t) for t in self.gather(torch.tensor([value], device=device))]

    def distinct(self, values: Tensor) -> Tensor:
        """The distinct integers of all ranks together, ascending; of ``[n, k]`` the distinct rows."""
        if values.dim() == 1:
            return torch.unique(torch.cat(self.gather(torch.unique(values))))
        every = torch.cat(self.gather(torch.unique(values, dim=0).flatten()))
        return torch.unique(every.reshape(-1, values.shape[1]), dim=0)

    def agree(self, problem: str | None) -> None:
        """Raise a ValueError on all ranks if any has a ``problem``, so that none waits for it."""
        problems: list[str | None] = [problem]
        if self.size > 1:
            problems = [None] * self.size
            dist.all_gather_object(problems, problem, group=self.group)
        found = [f"rank {i}: {p}" for i, p in enumerate(problems) if p is not None]
        if found:
            raise ValueError("; ".join(found))

    def together(self, work: Callable[[], _Found]) -> _Found:
        """The result of ``work`` on this rank; a ValueError on any rank is raised on all, as by `agree`."""
        try:
            found = work()
        except ValueError as error:
            self.agree(str(error))
            raise
        self.agree(None)
        return found

    def first(self, work: Callable[[], Any]) -> None:
        """Rank 0 calls ``work`` while the others wait, however long it takes; its error is raised on all."""
        waiting, problem = self, None
        if self.size > 1:  # a group of its own: the timeout of the others is for ranks that are silent
            group = dist.new_group(timeout=PATIENCE, backend="gloo")
            waiting = Ranks(group)
        if self.rank == 0:
            try:
                work()
            except (ValueError, OSError) as error:
                problem = str(error)
        waiting.agree(problem)


_LOST = ("gloo", "ncclComm", "NCCL", "timeout caused pair closure")
"""What errors of connections say; the last one where another collective, under way as well, has timed out."""


class LostRankError(RuntimeError):
    """Another rank is gone, or was silent for longer than the timeout."""


@contextmanager
def losing_ranks(ranks: Ranks) -> Iterator[None]:
    """Errors of the connections to other ranks become a `LostRankError` that says so in a line.

    >>> with losing_ranks(Ranks()):
    ...     total = 1 + 1  # collectives go here
    """
    try:
        yield
    except RuntimeError as error:
        text = str(error)
        if not isinstance(error, dist.DistError) and not any(k in text for k in _LOST):
            raise
        told = text.splitlines()[0].split(". This is typically")[0]
        raise LostRankError(
            f"rank {ranks.rank} stops: one of the {ranks.size} ranks is gone or silent ({told})"
        ) from error


def start(timeout_s: float | None = None, backend: str | None = None, wire: str | None = None) -> Ranks:
    """Join the ranks that ``torchrun`` started (one rank alone without it).

    ``timeout_s`` is how long a rank waits for the others in any collective before it stops with an error (by
    default ``$EHNN_TIMEOUT``, else 120 seconds). Where every rank has a GPU of its own, tensors on GPUs go
    through NCCL and the others through gloo; otherwise all go through gloo. ``backend`` overrides this
    choice. ``wire`` is that of `Ranks` (by default ``$EHNN_WIRE``, else ``exact``).

    >>> start()  # without torchrun
    Ranks(rank 0 of 1)
    """
    wire = wire or os.environ.get("EHNN_WIRE", "exact")
    if "RANK" not in os.environ:
        return Ranks(wire=wire)
    if "TORCHELASTIC_RUN_ID" in os.environ:
        Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    if not dist.is_initialized():
        timeout = timedelta(seconds=timeout_s or float(os.environ.get("EHNN_TIMEOUT", 120)))
        local = int(os.environ.get("LOCAL_WORLD_SIZE", os.environ["WORLD_SIZE"]))
        both = "cpu:gloo,cuda:nccl" if torch.cuda.device_count() >= local else "gloo"
        store, rank, size = next(dist.rendezvous("env://", timeout=timeout))
        store = dist.PrefixStore(_attempt(), store)
        dist.init_process_group(backend or both, store=store, rank=rank, world_size=size, timeout=timeout)
    return Ranks(wire=wire)


def _end_with(launcher: int) -> None:
    """End this rank when the process that started it is gone: no other process would end it."""
    while os.getppid() == launcher:
        time.sleep(1.0)
    os._exit(1)


def _attempt() -> str:
    """A name of this start of the ranks, other than those of earlier starts.

    torchrun's store outlives a restart, and with it the addresses of ranks that are dead: a rank that reads
    one waits for ever. Several hosts each count their own restarts, so there the count is no use; the
    variable in `docs/scaling.md` makes a new store for every start.
    """
    alone = os.environ.get("GROUP_WORLD_SIZE", "1") == "1"
    return f"start-{os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}" if alone else "start"


def stop() -> None:
    """Leave the process group, if there is one.

    >>> ranks = start()
    >>> stop()
    """
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()
