"""Sums over the rows of a pattern on a CPU: by ``sums.c``, or by PyTorch's embedding bag without it."""

from __future__ import annotations

from ctypes import c_int64, c_void_p
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ehnn._utils.malloc import on_large_pages
from ehnn.hypergraph import SparsePattern

from .._native.compiled import library, missing
from .._native.threads import in_threads
from ..dispatch import FOR_CPUS, not_on, other_backend
from .linear_map import Csr, apply_sum, not_summable, same_factor, sum_of
from .naive import scaled

PAIRS_PER_THREAD = 2**20
"""Least numbers that each thread adds up; with fewer, starting a thread costs more than it saves."""


def supports(x: Tensor, pairs: SparsePattern, *_: Any) -> str | None:
    """Why the C kernel does not take these, or None."""
    return not_on(x, "cpu") or missing("sums", x.dtype) or not_summable(x, pairs)


def run(x: Tensor, pairs: SparsePattern, of_rows: Tensor | None, of_cols: Tensor | None) -> Tensor:
    """`segment_sum` by the C kernel."""
    return apply_sum(x, sum_of(compiled_sum, pairs, of_rows, of_cols))


def supports_bag(x: Tensor, pairs: SparsePattern, *_: Any) -> str | None:
    """Why an embedding bag does not take these, or None."""
    elsewhere = None if x.is_cpu else FOR_CPUS
    return other_backend(x, "cpu") or elsewhere or not_summable(x, pairs)


def run_bag(x: Tensor, pairs: SparsePattern, of_rows: Tensor | None, of_cols: Tensor | None) -> Tensor:
    """`segment_sum` without the gather; about ten times the speed of the naive version."""
    return apply_sum(x, sum_of(_bag, pairs, of_rows, of_cols))


def _bag(x: Tensor, csr: Csr, of_rows: Tensor | None, of_cols: Tensor | None) -> Tensor:
    return same_factor(bag(scaled(x, of_cols), csr[0], csr[1]), of_rows)


def bag(x: Tensor, ptr: Tensor, index: Tensor, weight: Tensor | None = None) -> Tensor:
    """``[cols, d] → [rows, d]``; ``weight [pairs]`` weighs the pairs."""
    return torch.embedding_bag(x, index, ptr, False, 0, False, weight, True)[0]


def plain_kernel(x: Tensor, csr: Csr) -> Tensor:
    """``[cols, d] → [rows, d]`` by the faster of the two, for kernels that need a sum."""
    if x.is_cpu and missing("sums", x.dtype) is None:
        return compiled_sum(x, csr, None, None)
    return bag(x, csr[0], csr[1])


def compiled_sum(x: Tensor, csr: Csr, of_rows: Tensor | None, of_cols: Tensor | None) -> Tensor:
    """``[cols, d] → [rows, d]``: diag(of_rows) A diag(of_cols) x."""
    function = _function(x.dtype)
    of_rows, of_cols = (None if t is None else t.to(x.dtype).contiguous() for t in (of_rows, of_cols))
    x, ptr, index = x.contiguous(), csr[0].contiguous(), csr[1].contiguous()
    rows, d = ptr.shape[0] - 1, x.shape[1]
    y = on_large_pages(x.new_empty(rows, d))
    given = (d, *(None if t is None else t.data_ptr() for t in (x, ptr, index, of_rows, of_cols, y)))
    threads = min(torch.get_num_threads(), index.shape[0] * d // PAIRS_PER_THREAD)
    if threads <= 1:
        function(0, rows, *given)
        return y
    ends = _ends(ptr, threads)
    in_threads(threads, lambda a, b: function(a, b, *given), ends[:-1], ends[1:])
    return y


def _ends(ptr: Tensor, parts: int) -> list[int]:
    """Rows that cut the pairs into ``parts`` of about the same size."""
    pairs = ptr[-1:] * torch.arange(1, parts) // parts
    return [0, *torch.searchsorted(ptr, pairs).tolist(), ptr.shape[0] - 1]


@cache
def _function(dtype: torch.dtype) -> Any:
    made = library("sums", dtype)
    assert made is not None
    made.segment_sum.argtypes = [c_int64] * 3 + [c_void_p] * 6
    made.segment_sum.restype = None
    return made.segment_sum
