"""What the attention operators share: runs side by side as more heads, and sums that a weight each enters."""

from __future__ import annotations

import torch
from torch import Tensor

from .segment_sum import cpu_sum


def fold(t: Tensor, dim: int | None, runs: int) -> Tensor:
    """Runs along ``dim`` (None: the same for all) as more heads: ``[rows, runs · heads, …]``."""
    t = t.unsqueeze(1).expand(t.shape[0], runs, *t.shape[1:]) if dim is None else t.movedim(dim, 1)
    return t.reshape(t.shape[0], runs * t.shape[2], *t.shape[3:])


def unfold(t: Tensor, runs: int) -> Tensor:
    """``[rows, runs · heads, …] → [rows, runs, heads, …]``."""
    return t.reshape(t.shape[0], runs, t.shape[1] // runs, *t.shape[2:])


def weighted_sum(x: Tensor, weight: Tensor, ptr: Tensor, index: Tensor) -> Tensor:
    """``[cols, heads, c]`` with weights ``[pairs, heads]`` → ``[rows, heads, c]``; the loop is over heads."""
    sums = [
        cpu_sum(x[:, h].contiguous(), ptr, index, weight[:, h].contiguous().to(x.dtype))
        for h in range(x.shape[1])
    ]
    return torch.stack(sums, 1)
