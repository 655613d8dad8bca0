"""Asynchronous exchange of rows between ranks: it has a start and an end, with computation between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from typing import Any

import torch
from torch import Tensor

from .ranks import Ranks


class Exchange:
    """An exchange of rows in progress, and its reverse, by which gradients are sent."""

    def __init__(self, ranks: Ranks, send: Sequence[int], receive: Sequence[int]) -> None:
        self.ranks, self.send, self.receive = ranks, send, receive
        self.wait: Callable[[], Tensor] | None = None

    @cached_property
    def reverse(self) -> Exchange:
        """The same rows in the other direction."""
        return Exchange(self.ranks, self.receive, self.send)


class PendingRows:
    """Rows that ranks are sending each other: a rank can compute until it calls `wait`.

    The backward pass does the same in reverse: `_End` sends the gradients of the rows, what was computed in
    between has its backward pass, and `_Begin` waits for the gradients.
    """

    def __init__(self, values: Sequence[Tensor], exchange: Exchange) -> None:
        self.exchange, self.shapes = exchange, [v.shape[1:] for v in values]
        self.token = _Begin.apply(side_by_side(values), exchange)

    def wait(self) -> tuple[Tensor, ...]:
        """Wait; ``[rows, …]`` for each of the values."""
        rows = _End.apply(self.token, self.exchange)
        parts = rows.split([prod(shape) for shape in self.shapes], 1)
        return tuple(p.reshape(p.shape[0], *shape) for p, shape in zip(parts, self.shapes, strict=True))


def append_ghosts(values: Sequence[Tensor], pending: PendingRows) -> tuple[Tensor, ...]:
    """Own rows, then the ghost rows, which are waited for."""
    return tuple(torch.cat(both) for both in zip(values, pending.wait(), strict=True))


def side_by_side(values: Sequence[Tensor]) -> Tensor:
    """``[rows, …]`` tensors as one matrix, so that one exchange serves them all."""
    flat = [v.reshape(v.shape[0], prod(v.shape[1:])) for v in values]
    return flat[0] if len(flat) == 1 else torch.cat(flat, 1)


class _Begin(torch.autograd.Function):
    """Start to send rows. The result, a token without content, ties it to `_End` in the autograd graph."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, exchange: Exchange) -> Tensor:
        ctx.exchange, exchange.wait = exchange, exchange.ranks.begin(rows, exchange.send, exchange.receive)
        return rows.new_zeros(())

    @staticmethod
    def backward(ctx: Any, token: Tensor) -> Any:
        return _End.apply(token, ctx.exchange.reverse), None


class _End(torch.autograd.Function):
    """Wait for the rows."""

    @staticmethod
    def forward(ctx: Any, token: Tensor, exchange: Exchange) -> Tensor:
        assert exchange.wait is not None
        wait, ctx.exchange, exchange.wait = exchange.wait, exchange, None
        return wait()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Begin.apply(grad, ctx.exchange.reverse), None
