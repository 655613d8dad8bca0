"""Rows on their way between ranks: an exchange has a start and an end, and there may be work between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from typing import Any

import torch
from torch import Tensor

from .ranks import Ranks


class Trip:
    """An exchange that is under way, and the way back, which gradients take."""

    def __init__(self, ranks: Ranks, send: Sequence[int], receive: Sequence[int]) -> None:
        self.ranks, self.send, self.receive = ranks, send, receive
        self.arrived: Callable[[], Tensor] | None = None

    @cached_property
    def back(self) -> Trip:
        """The same rows in the other direction."""
        return Trip(self.ranks, self.receive, self.send)


class OnTheWay:
    """Rows that ranks send each other. They may work until they call `arrive`; and so in the backward pass.

    Autograd runs backwards through what was done between the two calls: `_End` sends the gradients of the
    rows, the work in between has its backward pass, and `_Begin` waits for them.
    """

    def __init__(self, values: Sequence[Tensor], trip: Trip) -> None:
        self.trip, self.shapes = trip, [v.shape[1:] for v in values]
        self.claim = _Begin.apply(side_by_side(values), trip)

    def arrive(self) -> tuple[Tensor, ...]:
        """Wait; ``[rows, …]`` for each of the values."""
        rows = _End.apply(self.claim, self.trip)
        parts = rows.split([prod(shape) for shape in self.shapes], 1)
        return tuple(p.reshape(p.shape[0], *shape) for p, shape in zip(parts, self.shapes, strict=True))


def joined(values: Sequence[Tensor], way: OnTheWay) -> tuple[Tensor, ...]:
    """Own rows, then the ghosts that arrive."""
    return tuple(torch.cat(both) for both in zip(values, way.arrive(), strict=True))


def side_by_side(values: Sequence[Tensor]) -> Tensor:
    """``[rows, …]`` tensors as one matrix, so that one exchange serves them all."""
    flat = [v.reshape(v.shape[0], prod(v.shape[1:])) for v in values]
    return flat[0] if len(flat) == 1 else torch.cat(flat, 1)


class _Begin(torch.autograd.Function):
    """Start to send rows. The result, a claim without content, ties it to `_End`. Linear, as that is."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, trip: Trip) -> Tensor:
        ctx.trip, trip.arrived = trip, trip.ranks.begin(rows, trip.send, trip.receive)
        return rows.new_zeros(())

    @staticmethod
    def backward(ctx: Any, claim: Tensor) -> Any:
        return _End.apply(claim, ctx.trip.back), None


class _End(torch.autograd.Function):
    """Wait for the rows."""

    @staticmethod
    def forward(ctx: Any, claim: Tensor, trip: Trip) -> Tensor:
        assert trip.arrived is not None
        arrived, ctx.trip, trip.arrived = trip.arrived, trip, None
        return arrived()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Begin.apply(grad, ctx.trip.back), None
