"""Products of rows with a matrix."""

from __future__ import annotations

from torch import Tensor, nn

from ehnn.ops import linear


class Linear(nn.Linear):
    """`torch.nn.Linear` of rows, by `ehnn.ops.linear`."""

    def forward(self, x: Tensor) -> Tensor:
        """``[rows, d_in] → [rows, d_out]``."""
        return linear(x, self.weight, self.bias)
