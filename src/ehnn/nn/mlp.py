"""EHNN-MLP (Eqs. 7, 8)."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn.ops import segment_mean, segment_sum
from ehnn.ops.cpu_layer import layer_fits
from ehnn.overlap import Orders, Overlap

from .at_once import AtOnce
from .layer import (
    AGGREGATIONS,
    Layer,
    check_choice,
    members_to_targets,
    pool,
    to_targets,
    to_targets_with_pool,
)
from .order import OrderEncoding
from .phi import OrderBias, Phi

APART = 2**20
"""Numbers from which on, on a CPU, φ₂ of the pool is a call of its own, which saves a copy of the groups."""


class EHNNMLP(Layer):
    r"""EHNN realised with three elementwise MLPs (Kim et al., ECCV 2022, Eqs. 7 and 8).

    .. math::
        y_j = \phi_3\Big(l, \sum_{\mathcal I \ge 0} \phi_2\big(\mathcal I,
        \sum_{i} B^{\mathcal I}_{ij}\, \phi_1(k, x_i)\big)\Big) + \mathcal B(l)

    where B is 1 for :math:`|i \cap j| = \mathcal I \ge 1`, and for 𝓘 = 0 everywhere (a global pool).
    The sum over 𝓘 ≥ 1 runs over the sizes that occur for target j. The number of parameters does not
    depend on the orders, and any order can be given.

    Args:
        d_in, d_out: widths.
        global_interaction: False drops 𝓘 = 0 (the ablation "w/o global").
        order_embedding: False hides k, l and 𝓘 from φ and drops 𝓑 (the ablation "w/o order").
        aggregation: ``"mean"`` as the authors ran it, or ``"sum"`` as the paper writes it.
        scale: a fixed factor on sums and means. The paper's is 1; 1/32 keeps sums over tens of sources
            near unit size, so that networks without normalisation train.
        order_encoding: ``"sinusoidal"`` as in the paper, or ``"number"``; see `OrderEncoding`.
        norm: LayerNorm in φ.
        dropout: inside φ.

    >>> import ehnn, torch
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3]], x=torch.ones(4, 8))
    >>> EHNNMLP(8, 16)(h.x, h.overlap("nodes", "edges")).shape
    torch.Size([2, 16])

    Shapes: ``x [num_sources, d_in]`` → ``[num_targets, d_out]``.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        *,
        global_interaction: bool = True,
        order_embedding: bool = True,
        aggregation: str = "mean",
        scale: float = 1.0,
        order_encoding: str = "sinusoidal",
        norm: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(d_in, d_out)
        self.aggregation = check_choice("aggregation", aggregation, AGGREGATIONS)
        self.global_interaction, self.scale, self.dropout = global_interaction, scale, dropout
        code = OrderEncoding(order_encoding if order_embedding else None, d_out)
        self.phi1 = Phi(d_in, d_out, code, dropout=dropout, norm=norm)
        self.phi2 = Phi(d_out, d_out, code, dropout=dropout, norm=norm)
        self.phi3 = Phi(d_out, d_out, code, dropout=dropout, norm=norm)
        self.bias = OrderBias(d_out, code) if order_embedding else None
        self._at_once: AtOnce | None = None

    def forward(self, x: Tensor, overlap: Overlap) -> Tensor:
        self.check(x, overlap)
        y = None
        if layer_fits(x, self.d_in, self.d_out):
            if self._at_once is None or not self._at_once.knows(self):
                self._at_once = AtOnce(self)
            y = self._at_once(self, x, overlap)
        return self._part_by_part(x, overlap) if y is None else y

    def _part_by_part(self, x: Tensor, overlap: Overlap) -> Tensor:
        x = self.phi1(x, overlap.source_orders)
        reduce = segment_mean if self.aggregation == "mean" else segment_sum
        local = self._scaled(reduce(x, overlap.local))
        if self.global_interaction:
            y = self._groups_and_pool(local, self._scaled(pool(x, overlap, self.aggregation)), overlap)
        else:
            y = to_targets(self.phi2(local, overlap.sizes), overlap)
        bias = None if self.bias is None else self.bias(overlap.target_orders)
        return self.phi3(y, overlap.target_orders, bias)

    def _groups_and_pool(self, local: Tensor, total: Tensor, overlap: Overlap) -> Tensor:
        """Σ over 𝓘 ≥ 0 of φ₂, for each target."""
        drops = self.training and self.dropout  # a mask depends on the number of rows
        if local.device.type != "cpu" or local.numel() < APART or drops:
            return to_targets_with_pool(self.phi2(torch.cat([local, total]), overlap.sizes_and_pool), overlap)
        members = self.phi2(total, Orders.constant(0, total.shape[0], total.device))
        if overlap.gather is None and not hasattr(overlap.spread, "reduce_sum"):
            return self.phi2(local, overlap.sizes, (members, overlap.spread))
        return to_targets(self.phi2(local, overlap.sizes), overlap) + members_to_targets(members, overlap)

    def _scaled(self, x: Tensor) -> Tensor:
        return x if self.scale == 1 else self.scale * x

    def extra_repr(self) -> str:
        scale = f", scale={self.scale:g}" if self.scale != 1 else ""
        told = f"aggregation={self.aggregation!r}{scale}, global={self.global_interaction}"
        return f"{self.d_in}, {self.d_out}, {told}"
