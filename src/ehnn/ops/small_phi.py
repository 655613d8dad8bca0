r"""A whole narrow φ as one kernel: LayerNorm, three small products with what stands between them, residual.

.. math::
    n &= \gamma \hat x + \beta, \quad \hat x = (x - \mu) / \sigma \\
    h_1 &= \mathrm{act}(W_1 n + t_{o}), \quad h_2 = \mathrm{act}(W_2 h_1 + b_2), \quad
    y = x + W_3 h_2 + b_3

for each row, with act = dropout ∘ relu and t the row of its order in a table. At small sizes the launches of
a dozen kernels cost far more than the arithmetic. The backward pass makes h₁ and h₂ again from x, and with
the gradient ȳ of a row and act′ (1/(1 − p) where h > 0, else 0)

.. math::
    \bar z_2 &= \mathrm{act}' \cdot W_3^\top \bar y, \quad \bar z_1 = \mathrm{act}' \cdot W_2^\top \bar z_2,
    \quad \bar n = W_1^\top \bar z_1, \quad \bar{\hat x} = \gamma \bar n \\
    \bar x &= \bar y + \tfrac1\sigma \left( \bar{\hat x} - \mathrm{mean}(\bar{\hat x})
    - \hat x \, \mathrm{mean}(\hat x \bar{\hat x}) \right)

while the parameters get sums over the rows:

.. math::
    \bar W_3 &= \textstyle\sum \bar y h_2^\top, \quad \bar W_2 = \sum \bar z_2 h_1^\top, \quad
    \bar W_1 = \sum \bar z_1 n^\top, \quad \bar b_3 = \sum \bar y, \quad \bar b_2 = \sum \bar z_2 \\
    \bar\gamma &= \textstyle\sum \hat x \bar n, \quad \bar\beta = \sum \bar n, \quad
    \bar t_o = \sum \bar z_1 \text{ over the rows of order } o
"""

from __future__ import annotations

from typing import Any, List  # noqa: UP035 (PyTorch 2.6 knows no list[Tensor] in an operator)

import torch
import torch.nn.functional as F
from torch import Tensor

from ehnn.hypergraph import Pairs

from .backend import NO_SECOND, apply, backend_of, opaque, tf32
from .dropout import Mask, along_runs, check_rows, fused_mask
from .segment_sum import structure
from .shifted_relu import by_order, shifted_relu

Masks = tuple[Mask | None, Mask | None]
FEW_ORDERS = 16
"""Up to so many orders the kernel makes the table's gradient too; beyond, a segment sum does."""

MOST_ROWS = {16: 32768, 32: 32768, 64: 4096, 128: 4096}
"""By width. Beyond, products of whole matrices are faster than blocks of rows, launches included."""


def small_phi_fits(x: Tensor, d_in: int, d_out: int) -> bool:
    """Whether `small_phi` runs as one kernel: on a GPU, in float32, for few rows of one of a few widths.

    Code that is compiled for any number of rows takes it whatever their number, and is compiled once.
    """
    usual = x.dtype == torch.float32 and backend_of(x) == "triton"
    if not usual or torch.is_autocast_enabled(x.device.type):
        return False
    narrow = d_in == d_out and d_in in MOST_ROWS and (d_in < 128 or tf32())
    return narrow and (torch.compiler.is_compiling() or x.shape[0] <= MOST_ROWS[d_in])


def small_phi(
    x: Tensor, table: Tensor, index_pairs: Pairs | None, gamma: Tensor, beta: Tensor, w1: Tensor, w2: Tensor,
    b2: Tensor, w3: Tensor, b3: Tensor, masks: Masks = (None, None),
) -> Tensor:  # fmt: skip
    """``[rows, d]`` with ``table [orders, d]`` → ``[rows, d]``; one kernel if `small_phi_fits`, else plain.

    Args:
        table: what the first layer adds for each distinct order; one row serves all.
        index_pairs: rows × orders, one each; None if one row serves all.
        gamma, beta: of LayerNorm.
        w1: ``[d, d]``, the part of the first layer that reads x; a slice is read where it lies.
        masks: of the two dropouts.
    """
    for mask in masks:
        check_rows(x, mask)
    if not x.numel() or not small_phi_fits(x, x.shape[1], w1.shape[0]):
        return reference_phi(x, table, index_pairs, gamma, beta, w1, w2, b2, w3, b3, masks)
    one = index_pairs is None or table.shape[0] == 1
    places = [None] * 8 if index_pairs is None or one else structure(index_pairs, x)
    (seed1, *mask1), (seed2, *mask2) = map(fused_mask, masks)
    values = (t.unsqueeze(0) for t in (x, table, gamma, beta, w1, w2, b2, w3, b3))
    return apply(_SmallPhi, *values, seed1, seed2, *mask1, *mask2, *places).squeeze(0)


def reference_phi(
    x: Tensor, table: Tensor, index_pairs: Pairs | None, gamma: Tensor, beta: Tensor, w1: Tensor, w2: Tensor,
    b2: Tensor, w3: Tensor, b3: Tensor, masks: Masks = (None, None),
) -> Tensor:  # fmt: skip
    """Plain version: a kernel for each step."""
    z = F.linear(F.layer_norm(x, x.shape[1:], gamma, beta), w1)
    z = F.linear(shifted_relu(z, table, index_pairs, masks[0]), w2)
    return x + F.linear(shifted_relu(z, b2.unsqueeze(0), None, masks[1]), w3, b3)


class _SmallPhi(torch.autograd.Function):
    """Rows ``[runs, rows, d]`` and parameters ``[runs, …]``; the last eight are `structure`, of all runs."""

    # Dynamo takes the first of a variable number of arguments for a context: all are named.
    @staticmethod
    def forward(
        x: Tensor, table: Tensor, gamma: Tensor, beta: Tensor, w1: Tensor, w2: Tensor, b2: Tensor, w3: Tensor,
        b3: Tensor, seed1: Any, seed2: Any, p1: float, rows1: Any, whole1: Any, p2: float, rows2: Any,
        whole2: Any, ptr: Any, index: Any, chunk_ptr: Any, row_ptr: Any, t0: Any, t1: Any, t2: Any, t3: Any,
    ) -> Tensor:  # fmt: skip
        params = [gamma, beta, w1, w2, b2, w3, b3]
        return _forward(x, table, index, params, seed1, p1, rows1, whole1, seed2, p2, rows2, whole2)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        (p1, rows1, whole1), (p2, rows2, whole2) = inputs[11:14], inputs[14:17]
        ctx.save_for_backward(*inputs[:11], rows1, rows2, *inputs[17:])
        ctx.constants = p1, whole1, p2, whole2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors  # once: a checkpoint hands them out a single time
        values, (rows1, rows2), places = saved[:11], saved[11:13], list(saved[13:])
        p1, whole1, p2, whole2 = ctx.constants
        masks = p1, rows1, whole1, p2, rows2, whole2
        dx, flat, dz = apply(_SmallPhiBackward, grad, *values, *masks, places[1])
        runs, _, d = dx.shape
        *weights, rest = flat.split([d * d] * 3 + [flat.shape[1] - 3 * d * d], 1)
        w1, w2, w3 = (w.reshape(runs, d, d) for w in weights)
        rest = rest.reshape(runs, -1, d)
        b2, b3, gamma, beta = rest[:, :4].unbind(1)
        table = by_order(dz, places) if dz.shape[1] else rest[:, 4:]
        return dx, table, gamma, beta, w1, w2, b2, w3, b3, *[None] * 16

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Tensor, int]:
        return apply(_SmallPhi, *_side_by_side(info.batch_size, in_dims, args, 11)).unsqueeze(1), 0


class _SmallPhiBackward(torch.autograd.Function):
    """`backward` of `triton_phi`."""

    @staticmethod
    def forward(
        grad: Tensor, x: Tensor, table: Tensor, gamma: Tensor, beta: Tensor, w1: Tensor, w2: Tensor,
        b2: Tensor, w3: Tensor, b3: Tensor, seed1: Any, seed2: Any, p1: float, rows1: Any, whole1: Any,
        p2: float, rows2: Any, whole2: Any, index: Any,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        params = [gamma, beta, w1, w2, b2, w3, b3]
        return _backward(grad, x, table, index, params, seed1, p1, rows1, whole1, seed2, p2, rows2, whole2)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(NO_SECOND.format("small_phi"))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[tuple[Tensor, ...], Any]:
        outputs = apply(_SmallPhiBackward, *_side_by_side(info.batch_size, in_dims, args, 12))
        return tuple(t.unsqueeze(1) for t in outputs), (0, 0, 0)


def _side_by_side(runs: int, in_dims: tuple[Any, ...], args: tuple[Any, ...], count: int) -> list[Any]:
    """``args``, of which the first ``count`` belong to a run each, with those as ``[runs, …]``."""
    own = zip(args[:count], in_dims, strict=False)
    return [None if t is None else along_runs(t, d, runs) for t, d in own] + list(args[count:])


@opaque("ehnn::small_phi")
def _forward(
    x: Tensor, table: Tensor, index: Tensor | None, params: List[Tensor], seed1: Tensor | None, p1: float,  # noqa: UP006
    rows1: Tensor | None, whole1: int | None, seed2: Tensor | None, p2: float, rows2: Tensor | None,
    whole2: int | None,
) -> Tensor:  # fmt: skip
    from .triton_phi import forward

    return forward(x, table, index, params, ((seed1, p1, rows1, whole1), (seed2, p2, rows2, whole2)))


@_forward.register_fake
def _(x: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(x)


@opaque("ehnn::small_phi_backward")
def _backward(
    grad: Tensor, x: Tensor, table: Tensor, index: Tensor | None, params: List[Tensor], seed1: Tensor | None,  # noqa: UP006
    p1: float, rows1: Tensor | None, whole1: int | None, seed2: Tensor | None, p2: float,
    rows2: Tensor | None, whole2: int | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    from .triton_phi import backward

    masks = (seed1, p1, rows1, whole1), (seed2, p2, rows2, whole2)
    return backward(grad, x, table, index, params, masks)


@_backward.register_fake
def _(grad: Tensor, x: Tensor, table: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    runs, rows, d = x.shape
    few = table.shape[1] <= FEW_ORDERS
    size = 3 * d * d + (4 + (table.shape[1] if few else 0)) * d
    return torch.empty_like(x), x.new_empty(runs, size), x.new_empty(runs, 0 if few else rows, d)
