"""The definitions of `generated_matmul` and `generated_mix`: all matrices at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..grouped_matmul import grouped_matmul


def reference_matmul(
    x: Tensor, make: Callable[[Tensor], Tensor], keys: Tensor, ptr: Tensor, ends: Sequence[int], d_out: int
) -> Tensor:
    """``[rows, d_in], [groups, c] → [rows, d_out]``."""
    return grouped_matmul(x, make(keys).to(x.dtype), ptr)


def reference_mix(x: Tensor, make: Callable[[Tensor], Tensor], keys: Tensor, d_out: int) -> Tensor:
    """``[members, K, d_in], [K, L, c] → [members, L, d_out]``."""
    matrices = make(keys.flatten(0, 1)).reshape(*keys.shape[:2], x.shape[-1], d_out)
    return torch.einsum("bki,klio->blo", x, matrices.to(x.dtype))
