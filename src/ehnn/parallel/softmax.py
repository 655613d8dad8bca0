r"""Softmax sums over several ranks, exact through a distributed log-sum-exp.

Rank p has :math:`y_p` and :math:`z_p = \log \sum_c \exp s_c` over its own columns of a row. Then

.. math:: z = \log \sum_p \exp z_p, \qquad y = \sum_p \exp(z_p - z)\, y_p

and the gradients on rank p are those of `ehnn.ops.segment_softmax_sum` with the *global* y and z in the place
of the local ones, so the backward pass sends a row's gradient, :math:`\bar y \cdot y` and z, but no weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.ops import segment_sum
from ehnn.ops.softmax_sum import partial_softmax_sum, partial_softmax_sum_backward

from .plan import Plan
from .ranks import Ranks


def pooled_softmax_sum(x: Tensor, logits: Tensor, inner: SparsePattern, ranks: Ranks) -> Tensor:
    """``[cols, heads, c], [cols, heads] → [rows, heads, c]``; every rank gets all rows."""
    return _Pooled.apply(x, logits, inner, ranks)


class PushedSoftmax:
    """``[cols, heads, c], [cols, heads] → [own rows, heads, c]``; ghost rows are merged at their owners.

    `begin` sends what this rank has of the ghosts. It gives the ``first`` rows, which no other rank has, and
    a function that waits and gives the others. An object serves one sum.
    """

    early: Tensor
    late: Tensor
    lse: Tensor
    """Of the own rows: the first, the others, and all log-sum-exps, for the backward pass."""
    arrived: Callable[[], tuple[Tensor, Tensor]]

    def __init__(self, plan: Plan, first: int) -> None:
        self.plan, self.first = plan, first

    def begin(self, x: Tensor, logits: Tensor, inner: SparsePattern) -> tuple[Tensor, Callable[[], Tensor]]:
        early, late, claim = _BeginPushed.apply(x, logits, inner, self)
        return early, lambda: _EndPushed.apply(late, claim, self)

    def arrive(self) -> tuple[Tensor, Tensor]:
        """Wait for what the others have sent; its memory is not kept."""
        arrived = self.arrived
        del self.arrived
        return arrived()


class _BeginPushed(torch.autograd.Function):
    """Sums over the columns here. The claim, without content, ties it to `_EndPushed`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, logits: Tensor, inner: SparsePattern, sums: PushedSoftmax) -> Any:
        y, lse = _partial(x, logits, inner)
        plan, ends = sums.plan, [sums.first, sums.plan.own - sums.first, sums.plan.ghosts]
        parts = y.split(ends)
        sums.arrived = _send(plan.ranks, parts[2], lse[plan.own :], plan.receive, plan.send)
        early, late = parts[0].clone(), parts[1].clone()  # kept, unlike the ghosts behind them
        sums.early, sums.late, sums.lse = early.detach(), late.detach(), lse[: plan.own].clone()
        ctx.save_for_backward(x, logits)
        ctx.inner, ctx.sums = inner, sums
        return early, late, x.new_zeros(())

    @staticmethod
    def backward(ctx: Any, early: Tensor, late: Tensor, _: Tensor) -> Any:
        """The gradients are those of the merged rows, and are made with their y and log-sum-exp."""
        (x, logits), sums = ctx.saved_tensors, ctx.sums
        grads, lse = sums.arrive()
        grad, y = _as_sums(grads)
        grad, y = torch.cat([early, late, grad]), torch.cat([sums.early, sums.late, y])
        return *_gradients(grad, y, torch.cat([sums.lse, lse]), x, logits, ctx.inner), None, None


class _EndPushed(torch.autograd.Function):
    """Wait; merge what others have into the own rows, in place."""

    @staticmethod
    def forward(ctx: Any, late: Tensor, claim: Tensor, sums: PushedSoftmax) -> Tensor:
        ctx.sums, first = sums, sums.first
        rows, pairs = sums.plan.touched
        _merge(late, sums.lse[first:], *sums.arrive(), rows - first, pairs)
        ctx.mark_dirty(late)
        return late

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Start to send ḡ, ḡ · y and z of the rows that are ghosts elsewhere; gradients need no more."""
        sums, plan = ctx.sums, ctx.sums.plan
        places = plan.sends - sums.first
        sent = grad.index_select(0, places)
        through = (sent * sums.late.index_select(0, places)).sum(-1, keepdim=True)
        lse = sums.lse.index_select(0, plan.sends)
        sums.arrived = _send(plan.ranks, torch.cat([sent, through], -1), lse, plan.send, plan.receive)
        return grad, grad.new_zeros(()), None


class _Pooled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, logits: Tensor, inner: SparsePattern, ranks: Ranks) -> Tensor:
        y, lse = _partial(x, logits, inner)
        top = _finite(ranks.max(lse))
        weight = (lse - top).exp()
        both = torch.cat([weight.unsqueeze(-1) * y, weight.unsqueeze(-1)], -1)
        both = ranks.sum(both)
        total = both[..., -1]
        y = (both[..., :-1] / total.clamp(min=_TINY).unsqueeze(-1)).to(x.dtype)
        ctx.save_for_backward(x, logits, y, total.log() + top)
        ctx.inner, ctx.ranks = inner, ranks
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, logits, y, lse = ctx.saved_tensors
        grad = ctx.ranks.sum(grad)  # every rank used the row for its own part of the loss
        return *_gradients(grad, y, lse, x, logits, ctx.inner), None, None


_TINY = torch.finfo(torch.float64).tiny


def _partial(x: Tensor, logits: Tensor, inner: SparsePattern) -> tuple[Tensor, Tensor]:
    """y and the float64 log-sum-exp of this rank's columns (0 and −∞ for rows without any)."""
    if len(inner) == 0 or x.numel() == 0:
        lse = x.new_full((inner.num_rows, x.shape[1]), -torch.inf, dtype=torch.float64)
        return x.new_zeros(inner.num_rows, *x.shape[1:]), lse
    return partial_softmax_sum(x, logits, inner)


def _gradients(
    grad: Tensor, y: Tensor, lse: Tensor, x: Tensor, logits: Tensor, inner: SparsePattern
) -> tuple[Tensor, Tensor]:
    """Gradients of x and the logits, from those of the rows and the rows' global y and ``lse``."""
    if len(inner) == 0 or x.numel() == 0:
        return torch.zeros_like(x), torch.zeros_like(logits)
    return partial_softmax_sum_backward(grad, x, logits, y, lse, inner)


def _as_sums(both: Tensor) -> tuple[Tensor, Tensor]:
    """ḡ and ḡ · y of ghosts, side by side, as ḡ and a y that has that product: no more is needed of it."""
    grad, through = both[..., :-1], both[..., -1:]
    size = grad.abs().amax(-1, keepdim=True).clamp(min=torch.finfo(grad.dtype).tiny)
    unit = grad / size  # squares of small gradients would vanish
    return grad, unit * (through / size / unit.square().sum(-1, keepdim=True).clamp(min=1))


def _merge(
    y: Tensor, lse: Tensor, their_y: Tensor, their_lse: Tensor, rows: Tensor, pairs: SparsePattern
) -> None:
    """Merge into own rows, in place, what other ranks have for some of them."""
    place, mine = pairs.t_index, lse[rows]
    top = _finite(mine.scatter_reduce(0, place.unsqueeze(1).expand_as(their_lse), their_lse, "amax"))
    weight, their = (mine - top).exp(), (their_lse - top[place]).exp()
    total = weight + segment_sum(their, pairs)
    merged = weight.unsqueeze(-1) * y[rows] + segment_sum(their.unsqueeze(-1) * their_y, pairs)
    y[rows] = (merged / total.clamp(min=_TINY).unsqueeze(-1)).to(y.dtype)
    lse[rows] = total.log() + top


def _finite(top: Tensor) -> Tensor:
    """Rows that are empty everywhere are shifted by 0, not by −∞."""
    return torch.where(top == -torch.inf, 0.0, top)


def _send(
    ranks: Ranks, y: Tensor, lse: Tensor, send: Sequence[int], receive: Sequence[int]
) -> Callable[[], tuple[Tensor, Tensor]]:
    """Start to send values, as the wire has them, and float64 log-sum-exps in one exchange."""
    parts = ranks.on_wire(y), lse
    raw = [t.flatten(1).contiguous().view(torch.uint8) for t in parts]
    arrived = ranks.begin(torch.cat(raw, 1), send, receive)

    def both() -> tuple[Tensor, Tensor]:
        found = arrived().split([r.shape[1] for r in raw], 1)
        rows = (
            f.contiguous().view(p.dtype).reshape(-1, *p.shape[1:]) for f, p in zip(found, parts, strict=True)
        )
        values, z = rows
        return values.to(y.dtype), z

    return both
