"""Layer normalisation."""

from __future__ import annotations

from torch import Tensor, nn

from ehnn.ops import layer_norm, norm_and_skip

EPSILON = 1e-5
"""In the norm of the kernels that compute all of φ."""


class LayerNorm(nn.LayerNorm):
    """`torch.nn.LayerNorm` of rows, by `ehnn.ops.layer_norm`."""

    def forward(self, x: Tensor) -> Tensor:
        """``[rows, d] → [rows, d]``."""
        return layer_norm(x, self.weight, self.bias, self.eps)

    def beside(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The norm of ``x``, and ``x`` for a skip connection."""
        return norm_and_skip(x, self.weight, self.bias, self.eps)
