"""A sum over a pattern as a linear map for autograd: kernels of both directions, and rows of any shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern

from ..autograd import differentiable

Csr = tuple[Tensor, Tensor, tuple[Tensor, Tensor] | None]
"""A pattern in compressed rows: ``ptr``, ``index``, and the chunks of long rows (`SparsePattern.split`)."""


@dataclass(eq=False)
class Sum:
    """diag(of_rows) A diag(of_cols), by ``kernel(x [cols, d], csr, of_rows, of_cols) -> [rows, d]``."""

    kernel: Callable[[Tensor, Csr, Tensor | None, Tensor | None], Tensor]
    rows: Csr
    columns: Csr
    of_rows: Tensor | None = None
    of_cols: Tensor | None = None

    def transposed(self) -> Sum:
        return replace(self, rows=self.columns, columns=self.rows, of_rows=self.of_cols, of_cols=self.of_rows)


def sum_of(
    kernel: Any,
    pairs: SparsePattern,
    of_rows: Tensor | None = None,
    of_cols: Tensor | None = None,
    cut: bool = False,
) -> Sum:
    """The sum over ``pairs``; ``cut`` says that the kernel takes long rows in chunks."""
    return Sum(kernel, *csr_of(pairs, cut), of_rows, of_cols)


def csr_of(pairs: SparsePattern, cut: bool) -> tuple[Csr, Csr]:
    """The pattern by rows and by columns, with ``cut`` in chunks where these are long."""
    split, t_split = (pairs.split, pairs.t_split) if cut else (None, None)
    return (pairs.ptr, pairs.index, split), (pairs.t_ptr, pairs.t_index, t_split)


def apply_sum(x: Tensor, of: Sum) -> Tensor:
    """``[cols, …] → [rows, …]``, differentiable any number of times."""
    if x.dim() == 2:
        return _function(of, x)[0]
    y = _function(of, x.flatten(1) if x.dim() > 1 else x.unsqueeze(1))[0]
    return y.reshape(y.shape[0], *x.shape[1:])


def _forward(of: Sum, x: Tensor) -> tuple[Tensor, ...]:
    """Runs side by side are more channels of one sum."""
    runs, cols, d = x.shape
    flat = x[0] if runs == 1 else x.movedim(0, 1).reshape(cols, runs * d)
    y = of.kernel(flat.contiguous(), of.rows, of.of_rows, of.of_cols)
    return (y.reshape(y.shape[0], runs, d).movedim(1, 0) if runs != 1 else y.unsqueeze(0),)


def _backward(of: Sum, kept: Any, grads: Any, depth: int, needs: Any) -> tuple[Tensor, ...]:
    return _function(of.transposed(), grads[0], depth=depth)


def _jvp(of: Sum, tensors: Any, tangents: Any, depth: int) -> tuple[Tensor, ...]:
    return _function(of, tangents[0], depth=depth)


_function = differentiable(
    "SegmentSum", _forward, _backward, keep=lambda of, tensors, outputs: (), twice=True, jvp=_jvp
)


def transposed_runs(of: Sum, x: Tensor) -> Tensor:
    """``[runs, rows, d] → [runs, cols, d]``: the transposed sum, for the kernels of gradients."""
    return _forward(of.transposed(), x)[0]


def not_summable(x: Tensor, pairs: SparsePattern) -> str | None:
    """Why a kernel cannot take ``x``: nothing to add up."""
    return "there is nothing to add up" if len(pairs) == 0 or x.shape[1:].numel() == 0 else None


def same_factor(y: Tensor, factors: Tensor | None) -> Tensor:
    """Rows of a fresh ``y [rows, d]`` times ``factors``."""
    if factors is None:
        return y
    factor = factors.to(y.dtype).unsqueeze(1)
    # PyTorch 2.11 compiles a function that changes its own result into one without a gradient.
    return y * factor if torch.compiler.is_compiling() else y.mul_(factor)
