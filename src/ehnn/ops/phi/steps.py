r"""φ step by step: a product, then the steps between two products in one pass.

.. math:: h_r = \mathrm{dropout}(\mathrm{relu}(z_r + t_{o(r)})), \qquad y_r = z_r + x_r + t_{o(r)}

The part of the first layer that reads the order is computed once for each *distinct* order, as a table t that
is added to the rows. This equals concatenation at a fraction of its cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ehnn.hypergraph import SparsePattern

from ..autograd import differentiable, opaque
from ..dispatch import (
    Implementation,
    Operation,
    definition,
    in_forward_mode,
    not_on,
    too_exact,
    transformed,
)
from ..dropout import Mask, seeded_dropout
from ..linear import linear
from ..norm import norm_and_skip
from ..segment_sum import broadcast_rows
from ..segment_sum.linear_map import Sum, sum_of, transposed_runs
from ..segment_sum.triton import kernel as triton_sum
from .naive import PhiWeights, Residual


def run(
    x: Tensor, codes: Tensor | None, orders: SparsePattern | None, weights: PhiWeights,
    masks: tuple[Mask | None, ...], residual: Residual | None,
) -> Tensor:  # fmt: skip
    """`phi`."""
    gamma, beta = weights.gamma, weights.beta
    normed, x = (x, x) if gamma is None or beta is None else norm_and_skip(x, gamma, beta)
    weight, table = first_layer(x.shape[1], codes, weights)
    h = shifted_relu(linear(normed, weight), table, orders, masks[0])
    for (weight, bias), mask in zip(weights.hidden[1:], masks[1:], strict=True):
        h = shifted_relu(linear(h, weight), bias.unsqueeze(0), None, mask)
    weight, bias = weights.last
    last, pairs = (bias.unsqueeze(0), None) if residual is None else (residual[0] + bias, residual[1])
    skip = x if weights.skip is None else linear(x, weights.skip)
    return join(linear(h, weight), skip, last, pairs)


def first_layer(d: int, codes: Tensor | None, weights: PhiWeights) -> tuple[Tensor, Tensor]:
    """The part of the first weight that reads x, and ``[distinct, d_out]`` what it adds for each order."""
    weight, bias = weights.hidden[0]
    if codes is None:
        return weight, bias.unsqueeze(0)
    return weight[:, :d], F.linear(codes.to(weight.dtype), weight[:, d:], bias)


def added(y: Tensor, residual: Residual | None) -> Tensor:
    """``y`` plus the residual of each row."""
    if residual is None:
        return y
    table, pairs = residual
    return y + (table if pairs is None else broadcast_rows(table, pairs))


def shifted_relu(z: Tensor, table: Tensor, pairs: SparsePattern | None, mask: Mask | None = None) -> Tensor:
    """``dropout(relu(z + table[number]))``: ``[rows, d]`` with ``table [numbers, d]`` → ``[rows, d]``.

    Args:
        z: overwritten where that saves a copy.
        table: a shift for each number; one row serves all.
        pairs: rows × numbers, one each; None if one row serves all.
        mask: of dropout.
    """
    return SHIFTED_RELU(z, table, None if table.shape[0] == 1 else pairs, mask)


def join(z: Tensor, x: Tensor, table: Tensor, pairs: SparsePattern | None) -> Tensor:
    """``z + x + table[number]``: ``[rows, d]`` twice with ``table [numbers, d]`` → ``[rows, d]``."""
    return JOIN(z, x, table, None if table.shape[0] == 1 else pairs)


def _plain_shifted_relu(z: Tensor, table: Tensor, pairs: SparsePattern | None, mask: Mask | None) -> Tensor:
    return seeded_dropout(_add(z, table, pairs).relu_(), mask)


def _plain_join(z: Tensor, x: Tensor, table: Tensor, pairs: SparsePattern | None) -> Tensor:
    if transformed():
        return z + x + (table if pairs is None else broadcast_rows(table, pairs))
    return _add(z.add_(x), table, pairs)


def _add(z: Tensor, table: Tensor, pairs: SparsePattern | None) -> Tensor:
    shift = table if pairs is None else broadcast_rows(table, pairs)
    # Under a transform, z may have fewer runs than what is added to it.
    return z + shift if transformed() else z.add_(shift)


@dataclass(eq=False)
class Table:
    """The constants of a step: the index of each row into a table, and the sum for the table's gradient."""

    index: Tensor | None
    sums: Sum | None
    dtypes: tuple[torch.dtype, ...]
    p: float = 0.0
    rows: Tensor | None = None
    whole: int | None = None

    def gradient(self, grad: Tensor) -> Tensor:
        """``[runs, rows, d] → [runs, numbers, d]``."""
        return grad.sum(1, keepdim=True) if self.sums is None else transposed_runs(self.sums, grad)


def _table(pairs: SparsePattern | None, mask: Mask | None, *tensors: Tensor) -> Table:
    sums = None if pairs is None else sum_of(triton_sum, pairs, cut=True)
    more = () if mask is None else (mask.p, mask.rows, mask.whole)
    return Table(None if pairs is None else pairs.index, sums, tuple(t.dtype for t in tensors), *more)


def _triton_declines(z: Tensor, *rest: Any) -> str | None:
    mask = rest[-1] if isinstance(rest[-1], Mask) else None
    if not z.numel():
        return "there are no rows"
    return (
        not_on(z, "triton")
        or (mask and too_exact(z))
        or ("it has no forward-mode derivative" if in_forward_mode() else None)
    )


def _relu_forward(of: Table, z: Tensor, table: Tensor, seed: Any) -> tuple[Tensor, ...]:
    return (_relu_kernel(z, table, of.index, seed, of.p, of.rows, of.whole),)


def _relu_backward(of: Table, kept: Any, grads: Any) -> tuple[Any, ...]:
    """An element that ReLU or dropout set to zero is zero in y: the gradient needs y alone."""
    dz, total = _gate_kernel(grads[0], kept[0], 1 / (1 - of.p), of.sums is None)
    return dz, (total if of.sums is None else of.gradient(dz)).to(of.dtypes[1]), None


def _join_backward(of: Table, kept: Any, grads: Any) -> tuple[Tensor, ...]:
    found = grads[0], grads[0], of.gradient(grads[0])
    return tuple(g.to(t) for g, t in zip(found, of.dtypes, strict=True))


def _fake_rows(z: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(z)


def _fake_gate(grad: Tensor, y: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    wide = torch.promote_types(y.dtype, torch.float32)
    return torch.empty_like(y), y.new_empty(y.shape[0], 1, y.shape[2], dtype=wide)


@opaque("ehnn::shifted_relu", _fake_rows)
def _relu_kernel(
    z: Tensor, table: Tensor, index: Tensor | None, seed: Tensor | None, p: float, rows: Tensor | None,
    whole: int | None,
) -> Tensor:  # fmt: skip
    from ..dropout.triton_kernels import forward

    return forward(z, table, index, seed, p, rows, whole)


@opaque("ehnn::gate", _fake_gate)
def _gate_kernel(grad: Tensor, y: Tensor, scale: float, total: bool) -> tuple[Tensor, Tensor]:
    from ..dropout.triton_kernels import gate

    return gate(grad, y, scale, total)


@opaque("ehnn::join", _fake_rows)
def _join_kernel(z: Tensor, x: Tensor, table: Tensor, index: Tensor | None) -> Tensor:
    from ..dropout.triton_kernels import join

    return join(z, x, table, index)


_relu = differentiable(
    "shifted_relu", _relu_forward, _relu_backward, keep=lambda of, tensors, outputs: outputs
)
_join = differentiable(
    "join", lambda of, z, x, table: (_join_kernel(z, x, table, of.index),), _join_backward,
    keep=lambda of, tensors, outputs: (),
)  # fmt: skip


def _triton_relu(z: Tensor, table: Tensor, pairs: SparsePattern | None, mask: Mask | None) -> Tensor:
    return _relu(_table(pairs, mask, z, table), z, table, None if mask is None else mask.seed)[0]


def _triton_join(z: Tensor, x: Tensor, table: Tensor, pairs: SparsePattern | None) -> Tensor:
    return _join(_table(pairs, None, z, x, table), z, x, table)[0]


SHIFTED_RELU = Operation(
    "shifted_relu", Implementation("triton", _triton_declines, _triton_relu), definition(_plain_shifted_relu)
)
JOIN = Operation("join", Implementation("triton", _triton_declines, _triton_join), definition(_plain_join))
