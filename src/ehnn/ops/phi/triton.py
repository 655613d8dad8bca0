r"""A whole narrow φ as one kernel of a GPU: LayerNorm, three small products and what is between them.

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

from dataclasses import dataclass
from typing import Any, List  # noqa: UP035 (PyTorch 2.6 knows no list[Tensor] in an operator)

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern

from ..autograd import differentiable, opaque
from ..dispatch import in_forward_mode, not_on, tf32
from ..dropout import Mask
from ..segment_sum.linear_map import Sum, sum_of, transposed_runs
from ..segment_sum.triton import kernel as triton_sum
from .naive import PhiWeights, Residual
from .steps import added, first_layer

FEW_ORDERS = 16
"""Up to so many orders the kernel makes the table's gradient too; beyond, a segment sum does."""

MOST_ROWS = {16: 32768, 32: 32768, 64: 4096, 128: 4096}
"""By width. Beyond, products of whole matrices are faster than blocks of rows, launches included."""


def supports(
    x: Tensor, codes: Tensor | None, orders: SparsePattern | None, weights: PhiWeights,
    masks: tuple[Mask | None, ...], residual: Residual | None,
) -> str | None:  # fmt: skip
    """Why the Triton kernel does not take these, or None.

    Code that is compiled for any number of rows takes it for every number, and is compiled once.
    """
    reason = not_on(x, "triton")
    if reason:
        return reason
    d, d_out = x.shape[1], weights.last[0].shape[0]
    if weights.gamma is None or len(weights.hidden) != 2:
        return "it takes a LayerNorm and two hidden layers"
    if x.dtype != torch.float32 or torch.is_autocast_enabled(x.device.type):
        return "it takes float32 outside of autocast"
    if d != d_out or d not in MOST_ROWS or (d == 128 and not tf32()):
        return f"it takes equal widths of 16, 32, 64 and, where TF32 is allowed, 128, got {d} and {d_out}"
    if not torch.compiler.is_compiling() and not 0 < x.shape[0] <= MOST_ROWS[d]:
        return f"it takes 1 to {MOST_ROWS[d]} rows of width {d}, got {x.shape[0]}"
    return "it has no forward-mode derivative" if in_forward_mode() else None


def run(
    x: Tensor, codes: Tensor | None, orders: SparsePattern | None, weights: PhiWeights,
    masks: tuple[Mask | None, ...], residual: Residual | None,
) -> Tensor:  # fmt: skip
    """`phi`."""
    (_, _), (w2, b2) = weights.hidden
    w1, table = first_layer(x.shape[1], codes, weights)
    pairs = None if table.shape[0] == 1 else orders
    sums = None if pairs is None else sum_of(triton_sum, pairs, cut=True)
    seeds = [None if mask is None else mask.seed for mask in masks]
    constants = [(0.0, None, None) if mask is None else (mask.p, mask.rows, mask.whole) for mask in masks]
    of = Narrow(None if pairs is None else pairs.index, sums, constants)
    y = _function(of, x, table, weights.gamma, weights.beta, w1, w2, b2, *weights.last, *seeds)[0]
    return added(y, residual)


@dataclass(eq=False)
class Narrow:
    """The constants: the index of the order of each row, its sum, and (p, rows, whole) of each mask."""

    index: Tensor | None
    sums: Sum | None
    masks: list[tuple[float, Tensor | None, int | None]]

    def with_seeds(self, seed1: Tensor | None, seed2: Tensor | None) -> tuple[Any, ...]:
        return seed1, *self.masks[0], seed2, *self.masks[1]


def _phi_forward(
    of: Narrow, x: Tensor, table: Tensor, gamma: Tensor, beta: Tensor, w1: Tensor, w2: Tensor, b2: Tensor,
    w3: Tensor, b3: Tensor, seed1: Any, seed2: Any,
) -> tuple[Tensor, ...]:  # fmt: skip
    params = [gamma, beta, w1, w2, b2, w3, b3]
    return (_forward(x, table, of.index, params, *of.with_seeds(seed1, seed2)),)


def _phi_backward(of: Narrow, kept: Any, grads: Any) -> tuple[Any, ...]:
    x, table, *params, seed1, seed2 = kept
    dx, flat, dz = _backward(grads[0], x, table, of.index, params, *of.with_seeds(seed1, seed2))
    runs, _, d = dx.shape
    *weights, rest = flat.split([d * d] * 3 + [flat.shape[1] - 3 * d * d], 1)
    w1, w2, w3 = (w.reshape(runs, d, d) for w in weights)
    rest = rest.reshape(runs, -1, d)
    b2, b3, gamma, beta = rest[:, :4].unbind(1)
    if not dz.shape[1]:
        of_table = rest[:, 4:]
    else:
        of_table = dz.sum(1, keepdim=True) if of.sums is None else transposed_runs(of.sums, dz)
    return dx, of_table, gamma, beta, w1, w2, b2, w3, b3, None, None


def _fake(x: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(x)


def _fake_backward(grad: Tensor, x: Tensor, table: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    runs, rows, d = x.shape
    few = table.shape[1] <= FEW_ORDERS
    size = 3 * d * d + (4 + (table.shape[1] if few else 0)) * d
    return torch.empty_like(x), x.new_empty(runs, size), x.new_empty(runs, 0 if few else rows, d)


@opaque("ehnn::small_phi", _fake)
def _forward(
    x: Tensor, table: Tensor, index: Tensor | None, params: List[Tensor], seed1: Tensor | None, p1: float,  # noqa: UP006
    rows1: Tensor | None, whole1: int | None, seed2: Tensor | None, p2: float, rows2: Tensor | None,
    whole2: int | None,
) -> Tensor:  # fmt: skip
    from .triton_kernels import forward

    return forward(x, table, index, params, ((seed1, p1, rows1, whole1), (seed2, p2, rows2, whole2)))


@opaque("ehnn::small_phi_backward", _fake_backward)
def _backward(
    grad: Tensor, x: Tensor, table: Tensor, index: Tensor | None, params: List[Tensor], seed1: Tensor | None,  # noqa: UP006
    p1: float, rows1: Tensor | None, whole1: int | None, seed2: Tensor | None, p2: float,
    rows2: Tensor | None, whole2: int | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    from .triton_kernels import backward

    masks = (seed1, p1, rows1, whole1), (seed2, p2, rows2, whole2)
    return backward(grad, x, table, index, params, masks)


_function = differentiable(
    "small_phi", _phi_forward, _phi_backward, keep=lambda of, tensors, outputs: tensors
)
