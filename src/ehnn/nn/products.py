"""Products of rows with a matrix."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn.ops import linear


class Linear(nn.Linear):
    """`torch.nn.Linear` of rows, by `ehnn.ops.linear`."""

    def forward(self, x: Tensor) -> Tensor:
        """``[rows, d_in] → [rows, d_out]``."""
        return linear(x, self.weight, self.bias)


def check_dtype(x: Tensor, weight: Tensor) -> None:
    """Raise a ValueError where features have another dtype than parameters, outside of autocast."""
    if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
        raise ValueError(f"x must be {weight.dtype}, as the parameters are, got {x.dtype}")
