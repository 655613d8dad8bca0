"""Sums over the rows of a pattern on a GPU."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ehnn.hypergraph import SparsePattern

from ..autograd import opaque
from ..dispatch import not_on
from .linear_map import Csr, apply_sum, not_summable, sum_of


def supports(x: Tensor, pairs: SparsePattern, *_: Any) -> str | None:
    """Why the Triton kernel does not take these, or None."""
    return not_on(x, "triton") or not_summable(x, pairs)


def run(x: Tensor, pairs: SparsePattern, of_rows: Tensor | None, of_cols: Tensor | None) -> Tensor:
    """`segment_sum` by the Triton kernel."""
    return apply_sum(x, sum_of(kernel, pairs, of_rows, of_cols, cut=True))


def kernel(x: Tensor, csr: Csr, of_rows: Tensor | None, of_cols: Tensor | None) -> Tensor:
    """``[cols, d] → [rows, d]``."""
    ptr, index, split = csr
    chunk_ptr, row_ptr = split or (None, None)
    return _sum(x, ptr, index, chunk_ptr, row_ptr, of_rows, of_cols)


def _fake(x: Tensor, ptr: Tensor, *_: Any) -> Tensor:
    return x.new_empty(ptr.shape[0] - 1, x.shape[1])


@opaque("ehnn::segment_sum", _fake)
def _sum(
    x: Tensor, ptr: Tensor, index: Tensor, chunk_ptr: Tensor | None, row_ptr: Tensor | None,
    of_rows: Tensor | None, of_cols: Tensor | None,
) -> Tensor:  # fmt: skip
    from .triton_kernels import segment_sum

    split = None if chunk_ptr is None or row_ptr is None else (chunk_ptr, row_ptr)
    return segment_sum(x, ptr, index, split, of_rows, of_cols)
