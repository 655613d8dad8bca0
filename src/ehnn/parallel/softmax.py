r"""Softmax sums over several ranks, exact through a distributed log-sum-exp.

Rank p has :math:`y_p` and :math:`z_p = \log \sum_c \exp s_c` over its own columns of a row. Then

.. math:: z = \log \sum_p \exp z_p, \qquad y = \sum_p \exp(z_p - z)\, y_p

and the gradients on rank p are those of `ehnn.ops.segment_softmax_sum` with the *global* y and z in the place
of the local ones, so the backward pass sends a row's gradient, :math:`\bar y \cdot y` and z, but no weights.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.ops import segment_sum
from ehnn.ops.softmax_sum import partial_softmax_sum, partial_softmax_sum_backward

from .plan import Plan
from .ranks import Ranks


def pushed_softmax_sum(x: Tensor, logits: Tensor, inner: SparsePattern, plan: Plan) -> Tensor:
    """``[cols, heads, c], [cols, heads] → [own rows, heads, c]``; ghost rows are merged at their owners."""
    return _Pushed.apply(x, logits, inner, plan)


def pooled_softmax_sum(x: Tensor, logits: Tensor, inner: SparsePattern, ranks: Ranks) -> Tensor:
    """``[cols, heads, c], [cols, heads] → [rows, heads, c]``; every rank gets all rows."""
    return _Pooled.apply(x, logits, inner, ranks)


class _Pushed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, logits: Tensor, inner: SparsePattern, plan: Plan) -> Tensor:
        y, lse = _partial(x, logits, inner)
        if plan.ranks.size > 1:
            theirs = plan.ranks.on_wire(y[plan.own :])
            there = plan.hand_over(_pack(theirs, lse[plan.own :]))
            y, lse = y[: plan.own].clone(), lse[: plan.own].clone()  # kept, unlike the ghosts behind them
            their_y, their_lse = _unpack(there, theirs, lse)
            _merge(y, lse, their_y.to(y.dtype), their_lse, *plan.touched)
        ctx.save_for_backward(x, logits, y, lse)
        ctx.inner, ctx.plan = inner, plan
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, logits, y, lse = ctx.saved_tensors
        plan: Plan = ctx.plan
        if plan.ranks.size > 1:
            grad, y, lse = _with_ghosts(grad, y, lse, plan)
        return *_gradients(grad, x, logits, y, lse, ctx.inner), None, None


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
        return *_gradients(grad, x, logits, y, lse, ctx.inner), None, None


_TINY = torch.finfo(torch.float64).tiny


def _partial(x: Tensor, logits: Tensor, inner: SparsePattern) -> tuple[Tensor, Tensor]:
    """y and the float64 log-sum-exp of this rank's columns (0 and −∞ for rows without any)."""
    if len(inner) == 0 or x.numel() == 0:
        lse = x.new_full((inner.num_rows, x.shape[1]), -torch.inf, dtype=torch.float64)
        return x.new_zeros(inner.num_rows, *x.shape[1:]), lse
    return partial_softmax_sum(x, logits, inner)


def _gradients(
    grad: Tensor, x: Tensor, logits: Tensor, y: Tensor, lse: Tensor, inner: SparsePattern
) -> tuple[Tensor, Tensor]:
    """Gradients of x and the logits, from those of the rows and the rows' global y and ``lse``."""
    if len(inner) == 0 or x.numel() == 0:
        return torch.zeros_like(x), torch.zeros_like(logits)
    return partial_softmax_sum_backward(grad, x, logits, y, lse, inner)


def _with_ghosts(grad: Tensor, y: Tensor, lse: Tensor, plan: Plan) -> tuple[Tensor, Tensor, Tensor]:
    """Own rows, then ghosts. Of y only ḡ · y is needed, so that is sent, and a ghost gets a y that has it."""
    sent = [t.index_select(0, plan.sends) for t in (grad, y, lse)]
    own = plan.ranks.on_wire(torch.cat([sent[0], (sent[0] * sent[1]).sum(-1, keepdim=True)], -1))
    there = plan.ranks.exchange(_pack(own, sent[2]), plan.send, plan.receive)
    both, their_lse = _unpack(there, own, lse)
    their_grad, through = both[..., :-1].to(grad.dtype), both[..., -1:].to(grad.dtype)
    size = their_grad.abs().amax(-1, keepdim=True).clamp(min=torch.finfo(grad.dtype).tiny)
    unit = their_grad / size  # squares of small gradients would vanish
    their_y = unit * (through / size / unit.square().sum(-1, keepdim=True).clamp(min=1))
    return torch.cat([grad, their_grad]), torch.cat([y, their_y]), torch.cat([lse, their_lse])


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


def _pack(y: Tensor, lse: Tensor) -> Tensor:
    """``[rows, bytes]`` of values and their float64 log-sum-exp: one exchange for two dtypes."""
    return torch.cat([t.flatten(1).contiguous().view(torch.uint8) for t in (y, lse)], 1)


def _unpack(packed: Tensor, y: Tensor, lse: Tensor) -> tuple[Tensor, Tensor]:
    """Inverse of `_pack`; ``y`` and ``lse`` give the shapes and dtypes."""
    width = y.shape[1] * y.shape[2] * y.element_size()
    values = packed[:, :width].contiguous().view(y.dtype).reshape(-1, *y.shape[1:])
    return values, packed[:, width:].contiguous().view(lse.dtype).reshape(-1, lse.shape[1])
