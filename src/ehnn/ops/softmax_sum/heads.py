"""Runs side by side as more heads, and sums that a weight of each pair and head enters."""

from __future__ import annotations

import torch
from torch import Tensor

from ..segment_sum.cpu import bag


def fold(t: Tensor) -> Tensor:
    """``[runs, rows, heads, …] → [rows, runs · heads, …]``, dense."""
    return t[0].contiguous() if t.shape[0] == 1 else t.movedim(0, 1).flatten(1, 2).contiguous()


def unfold(t: Tensor, runs: int) -> Tensor:
    """``[rows, runs · heads, …] → [runs, rows, heads, …]``."""
    return t.unsqueeze(0) if runs == 1 else t.unflatten(1, (runs, -1)).movedim(1, 0)


def weighted_sum(x: Tensor, weight: Tensor, ptr: Tensor, index: Tensor) -> Tensor:
    """``[cols, heads, c]`` with weights ``[pairs, heads]`` → ``[rows, heads, c]``; the loop is over heads."""
    sums = [
        bag(x[:, h].contiguous(), ptr, index, weight[:, h].contiguous().to(x.dtype))
        for h in range(x.shape[1])
    ]
    return torch.stack(sums, 1)
