"""Dropout whose mask is a function of a seed, so that many runs can share one computation."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Dropout that is either PyTorch's own or, once seeded, a pure function of its seed.

    `ehnn.training` gives each run, module and step a seed of its own through the buffer ``seed``. The
    mask is then a hash of (seed, number of rows, element), the same on every device and whether runs
    are trained alone or side by side under ``torch.vmap``, and nothing has to be saved to resume.

    Args:
        p: probability of zero, in [0, 1).
    """

    def __init__(self, p: float = 0.0) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout must be in [0, 1), got {p!r}")
        self.p = p
        self.seeded = False
        self.register_buffer("seed", torch.zeros((), dtype=torch.int64), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as ``x``; identity when not training."""
        if not self.training or self.p == 0:
            return x
        if not self.seeded:
            return nn.functional.dropout(x, self.p)
        seed: Tensor = self.seed  # type: ignore[assignment]
        keep = _uniform(seed + 0x9E3779B9 * x.shape[0], x.shape) >= self.p
        return torch.where(keep, x / (1 - self.p), 0)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def _uniform(seed: Tensor, shape: torch.Size) -> Tensor:
    """Numbers in [0, 1) from a 32-bit integer hash (two multiply-xorshift rounds) of seed + position."""
    value = torch.arange(shape.numel(), device=seed.device).reshape(shape) * 0x85EBCA6B + seed
    for factor in (0x7FEB352D, 0x846CA68B):
        value = value & 0xFFFFFFFF
        value = ((value ^ (value >> 16)) * factor) & 0xFFFFFFFF
    value = value ^ (value >> 15)
    return value.to(torch.float32) * 2.0**-32
