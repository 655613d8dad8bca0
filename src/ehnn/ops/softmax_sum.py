r"""Softmax-weighted sums over the rows of a pattern, for logits that belong to the columns.

.. math::
    y_r = \sum_c \alpha_{rc} x_c, \qquad
    \alpha_{rc} = \frac{\exp s_c}{\sum_{c'} \exp s_{c'}} \quad (c, c' \text{ in row } r)

In the paper's attention (Eq. 11) the query does not depend on the target, so the logit s belongs to the
source alone, separately for each head. Then α factors as exp(s_c) / Z_r, and with
:math:`\bar x_c = \sum_r \alpha_{rc} \bar y_r` the gradients are

.. math:: \bar s_c = x_c \cdot \bar x_c - \sum_r \alpha_{rc} (\bar y_r \cdot y_r)

so forward and backward are each one weighted sum: nothing of size pairs × heads × channels is made.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import Pairs
from ehnn.hypergraph.pairs import repeat

from .backend import NO_SECOND, apply, backend_of, opaque
from .heads import fold, unfold, weighted_sum
from .segment_sum import run_sum, structure

_SAFE_RANGE = {torch.float16: 4.0}
"""Logits of one head that differ by less (default 40) can share one shift: exp stays far from underflow."""


def segment_softmax_sum(x: Tensor, logits: Tensor, pairs: Pairs) -> Tensor:
    """``[num_cols, heads, c], [num_cols, heads] → [num_rows, heads, c]``; 0 for empty rows."""
    if x.shape[0] != pairs.num_cols or logits.shape != x.shape[:2]:
        raise ValueError(
            f"x must be [{pairs.num_cols}, heads, channels] and logits [{pairs.num_cols}, heads], "
            f"got {list(x.shape)} and {list(logits.shape)}"
        )
    if x.dtype != logits.dtype:
        raise ValueError(f"x and logits must have one dtype, got {x.dtype} and {logits.dtype}")
    if hasattr(pairs, "reduce_softmax"):  # a pattern that knows its own sum: spread over ranks, or sampled
        return pairs.reduce_softmax(x, logits)
    if len(pairs) == 0 or x.numel() == 0:
        # Empty slices keep the gradient connected; 0 · x would spread a NaN of x.
        return x.new_zeros(pairs.num_rows, *x.shape[1:]) + (x[:0].sum() + logits[:0].sum())
    if backend_of(x) == "reference":
        return reference_softmax_sum(x, logits, pairs)
    return apply(_SoftmaxSum, x, logits, *structure(pairs, x))[0]


def reference_softmax_sum(x: Tensor, logits: Tensor, pairs: Pairs) -> Tensor:
    """`segment_softmax_sum` with autograd, the same shapes: gathers pairs × heads × channels."""
    rows, heads = pairs.rows, logits.shape[1]
    s = logits[pairs.index]
    top = torch.full((pairs.num_rows, heads), -torch.inf, dtype=s.dtype, device=s.device)
    top = top.scatter_reduce(0, rows.unsqueeze(1).expand_as(s), s.detach(), "amax")
    weight = (s - top[rows]).exp()
    total = torch.zeros_like(top).index_add(0, rows, weight)
    alpha = weight / total[rows]
    out = x.new_zeros(pairs.num_rows, *x.shape[1:])
    return out.index_add(0, rows, alpha.unsqueeze(-1) * x[pairs.index])


class _SoftmaxSum(torch.autograd.Function):
    # Dynamo takes the first of a variable number of arguments for a context: all are named.
    @staticmethod
    def forward(
        x: Tensor, logits: Tensor, ptr: Any, index: Any, chunk_ptr: Any, row_ptr: Any,
        t0: Any, t1: Any, t2: Any, t3: Any,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        return _forward(x.contiguous(), logits.contiguous(), ptr, index, chunk_ptr, row_ptr)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs[:2], *output, *inputs[6:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        return *apply(_SoftmaxSumBackward, grad, *ctx.saved_tensors), *[None] * 8

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Tensor) -> tuple[tuple[Tensor, Tensor], Any]:
        """Runs side by side are more heads."""
        x, logits, *structure = args
        x, logits = (fold(t, d, info.batch_size) for t, d in zip((x, logits), in_dims, strict=False))
        y, lse = apply(_SoftmaxSum, x, logits, *structure)
        return (unfold(y, info.batch_size), unfold(lse, info.batch_size)), (1, 1)


class _SoftmaxSumBackward(torch.autograd.Function):
    @staticmethod
    def forward(
        grad: Tensor, x: Tensor, logits: Tensor, y: Tensor, lse: Tensor, t0: Any, t1: Any, t2: Any, t3: Any
    ) -> tuple[Tensor, Tensor]:
        values = grad.contiguous(), x.contiguous(), logits.contiguous(), y, lse
        return _backward(*values, t0, t1, t2, t3)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(NO_SECOND.format("segment_softmax_sum"))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Tensor) -> tuple[tuple[Tensor, Tensor], Any]:
        values, structure = args[:5], args[5:]
        values = tuple(fold(t, d, info.batch_size) for t, d in zip(values, in_dims, strict=False))
        dx, ds = apply(_SoftmaxSumBackward, *values, *structure)
        return (unfold(dx, info.batch_size), unfold(ds, info.batch_size)), (1, 1)


@opaque("ehnn::softmax_sum")
def _forward(
    x: Tensor,
    logits: Tensor,
    ptr: Tensor,
    index: Tensor,
    chunk_ptr: Tensor | None = None,
    row_ptr: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """y and the log-sum-exp of each row (−∞ for empty rows).

    The log-sum-exp is in float64: beside large logits a float32 has no digits left for the sum.
    """
    if backend_of(x) == "triton":
        from .triton_kernels import softmax_sum

        split = None if chunk_ptr is None or row_ptr is None else (chunk_ptr, row_ptr)
        return softmax_sum(x, logits, ptr, index, split)
    top = logits.amax(0)
    if narrow(logits, top):
        weight = (logits - top).exp()
        y, total = _two_sums(weight.unsqueeze(-1) * x, weight, ptr, index)
        return y / total.clamp(min=torch.finfo(total.dtype).tiny).unsqueeze(-1), _lse(total, top)
    return _forward_by_pair(x, logits, ptr, index)


@_forward.register_fake
def _(x: Tensor, logits: Tensor, ptr: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    rows = ptr.shape[0] - 1
    lse = logits.new_empty(rows, logits.shape[1], dtype=torch.float64)
    return x.new_empty(rows, *x.shape[1:]), lse


@opaque("ehnn::softmax_sum_backward")
def _backward(
    grad: Tensor,
    x: Tensor,
    logits: Tensor,
    y: Tensor,
    lse: Tensor,
    t_ptr: Tensor,
    t_index: Tensor,
    chunk_ptr: Tensor | None = None,
    row_ptr: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Gradients of x and of the logits."""
    if backend_of(x) == "triton":
        from .triton_kernels import softmax_sum_backward

        split = None if chunk_ptr is None or row_ptr is None else (chunk_ptr, row_ptr)
        return softmax_sum_backward(grad, x, logits, y, lse, t_ptr, t_index, split)
    inner = (grad * y).sum(-1)
    top = logits.amax(0)
    if narrow(logits, top):
        share = (top - lse).exp().nan_to_num(0.0, posinf=0.0).to(logits.dtype)
        dx, through = _two_sums(share.unsqueeze(-1) * grad, share * inner, t_ptr, t_index)
        weight = (logits - top).exp()
        dx, through = weight.unsqueeze(-1) * dx, weight * through
    else:
        dx, through = _backward_by_pair(grad, inner, logits, lse, t_ptr, t_index)
    return dx, (x * dx).sum(-1) - through


@_backward.register_fake
def _(grad: Tensor, x: Tensor, logits: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x), torch.empty_like(logits)


def narrow(logits: Tensor, top: Tensor) -> bool:
    """Whether the logits of every head lie within the safe range (False if any is NaN)."""
    return bool((top - logits.amin(0) < _SAFE_RANGE.get(logits.dtype, 40.0)).all())


def _lse(total: Tensor, top: Tensor) -> Tensor:
    return total.double().log() + top


def _two_sums(x: Tensor, s: Tensor, ptr: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """Segment sums of ``x [cols, heads, c]`` and ``s [cols, heads]`` in one pass."""
    heads, channels = x.shape[1:]
    both = torch.cat([x.reshape(x.shape[0], -1), s], 1)
    out = run_sum(both, ptr, index)
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


partial_softmax_sum, partial_softmax_sum_backward = _forward, _backward
"""For columns that are a part of each row: the caller merges y and log-sum-exp, and returns the whole's."""
