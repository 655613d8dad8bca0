"""Dropout on a CPU by the kernel in ``dropout.c``, which makes the mask where it is used."""

from __future__ import annotations

from ctypes import c_double, c_int64, c_void_p
from functools import cache
from typing import Any

import torch
from torch import Tensor

from .._native.compiled import library
from .._native.threads import in_threads

NUMBERS_PER_THREAD = 2**20
"""Least numbers for each thread; with fewer, starting a thread costs more than it saves."""


def compiled_dropout(x: Tensor, seed: Tensor, p: float, names: Tensor | None, whole: int | None) -> Tensor:
    """``x [runs, rows, d]`` with ``seed [runs]``; ``names [rows]`` are the rows' numbers in the whole."""
    runs, rows, d = x.shape
    if x.stride(2) != 1 and d > 1:
        x = x.contiguous()
    seed, names = seed.contiguous(), None if names is None else names.contiguous()
    y = x.new_empty(runs, rows, d)
    given = (
        rows, d, rows if whole is None else whole, p, seed.data_ptr(),
        None if names is None else names.data_ptr(), x.data_ptr(), x.stride(0), x.stride(1), y.data_ptr(),
    )  # fmt: skip
    function = _function(x.dtype)
    threads = max(1, min(torch.get_num_threads(), x.numel() // NUMBERS_PER_THREAD))
    ends = [runs * rows * i // threads for i in range(threads + 1)]
    in_threads(threads, lambda a, b: function(a, b, *given), ends[:-1], ends[1:])
    return y


@cache
def _function(dtype: torch.dtype) -> Any:
    made = library("dropout", dtype)
    assert made is not None
    made.dropout.argtypes = [c_int64] * 5 + [c_double] + [c_void_p] * 3 + [c_int64] * 2 + [c_void_p]
    made.dropout.restype = None
    return made.dropout
