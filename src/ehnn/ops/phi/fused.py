r"""A whole φ as one kernel of a GPU: LayerNorm, two or three products and what is between them.

.. math::
    n &= \gamma \hat x + \beta, \quad \hat x = (x - \mu) / \sigma \\
    h_1 &= \mathrm{act}(W_1 n + t_{o}), \quad h_2 = \mathrm{act}(W_2 h_1 + b_2), \quad
    y = x + W_3 h_2 + r_{m}

for each row, with act = dropout ∘ relu, t the row of its order in a table and r the row of a second table,
the residual plus b₃. Without a second hidden layer h₂ is h₁. Nothing but x is kept: the backward pass makes
h₁ and h₂ again and follows the formulas of `triton`, where the gradient of r is that of b₃ by rows of m.

It was checked on Hopper GPUs, where it is on. The environment variable ``EHNN_FUSED_PHI`` says otherwise: 0
switches it off, 1 switches it on for every GPU; older ones may have too little shared memory for it.
Where products have one part (below), many rows of width 64 have a backward pass of their own on Hopper GPUs,
which takes about half the time: `hopper_kernels`.

Products of float32 are three products of halves on tensor cores, see `triton_halves`: as accurate as float32.
One serves where `torch.set_float32_matmul_precision` allows TF32, for rows in bfloat16 and in autocast to it:
11 bits of mantissa, as TF32 has. Sums and everything between products are float32.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import Any, List  # noqa: UP035 (PyTorch 2.6 knows no list[Tensor] in an operator)

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern

from ..autograd import differentiable, opaque
from ..dispatch import in_forward_mode, not_on, old_triton, tf32
from ..dropout import Mask
from ..segment_sum.linear_map import Sum, sum_of, transposed_runs
from ..segment_sum.triton import kernel as triton_sum
from .naive import PhiWeights, Residual

WIDTHS = (32, 64)
FEWEST_ROWS = 64
"""Below, the error of a product of halves may be more than twice that of a float32 product."""
HOPPER_ROWS, HOPPER_ORDERS, HOPPER_TRITONS = 16384, 16, ("3.6",)
"""For `hopper_kernels`: rows that make enough blocks for all programs, distinct orders at most, and releases
of Triton, whose language for one kind of GPU changes with each."""
SWITCH = os.environ.get("EHNN_FUSED_PHI", "")


def supports(
    x: Tensor, codes: Tensor | None, orders: SparsePattern | None, weights: PhiWeights,
    masks: tuple[Mask | None, ...], residual: Residual | None,
) -> str | None:  # fmt: skip
    """Why the fused kernel does not take these, or None."""
    reason = not_on(x, "triton") or switched_off(x) or old_triton()
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
    if not torch.compiler.is_compiling() and x.shape[0] < FEWEST_ROWS:
        return f"it takes at least {FEWEST_ROWS} rows, got {x.shape[0]}"
    return "it has no forward-mode derivative" if in_forward_mode() else None


def run(
    x: Tensor, codes: Tensor | None, orders: SparsePattern | None, weights: PhiWeights,
    masks: tuple[Mask | None, ...], residual: Residual | None,
) -> Tensor:  # fmt: skip
    """`phi`."""
    table, rows = (None, None) if residual is None else residual
    counts = 1 if codes is None else codes.shape[0], 1 if table is None else table.shape[0]
    both = [None if n == 1 else pairs for n, pairs in zip(counts, (orders, rows), strict=True)]
    seeds = [None if mask is None else mask.seed for mask in masks]
    constants = [(0.0, None, None) if mask is None else (mask.p, mask.rows, mask.whole) for mask in masks]
    missing = 2 - len(masks)
    kind = _autocast(x) or x.dtype
    parts = 1 if kind == torch.bfloat16 or tf32() else 2
    of = Fused(
        [None if pairs is None else pairs.index for pairs in both],
        [None if pairs is None else sum_of(triton_sum, pairs, cut=True) for pairs in both],
        constants + [(0.0, None, None)] * missing,
        parts,
        kind,
        _on_hopper(x, counts[0], parts),
    )
    first, *middle = weights.hidden
    given = weights.gamma, weights.beta, *first, *(middle[0] if middle else (None, None)), *weights.last
    return _function(of, x, codes, table, *seeds, *[None] * missing, *given)[0]


def switched_off(x: Tensor) -> str | None:
    """Why it is not used on this GPU, or None."""
    if SWITCH:
        return None if SWITCH == "1" else f"EHNN_FUSED_PHI is {SWITCH}"
    if x.device.type != "cuda" or _generation(x.device) == 9:
        return None
    return "it was checked on Hopper GPUs alone; EHNN_FUSED_PHI=1 uses it on others"


@cache
def _generation(device: torch.device) -> int:
    return torch.cuda.get_device_capability(device)[0]


def _on_hopper(x: Tensor, orders: int, parts: int) -> bool:
    """Whether the backward pass is that of `hopper_kernels`."""
    fits = parts == 1 and x.shape[1] == 64 and orders <= HOPPER_ORDERS and x.device.type == "cuda"
    known = fits and _generation(x.device) == 9 and _triton_release() in HOPPER_TRITONS
    return known and x.shape[0] >= HOPPER_ROWS


@cache
def _triton_release() -> str:
    import triton

    return triton.__version__.rpartition(".")[0]


def _autocast(x: Tensor) -> torch.dtype | None:
    """The dtype that autocast asks of products, or None outside of it."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None


@dataclass(eq=False)
class Fused:
    """The constants: for both tables, the index of each row and the sum for the gradient; (p, rows, whole) of
    both masks; how many halves a number is split into, the dtype of y, and whether the backward pass is that
    of `hopper_kernels`."""

    index: list[Tensor | None]
    sums: list[Sum | None]
    masks: list[tuple[float, Tensor | None, int | None]]
    parts: int
    dtype: torch.dtype
    hopper: bool

    def with_seeds(self, seed1: Tensor | None, seed2: Tensor | None) -> tuple[Any, ...]:
        return seed1, *self.masks[0], seed2, *self.masks[1]


def _phi_forward(
    of: Fused, x: Tensor, codes: Any, residual: Any, seed1: Any, seed2: Any, gamma: Tensor, beta: Tensor,
    w1: Tensor, b1: Tensor, w2: Any, b2: Any, w3: Tensor, b3: Tensor,
) -> tuple[Tensor, ...]:  # fmt: skip
    params = [gamma, beta, w1, b1, *([] if w2 is None else [w2, b2]), w3, b3]
    given = of.with_seeds(seed1, seed2)
    return _forward(x, of.index[0], of.index[1], codes, residual, params, *given, of.parts, of.dtype)  # type: ignore[call-arg]


def _phi_backward(of: Fused, kept: Any, grads: Any) -> tuple[Any, ...]:
    *tensors, halves, scales, table = kept
    x, codes, residual, seed1, seed2, gamma, beta, w1, _, w2, b2, *_ = tensors
    grad, (by_order, by_last), given = grads[0], of.sums, of.with_seeds(seed1, seed2)
    how = *given, of.parts, of.hopper
    dx, sums, dz = _backward(grad, x, halves, scales, table, of.index[0], b2, *how)
    (runs, _, d), squares = x.shape, 2 if w2 is None else 3
    flat, vectors = sums.split([squares * d * d, sums.shape[1] - squares * d * d], 1)
    squared, vectors = flat.reshape(runs, squares, d, d), vectors.reshape(runs, -1, d)
    of_b1, of_b3 = vectors[:, 0], vectors[:, 1]
    of_table = vectors[:, :1]
    if by_order is not None:
        of_table = vectors[:, squares:][:, : table.shape[1]] if of.hopper else transposed_runs(by_order, dz)
    made = _unfold(sums, of_table, codes, gamma, beta, w1, w2 is not None)
    of_w1, of_gamma, of_beta = made.split([w1[0].numel(), d, d], 1)
    middle = (None, None) if w2 is None else (squared[:, 1], vectors[:, 2])
    of_last = None if residual is None else of_b3.unsqueeze(1)
    if by_last is not None:
        of_last = transposed_runs(by_last, grad)
    first = None, of_last, None, None, of_gamma, of_beta, of_w1.reshape(w1.shape), of_b1
    found = *first, *middle, squared[:, -1], of_b3
    return dx, *(None if f is None else f.to(t.dtype) for f, t in zip(found, tensors[1:], strict=True))


def _fake(
    x: Tensor, index: Any, last_index: Any, codes: Any, residual: Any, params: Any, *given: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    (runs, _, d), squares = x.shape, len(params) // 2 - 1
    y = torch.empty_like(x, dtype=given[-1])
    halves = x.new_empty(runs, squares, 2, d, d, dtype=torch.float16)
    shapes = (runs, squares), (runs, 1 if codes is None else codes.shape[1], d)
    return y, halves, *(x.new_empty(s, dtype=torch.float32) for s in shapes)  # type: ignore[return-value]


def _fake_backward(
    grad: Tensor, x: Tensor, halves: Tensor, scales: Tensor, table: Tensor, index: Any, *given: Any
) -> tuple[Tensor, Tensor, Tensor]:
    (runs, rows, d), squares, (*_, hopper) = x.shape, halves.shape[1], given
    by_order = HOPPER_ORDERS if hopper and index is not None else 0
    shapes = (
        (runs, (squares * (d + 1) + by_order) * d),
        (runs, 0 if hopper or index is None else rows, d),
    )
    return torch.empty_like(x), *(x.new_empty(shape, dtype=torch.float32) for shape in shapes)  # type: ignore[return-value]


def _fake_unfold(
    sums: Tensor, table: Tensor, codes: Any, gamma: Any, beta: Any, w1: Tensor, _: Any
) -> Tensor:
    return sums.new_empty(sums.shape[0], w1[0].numel() + 2 * table.shape[2])


@opaque("ehnn::fused_phi", _fake)
def _forward(
    x: Tensor, index: Tensor | None, last_index: Tensor | None, codes: Tensor | None,
    residual: Tensor | None, params: List[Tensor], seed1: Tensor | None, p1: float,  # noqa: UP006
    rows1: Tensor | None, whole1: int | None, seed2: Tensor | None, p2: float, rows2: Tensor | None,
    whole2: int | None, parts: int, dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    from .fused_kernels import forward

    masks = (seed1, p1, rows1, whole1), (seed2, p2, rows2, whole2)
    return forward(x, index, last_index, codes, residual, params, masks, parts, dtype)


@opaque("ehnn::fused_phi_backward", _fake_backward)
def _backward(
    grad: Tensor, x: Tensor, halves: Tensor, scales: Tensor, table: Tensor, index: Tensor | None,
    b2: Tensor | None, seed1: Tensor | None, p1: float, rows1: Tensor | None, whole1: int | None,
    seed2: Tensor | None, p2: float, rows2: Tensor | None, whole2: int | None, parts: int, hopper: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    masks = (seed1, p1, rows1, whole1), (seed2, p2, rows2, whole2)
    if hopper:
        from .hopper_kernels import backward as backward_on_hopper

        dx, sums = backward_on_hopper(grad, x, halves, scales, table, index, b2, masks)
        return dx, sums, sums.new_empty(x.shape[0], 0, x.shape[2])
    from .fused_kernels import backward

    return backward(grad, x, halves, scales, table, index, b2, masks, parts)


@opaque("ehnn::fused_phi_unfold", _fake_unfold)
def _unfold(
    sums: Tensor, table: Tensor, codes: Tensor | None, gamma: Tensor, beta: Tensor, w1: Tensor, deep: bool
) -> Tensor:
    from .fused_kernels import unfold

    return unfold(sums, table, codes, gamma, beta, w1, deep)


_function = differentiable(
    "fused_phi", _phi_forward, _phi_backward,
    keep=lambda of, tensors, outputs: (*tensors, *outputs[1:]),
)  # fmt: skip
