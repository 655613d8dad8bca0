"""Sums over the rows of a pattern on a CPU by the kernel in ``sums.c``."""

from __future__ import annotations

from ctypes import c_int64, c_void_p
from functools import cache
from typing import Any

import torch
from torch import Tensor

from .buffers import empty
from .compiled import library
from .threads import in_threads

PAIRS_PER_THREAD = 2**20
"""Numbers that a thread should have to add up before it is worth its start."""


def has_kernel(x: Tensor) -> bool:
    """Whether `compiled_sum` takes x: in float32 or float64, where there is a compiler."""
    return _function(x.dtype) is not None


def compiled_sum(
    x: Tensor, ptr: Tensor, index: Tensor, of_rows: Tensor | None, of_cols: Tensor | None
) -> Tensor:
    """``[cols, d] → [rows, d]``: diag(of_rows) A diag(of_cols) x."""
    function = _function(x.dtype)
    of_rows, of_cols = (None if t is None else t.to(x.dtype).contiguous() for t in (of_rows, of_cols))
    x, ptr, index = x.contiguous(), ptr.contiguous(), index.contiguous()
    rows, d = ptr.shape[0] - 1, x.shape[1]
    y = empty((rows, d), x)
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
    if made is None:
        return None
    made.segment_sum.argtypes = [c_int64] * 3 + [c_void_p] * 6
    made.segment_sum.restype = None
    return made.segment_sum
