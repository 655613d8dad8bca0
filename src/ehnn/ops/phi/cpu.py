r"""φ on a CPU as one kernel in C (``phi.c``), with a hand-written gradient: the formulas of `triton`.

Rows are taken in blocks that stay in the cache. What all rows share is taken together first: the codes e of
the orders, and LayerNorm's γ and β, go into the first layer,

.. math:: W_1 (\gamma \hat x + \beta) + W_e e_o + b_1 = A \hat x + t_o, \quad A = W_1 \mathrm{diag}(\gamma)

so that the loops over rows do not use them. With :math:`M = \sum \bar z_1 \hat x^\top` and
:math:`s = \sum \bar z_1`, sums over the rows that are needed anyway,

.. math:: \bar W_1 = M \mathrm{diag}(\gamma) + s \beta^\top, \quad
    \bar\gamma_c = \textstyle\sum_j W_{1,jc} M_{jc}, \quad \bar\beta = W_1^\top s

The hidden layers of few rows are kept for the gradient; those of many are made again, block by block.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern

from .._native.compiled import missing
from ..autograd import differentiable
from ..dispatch import in_forward_mode, not_on, transformed
from ..dropout import Mask
from ..memory import bound
from .calls import ROWS_PER_THREAD, Shared, backward, forward
from .naive import PhiWeights, Residual

WIDEST = 256
"""Most channels. With more, the weights do not stay in the cache and PyTorch's products are faster."""

FEW = 2**18
"""Numbers in the rows up to which the hidden layers are kept for the gradient."""

RUN = 2**15
"""With many runs, a run with at least this many elements gets its own thread."""


def supports(
    x: Tensor, codes: Tensor | None, orders: SparsePattern | None, weights: PhiWeights,
    masks: tuple[Mask | None, ...], residual: Residual | None,
) -> str | None:  # fmt: skip
    """Why the C kernel does not take these, or None."""
    if len(weights.hidden) != 2:
        return f"it takes two hidden layers, got {len(weights.hidden)}"
    reason = unfit(x, weights.last[0].shape[0])
    if reason:
        return reason
    if x.dtype != weights.last[0].dtype or (codes is not None and codes.dtype != x.dtype):
        return "x, codes and parameters have several dtypes"
    return None if x.numel() else "there are no rows"


def unfit(x: Tensor, d_out: int) -> str | None:
    """Why C kernels do not take these rows, whatever the parameters, or None."""
    d_in = x.shape[1]
    reason = not_on(x, "cpu")
    if reason:
        return reason
    if d_in != d_out:
        return f"the width changes from {d_in} to {d_out}"
    if d_in > WIDEST:
        return f"{d_in} channels are more than {WIDEST}"
    if (d_in * x.element_size()) % 64:
        return f"{d_in} channels of {x.dtype} do not fill vectors of 64 bytes"
    if torch.is_autocast_enabled("cpu"):
        return "autocast is on"
    if in_forward_mode():
        return "it has no forward-mode derivative"
    return missing("phi", x.dtype)


def run(
    x: Tensor, codes: Tensor | None, orders: SparsePattern | None, weights: PhiWeights,
    masks: tuple[Mask | None, ...], residual: Residual | None,
) -> Tensor:  # fmt: skip
    """`phi`."""
    (first, b1), (w2, b2) = weights.hidden
    w3, b3 = weights.last
    index = None if codes is None or orders is None or codes.shape[0] == 1 else orders.index
    last, last_index = b3.unsqueeze(0), None
    if residual is not None:
        table, pairs = residual
        last, last_index = table + b3, None if pairs is None or len(table) == 1 else pairs.index
    values = (x, weights.gamma, weights.beta, first, b1, w2, b2, w3, last)
    _check(values, (index, last_index), codes)
    keep = bound(x.shape[0]) is None and x.numel() <= FEW
    seeds = tuple(None if mask is None else mask.seed for mask in masks)
    shared = Shared(codes, index, last_index, masks, keep)
    if torch.is_grad_enabled() or transformed():
        return _function(shared, *values, *seeds)[0]
    return forward(values, seeds, shared, gradient=False)[0]


def _check(values: tuple[Any, ...], places: tuple[Tensor | None, ...], codes: Tensor | None) -> None:
    """The kernel does not check what it reads: dtypes and shapes must be those that it expects."""
    x, gamma, beta, *others = values
    (rows, d), code = x.shape, 0 if codes is None else codes.shape[1]
    floats = others if gamma is None else [gamma, beta, *others]
    if any(t.dtype != x.dtype for t in floats) or (codes is not None and codes.dtype != x.dtype):
        kinds = {x.dtype, *(t.dtype for t in floats)} | (set() if codes is None else {codes.dtype})
        raise ValueError(f"x, parameters and codes must be of one dtype, got {sorted(map(str, kinds))}")
    shapes = [tuple(t.shape) for t in floats[:-1]]
    wanted = [*([(d,), (d,)] if gamma is not None else []), (d, d + code), (d,), (d, d), (d,), (d, d)]
    if shapes != wanted:
        raise ValueError(f"γ, β, first, b₁, W₂, b₂, W₃ must have shapes {wanted}, got {shapes}")
    for index in places:
        if index is not None and tuple(index.shape) != (rows,):
            raise ValueError(f"each of {rows} rows must have one order, got {list(index.shape)}")


def _forward(shared: Shared, *tensors: Any) -> tuple[Tensor, ...]:
    return forward(tensors[:9], tensors[9:], shared, gradient=True)


def _backward(shared: Shared, kept: Any, grads: Any) -> tuple[Any, ...]:
    """``kept``: of the forward pass, then the tensors."""
    return *backward(grads[0], kept[0], kept[1:10], kept[10:], shared), None, None


def _threads(own: Any) -> int:
    """Threads for the runs of a batch, each with tensors like ``own``: one, unless runs are large."""
    x = next(t for t in own if t is not None and t.dim() == 2)
    worth = x.numel() >= RUN and x.shape[0] < 2 * ROWS_PER_THREAD
    return torch.get_num_threads() if worth else 1


_function = differentiable(
    "cpu_phi", _forward, _backward, keep=lambda shared, tensors, outputs: (outputs[1], *tensors),
    runs="looped", threads=_threads,
)  # fmt: skip
