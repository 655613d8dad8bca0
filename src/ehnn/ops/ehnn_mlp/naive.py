"""The definition of an EHNN-MLP layer: Eq. 7."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ehnn.overlap import Overlap

from ..dropout import Mask
from ..overlap_sums import pool, to_targets
from ..segment_sum import aggregate


@dataclass(eq=False)
class EhnnMlpParts:
    """The networks and settings of a layer.

    Attributes:
        phi1, phi2, phi3: modules or functions ``(x, orders, residual=None) -> y``.
        bias: 𝓑, ``orders -> residual``; None: no bias.
        aggregation: ``"mean"`` or ``"sum"``.
        scale: a factor on sums and means.
        pooled: whether the term 𝓘 = 0 is added.
    """

    phi1: Any
    phi2: Any
    phi3: Any
    bias: Any
    aggregation: str
    scale: float
    pooled: bool

    @cached_property
    def modules(self) -> tuple[Any, ...]:
        """φ₁, φ₂, φ₃ and, if there is one, 𝓑."""
        phis = self.phi1, self.phi2, self.phi3
        return phis if self.bias is None else (*phis, self.bias)

    @cached_property
    def tensors(self) -> list[Tensor]:
        """γ, β (with a norm), W₁, b₁, W₂, b₂, W₃, b₃ of φ₁, φ₂ and φ₃; W₁, b₁, W₂, b₂ of 𝓑 (if any)."""
        return [p for module in self.modules for p in module.own_parameters()]

    @cached_property
    def masks(self) -> list[Mask | None]:
        """The masks of the two dropouts of φ₁, φ₂ and φ₃."""
        return [mask for phi in self.modules[:3] for mask in phi.masks()]


def reference_ehnn_mlp(x: Tensor, overlap: Overlap, parts: EhnnMlpParts) -> Tensor:
    """``[num_sources, d_in] → [num_targets, d_out]``."""
    x = parts.phi1(x, overlap.source_orders)
    rows, sizes = aggregate(x, overlap.source_to_group, parts.aggregation), overlap.sizes  # 𝓘 ≥ 1
    if parts.pooled:  # 𝓘 = 0: all sources
        rows = torch.cat([rows, pool(x, overlap, parts.aggregation)])
        sizes = overlap.sizes_and_pool
    rows = rows if parts.scale == 1 else parts.scale * rows
    y = to_targets(parts.phi2(rows, sizes), overlap, parts.pooled)  # Σ over 𝓘
    bias = None if parts.bias is None else parts.bias(overlap.target_orders)
    return parts.phi3(y, overlap.target_orders, bias)
