"""`additive_attention` whose weights are made again in the backward pass, from the log-sum-exp of each row.

Between the passes nothing of the size of the pairs is kept; within a pass, one number per pair and a few
heads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import repeat

from ..autograd import differentiable, opaque
from ..dispatch import in_forward_mode, not_reference
from ..softmax_sum.heads import fold, unfold, weighted_sum
from .naive import SLOPE

_BUDGET = 2**25
"""Numbers of pairs × heads, or of pairs × channels, that are in memory at a time."""


def supports(x: Tensor, source: Tensor, target: Tensor, pairs: SparsePattern) -> str | None:
    """Why the definition runs, or None."""
    if len(pairs) == 0 or x.numel() == 0:
        return "there is nothing to add up"
    return not_reference(x) or ("it has no forward-mode derivative" if in_forward_mode() else None)


def run(x: Tensor, source: Tensor, target: Tensor, pairs: SparsePattern) -> Tensor:
    """`additive_attention`."""
    return _function(_Pattern(pairs), x, source, target)[0]


@dataclass(eq=False)
class _Pattern:
    """Rows and columns of the pairs."""

    pairs: SparsePattern


def _kernel(of: _Pattern, x: Tensor, source: Tensor, target: Tensor) -> tuple[Tensor, ...]:
    """Runs side by side are more heads. Outputs: y, log-sum-exp of each row."""
    found = _forward(fold(x), fold(source), fold(target), of.pairs.ptr, of.pairs.index)
    return tuple(unfold(t, x.shape[0]) for t in found)


def _gradient(of: _Pattern, kept: Any, grads: Any) -> tuple[Tensor, ...]:
    """``kept``: x, source, target, y, lse."""
    grad, x, source, target, y, lse = map(fold, (*grads, *kept))
    found = _backward(grad, x, source, target, y, lse, of.pairs.t_ptr, of.pairs.t_index)
    return tuple(unfold(t, kept[0].shape[0]) for t in found)


_function = differentiable(
    "additive_attention", _kernel, _gradient, keep=lambda of, tensors, outputs: (*tensors, *outputs)
)


def _heads_at_once(heads: int, pairs: int) -> list[slice]:
    size = max(_BUDGET // max(pairs, 1), 1)
    return [slice(i, min(i + size, heads)) for i in range(0, heads, size)]


def _fake_forward(x: Tensor, source: Tensor, target: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return x.new_empty(target.shape[0], *x.shape[1:]), torch.empty_like(target)


@opaque("ehnn::additive_attention", _fake_forward)
def _forward(x: Tensor, source: Tensor, target: Tensor, ptr: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    rows = repeat(ptr.diff(), index.shape[0])
    y = x.new_empty(target.shape[0], *x.shape[1:])
    lse = torch.empty_like(target)
    for part in _heads_at_once(x.shape[1], index.shape[0]):
        logits = leaky_relu(_rows(target, rows, part) + _rows(source, index, part), SLOPE)
        top = torch.full_like(target[:, part], -torch.inf)
        top = top.scatter_reduce(0, rows.unsqueeze(1).expand_as(logits), logits, "amax")
        weight = logits.sub_(top.index_select(0, rows)).exp_()
        total = torch.zeros_like(top).index_add_(0, rows, weight)
        y[:, part] = weighted_sum(x[:, part], weight.div_(total.index_select(0, rows)), ptr, index)
        lse[:, part] = total.log() + top
    return y, lse


def _fake_backward(
    grad: Tensor, x: Tensor, source: Tensor, target: Tensor, *_: Any
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(x), torch.empty_like(source), torch.empty_like(target)


@opaque("ehnn::additive_attention_backward", _fake_backward)
def _backward(
    grad: Tensor,
    x: Tensor,
    source: Tensor,
    target: Tensor,
    y: Tensor,
    lse: Tensor,
    t_ptr: Tensor,
    t_index: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of x, source and target, over the pairs in column order."""
    cols = repeat(t_ptr.diff(), t_index.shape[0])
    inner = (grad * y).sum(-1)
    dx, ds, dt = torch.empty_like(x), torch.zeros_like(source), torch.zeros_like(target)
    for part in _heads_at_once(x.shape[1], t_index.shape[0]):
        logits = _rows(target, t_index, part) + _rows(source, cols, part)
        positive = logits > 0
        alpha = leaky_relu(logits, SLOPE).sub_(_rows(lse, t_index, part)).exp_()
        dx[:, part] = weighted_sum(grad[:, part], alpha, t_ptr, t_index)
        through = _inner_products(grad[:, part], x[:, part], t_index, cols).sub_(_rows(inner, t_index, part))
        change = through.mul_(alpha).mul_(torch.where(positive, logits.new_ones(()), SLOPE))
        ds[:, part] = torch.zeros_like(ds[:, part]).index_add_(0, cols, change)
        dt[:, part] = torch.zeros_like(dt[:, part]).index_add_(0, t_index, change)
    return dx, ds, dt


def _rows(t: Tensor, index: Tensor, part: slice) -> Tensor:
    """``t[index, part]``; several times faster on a CPU."""
    return t[:, part].index_select(0, index)


def _inner_products(a: Tensor, b: Tensor, rows: Tensor, cols: Tensor) -> Tensor:
    """``[pairs, heads]`` of ``a[rows] · b[cols]`` over the channels, a bounded number of pairs at a time."""
    # On a CPU a part that stays in the cache is twice as fast.
    limit = min(_BUDGET, 2**20) if a.device.type == "cpu" else _BUDGET
    size = max(limit // max(a[0].numel(), 1), 1)
    parts = [
        (a.index_select(0, i) * b.index_select(0, j)).sum(-1)
        for i, j in zip(rows.split(size), cols.split(size), strict=True)
    ]
    return torch.cat(parts)
