"""Layer normalisation."""

from __future__ import annotations

from torch import Tensor, nn

from ehnn.ops import layer_norm


class LayerNorm(nn.LayerNorm):
    """`torch.nn.LayerNorm` of rows, by `ehnn.ops.layer_norm`."""

    def forward(self, x: Tensor) -> Tensor:
        """``[rows, d] → [rows, d]``."""
        return layer_norm(x, self.weight, self.bias, self.eps)
