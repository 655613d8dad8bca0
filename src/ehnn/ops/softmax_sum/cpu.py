"""`segment_softmax_sum` as plain sums: logits share a shift where that is safe, else each row has its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph.pairs import repeat

from ..autograd import opaque
from ..segment_sum.cpu import plain_kernel
from ..segment_sum.linear_map import Csr
from .heads import weighted_sum

_SAFE_RANGE = {torch.float16: 4.0}
"""Logits of one head that differ by less (default 40) can share one shift: exp stays far from underflow."""


def forward(x: Tensor, logits: Tensor, csr: Csr) -> tuple[Tensor, Tensor]:
    """y and the log-sum-exp of each row (−∞ for empty rows).

    The log-sum-exp is in float64: beside large logits a float32 has no digits left for the sum.
    """
    return _forward(x, logits, csr[0], csr[1])


def backward(
    grad: Tensor, x: Tensor, logits: Tensor, y: Tensor, lse: Tensor, csr: Csr
) -> tuple[Tensor, Tensor]:
    """Gradients of x and of the logits; ``csr`` is of the columns."""
    return _backward(grad, x, logits, y, lse, csr[0], csr[1])


def fake_forward(x: Tensor, logits: Tensor, ptr: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    """Shapes of `forward`."""
    rows = ptr.shape[0] - 1
    lse = logits.new_empty(rows, logits.shape[1], dtype=torch.float64)
    return x.new_empty(rows, *x.shape[1:]), lse


def fake_backward(grad: Tensor, x: Tensor, logits: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    """Shapes of `backward`."""
    return torch.empty_like(x), torch.empty_like(logits)


@opaque("ehnn::cpu_softmax_sum", fake_forward)
def _forward(x: Tensor, logits: Tensor, ptr: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    top = logits.amax(0)
    if narrow(logits, top):
        weight = (logits - top).exp()
        y, total = _two_sums(weight.unsqueeze(-1) * x, weight, ptr, index)
        return y / total.clamp(min=torch.finfo(total.dtype).tiny).unsqueeze(-1), _lse(total, top)
    return _forward_by_pair(x, logits, ptr, index)


@opaque("ehnn::cpu_softmax_sum_backward", fake_backward)
def _backward(
    grad: Tensor, x: Tensor, logits: Tensor, y: Tensor, lse: Tensor, t_ptr: Tensor, t_index: Tensor
) -> tuple[Tensor, Tensor]:
    inner = (grad * y).sum(-1)
    top = logits.amax(0)
    if narrow(logits, top):
        share = (top - lse).exp().to(logits.dtype)
        dx, through = _two_sums(share.unsqueeze(-1) * grad, share * inner, t_ptr, t_index)
        weight = (logits - top).exp()
        dx, through = weight.unsqueeze(-1) * dx, weight * through
    else:
        dx, through = _backward_by_pair(grad, inner, logits, lse, t_ptr, t_index)
    return dx, (x * dx).sum(-1) - through


def narrow(logits: Tensor, top: Tensor) -> bool:
    """Whether the logits of every head lie within the safe range (False if any is NaN)."""
    return bool((top - logits.amin(0) < _SAFE_RANGE.get(logits.dtype, 40.0)).all())


def _lse(total: Tensor, top: Tensor) -> Tensor:
    return total.double().log() + top


def _two_sums(x: Tensor, s: Tensor, ptr: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """Segment sums of ``x [cols, heads, c]`` and ``s [cols, heads]`` in one pass."""
    heads, channels = x.shape[1:]
    both = torch.cat([x.reshape(x.shape[0], -1), s], 1)
    out = plain_kernel(both, (ptr, index, None))
    return out[:, : heads * channels].reshape(-1, heads, channels), out[:, heads * channels :].contiguous()


def _forward_by_pair(x: Tensor, logits: Tensor, ptr: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """Stable for any logits: a weight per pair and head, shifted by the largest logit of its row."""
    rows = repeat(ptr.diff(), index.shape[0])
    top = torch.full((ptr.shape[0] - 1, logits.shape[1]), -torch.inf, dtype=x.dtype, device=x.device)
    s = logits[index]
    top = top.scatter_reduce(0, rows.unsqueeze(1).expand_as(s), s, "amax")
    weight = (s - top[rows]).exp()
    total = torch.zeros_like(top).index_add(0, rows, weight)
    y = weighted_sum(x, weight / total[rows], ptr, index)
    return y, _lse(total, top)


def _backward_by_pair(
    grad: Tensor, inner: Tensor, logits: Tensor, lse: Tensor, t_ptr: Tensor, t_index: Tensor
) -> tuple[Tensor, Tensor]:
    column = repeat(t_ptr.diff(), t_index.shape[0])
    alpha = (logits[column] - lse[t_index]).exp().to(logits.dtype)
    dx = weighted_sum(grad, alpha, t_ptr, t_index)
    return dx, torch.zeros_like(logits).index_add(0, column, alpha * inner[t_index])
