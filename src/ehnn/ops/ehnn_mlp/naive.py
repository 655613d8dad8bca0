"""The definition of an EHNN-MLP layer: Eq. 7."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from ehnn.overlap import Orders, Overlap
from ehnn.overlap.steps import Steps, Values

from ..dropout import Mask
from ..relation import pool, to_targets
from ..segment_sum import segment_mean, segment_sum


@dataclass(eq=False)
class EhnnMlp:
    """What a layer is made of.

    Attributes:
        phi1, phi2, phi3: modules ``(x, orders, residual=None) -> y``, or functions.
        bias: 𝓑, ``orders -> residual``; None without.
        aggregation: ``"mean"`` or ``"sum"``.
        scale: a factor on sums and means.
        pooled: whether there is the term 𝓘 = 0.
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
        return [p for module in self.modules for p in module.read()]

    @cached_property
    def masks(self) -> list[Mask | None]:
        """Of the two dropouts of φ₁, φ₂ and φ₃."""
        return [mask for phi in self.modules[:3] for mask in phi.masks()]


def reference_ehnn_mlp(x: Tensor, overlap: Overlap, parts: EhnnMlp) -> Tensor:
    """``[num_sources, d_in] → [num_targets, d_out]``."""
    aggregate = segment_mean if parts.aggregation == "mean" else segment_sum

    def before(x: Tensor, orders: Orders) -> tuple[Values, Values]:
        y = parts.phi1(x, orders)
        return (y,), (y,)

    def after(rows: Tensor, sizes: Orders) -> Tensor:
        rows = rows if parts.scale == 1 else parts.scale * rows
        return parts.phi2(rows, sizes)

    steps = Steps(
        before,
        lambda pairs, y: aggregate(y, pairs),  # 𝓘 ≥ 1: groups (j, 𝓘)
        (lambda y: pool(y, overlap, parts.aggregation)) if parts.pooled else None,  # 𝓘 = 0: all sources
        after,
    )
    y = to_targets(overlap.through(x, overlap.source_to_group, steps), overlap, parts.pooled)  # Σ over 𝓘
    bias = None if parts.bias is None else parts.bias(overlap.target_orders)
    return parts.phi3(y, overlap.target_orders, bias)
