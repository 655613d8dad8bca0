r"""A whole φ as one kernel of a GPU: LayerNorm, two or three products and what is between them.

.. math::
    n &= \gamma \hat x + \beta, \quad \hat x = (x - \mu) / \sigma \\
    h_1 &= \mathrm{act}(W_1 n + t_{o}), \quad h_2 = \mathrm{act}(W_2 h_1 + b_2), \quad
    y = x + W_3 h_2 + r_{m}

for each row, with act = dropout ∘ relu, t the row of its order in a table and r the row of a second table,
the residual plus b₃. Without a second hidden layer h₂ is h₁. Nothing but x is kept: the backward pass makes
h₁ and h₂ again and follows the formulas of `triton`, where the gradient of r is that of b₃ by rows of m.

It is off unless the environment variable ``EHNN_FUSED_PHI`` is 1. It agrees with the definition in Triton's
interpreter, but its present form has not yet been measured on a GPU.

A float32 product is six bfloat16 products on tensor cores: each number is a sum of three with 8 bits, and
what the six leave out is 2⁻²⁴ of the product. It is one TF32 product where
`torch.set_float32_matmul_precision` allows that. Rows in bfloat16, and autocast to it, take one bfloat16
product. Sums and everything between products are float32.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, List  # noqa: UP035 (PyTorch 2.6 knows no list[Tensor] in an operator)

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern

from ..autograd import differentiable, opaque
from ..dispatch import in_forward_mode, not_on, tf32
from ..dropout import Mask, drawn
from ..segment_sum.linear_map import Sum, sum_of, transposed_runs
from ..segment_sum.triton import kernel as triton_sum
from .naive import PhiWeights, Residual
from .steps import first_layer

FEW_ORDERS = 64
"""Up to so many rows of a table the kernel makes its gradient too; beyond, a segment sum does."""
WIDTHS = (16, 32, 64)
ENABLED = os.environ.get("EHNN_FUSED_PHI") == "1"


def supports(
    x: Tensor, codes: Tensor | None, orders: SparsePattern | None, weights: PhiWeights,
    masks: tuple[Mask | None, ...], residual: Residual | None,
) -> str | None:  # fmt: skip
    """Why the fused kernel does not take these, or None; empty while it is switched off."""
    if not ENABLED:
        return ""
    reason = not_on(x, "triton") or drawn(*masks)
    if reason:
        return reason
    d, d_out = x.shape[1], weights.last[0].shape[0]
    if weights.gamma is None or len(weights.hidden) > 2:
        return "it takes a LayerNorm and one or two hidden layers"
    kind = _autocast(x)
    if x.dtype not in (torch.float32, torch.bfloat16) or kind not in (None, torch.bfloat16):
        return f"it takes float32 and bfloat16, got {x.dtype}" + (
            "" if kind is None else f" in autocast to {kind}"
        )
    if d != d_out or d not in WIDTHS:
        return f"it takes equal widths among {WIDTHS}, got {d} and {d_out}"
    if not torch.compiler.is_compiling() and not x.shape[0]:
        return "there are no rows"
    return "it has no forward-mode derivative" if in_forward_mode() else None


def run(
    x: Tensor, codes: Tensor | None, orders: SparsePattern | None, weights: PhiWeights,
    masks: tuple[Mask | None, ...], residual: Residual | None,
) -> Tensor:  # fmt: skip
    """`phi`."""
    w1, table = first_layer(x.shape[1], codes, weights)
    w3, b3 = weights.last
    last, rows = (b3.unsqueeze(0), None) if residual is None else (residual[0] + b3, residual[1])
    both = [None if t.shape[0] == 1 else pairs for t, pairs in ((table, orders), (last, rows))]
    seeds = [None if mask is None else mask.seed for mask in masks]
    constants = [(0.0, None, None) if mask is None else (mask.p, mask.rows, mask.whole) for mask in masks]
    missing = 2 - len(masks)
    kind = _autocast(x) or x.dtype
    of = Fused(
        [None if pairs is None else pairs.index for pairs in both],
        [None if pairs is None else sum_of(triton_sum, pairs, cut=True) for pairs in both],
        constants + [(0.0, None, None)] * missing,
        1 if kind == torch.bfloat16 or tf32() else 2,
        kind,
    )
    middle = weights.hidden[1] if missing == 0 else (None, None)
    given = x, table, last, *seeds, *[None] * missing, weights.gamma, weights.beta, w1, *middle, w3
    return _function(of, *given)[0]


def _autocast(x: Tensor) -> torch.dtype | None:
    """The dtype that autocast asks of products, or None outside of it."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None


@dataclass(eq=False)
class Fused:
    """What is constant: of both tables, where rows find their number and how the rows of a number are added
    up; (p, rows, whole) of both masks; how products are made; the dtype of y."""

    index: list[Tensor | None]
    sums: list[Sum | None]
    masks: list[tuple[float, Tensor | None, int | None]]
    parts: int
    dtype: torch.dtype

    def with_seeds(self, seed1: Tensor | None, seed2: Tensor | None) -> tuple[Any, ...]:
        return seed1, *self.masks[0], seed2, *self.masks[1], self.parts


def _phi_forward(
    of: Fused, x: Tensor, table: Tensor, last: Tensor, seed1: Any, seed2: Any, gamma: Tensor, beta: Tensor,
    w1: Tensor, w2: Any, b2: Any, w3: Tensor,
) -> tuple[Tensor, ...]:  # fmt: skip
    params = [gamma, beta, w1, w3] if w2 is None else [gamma, beta, w1, w2, b2, w3]
    given = of.with_seeds(seed1, seed2)
    return _forward(x, table, of.index[0], last, of.index[1], params, *given, of.dtype)  # type: ignore[call-arg]


def _phi_backward(of: Fused, kept: Any, grads: Any) -> tuple[Any, ...]:
    *tensors, halves, scales, shifted = kept
    x, table, last, seed1, seed2, *all_params = tensors
    params, given = [p for p in all_params if p is not None], of.with_seeds(seed1, seed2)
    lasts = last.shape[1]
    dx, made, sums, dz = _backward(grads[0], x, halves, scales, shifted, of.index[0], lasts, params, *given)
    (runs, _, d), squares = x.shape, len(params) // 2
    w1, gamma, beta = made.split([d * d, d, d], 1)
    matrices, vectors = sums.split([squares * d * d, sums.shape[1] - squares * d * d], 1)
    matrices, vectors = matrices.reshape(runs, squares, d, d), vectors.reshape(runs, -1, d)
    middle = (matrices[:, 1], vectors[:, 2]) if squares == 3 else (None, None)
    by_order = vectors[:, :1] if of.sums[0] is None else vectors[:, squares:]
    of_last = vectors[:, 1:2] if of.sums[1] is None else transposed_runs(of.sums[1], grads[0])
    of_table = transposed_runs(of.sums[0], dz) if of.sums[0] is not None and dz.shape[1] else by_order
    found = of_table, of_last, None, None, gamma, beta, w1.reshape(runs, d, d), *middle, matrices[:, -1].mT
    return dx, *(None if f is None else f.to(t.dtype) for f, t in zip(found, tensors[1:], strict=True))


def _fake(
    x: Tensor, table: Tensor, index: Any, last: Tensor, last_index: Any, params: Any, *given: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    (runs, _, d), squares = x.shape, len(params) // 2
    y = torch.empty_like(x, dtype=given[-1])
    halves = x.new_empty(runs, squares, 2, d, d, dtype=torch.float16)
    scales, shifted = (x.new_empty(s, dtype=torch.float32) for s in ((runs, squares), table.shape))
    return y, halves, scales, shifted


def _fake_backward(
    grad: Tensor, x: Tensor, halves: Tensor, scales: Tensor, shifted: Tensor, *_: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    (runs, rows, d), squares, orders = x.shape, halves.shape[1], shifted.shape[1]
    few = orders <= FEW_ORDERS
    size = squares * (d + 1) * d + (orders * d if few else 0)
    shapes = (runs, (d + 2) * d), (runs, size), (runs, 0 if few else rows, d)
    return torch.empty_like(x), *(x.new_empty(shape, dtype=torch.float32) for shape in shapes)  # type: ignore[return-value]


@opaque("ehnn::fused_phi", _fake)
def _forward(
    x: Tensor, table: Tensor, index: Tensor | None, last: Tensor, last_index: Tensor | None,
    params: List[Tensor], seed1: Tensor | None, p1: float, rows1: Tensor | None, whole1: int | None,  # noqa: UP006
    seed2: Tensor | None, p2: float, rows2: Tensor | None, whole2: int | None, parts: int,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    from .fused_kernels import forward

    masks = (seed1, p1, rows1, whole1), (seed2, p2, rows2, whole2)
    return forward(x, table, index, last, last_index, params, masks, parts, dtype)


@opaque("ehnn::fused_phi_backward", _fake_backward)
def _backward(
    grad: Tensor, x: Tensor, halves: Tensor, scales: Tensor, shifted: Tensor, index: Tensor | None,
    lasts: int, params: List[Tensor], seed1: Tensor | None, p1: float, rows1: Tensor | None,  # noqa: UP006
    whole1: int | None, seed2: Tensor | None, p2: float, rows2: Tensor | None, whole2: int | None, parts: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    from .fused_kernels import backward

    masks = (seed1, p1, rows1, whole1), (seed2, p2, rows2, whole2)
    return backward(grad, x, halves, scales, shifted, index, lasts, params, masks, parts)


_function = differentiable(
    "fused_phi", _phi_forward, _phi_backward,
    keep=lambda of, tensors, outputs: (*tensors, *outputs[1:]),
)  # fmt: skip
