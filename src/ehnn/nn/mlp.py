"""EHNN-MLP (Eqs. 7, 8)."""

from __future__ import annotations

from torch import Tensor, nn

from ehnn.ops import EhnnMlpParts, ehnn_mlp
from ehnn.overlap import Overlap

from .dropout import Rows
from .layer import AGGREGATIONS, Layer, check_choice
from .order import OrderEncoding
from .phi import OrderBias, Phi


class EHNNMLP(Layer):
    r"""An equivariant layer with three small MLPs, applied to each row (Kim et al., ECCV 2022, Eqs. 7 and 8).

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
        aggregation: over i: ``"mean"`` as the authors ran it, or ``"sum"`` as the paper writes it. Over 𝓘 it
            is always a sum.
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
        self.global_interaction, self.scale = global_interaction, scale
        code = OrderEncoding(order_encoding if order_embedding else None, d_out)
        self.phi1 = Phi(d_in, d_out, code, dropout=dropout, norm=norm)
        self.phi2 = Phi(d_out, d_out, code, dropout=dropout, norm=norm)
        self.phi3 = Phi(d_out, d_out, code, dropout=dropout, norm=norm)
        self.bias = OrderBias(d_out, code) if order_embedding else None

    def forward(self, x: Tensor, overlap: Overlap) -> Tensor:
        self.check(x, overlap)
        return ehnn_mlp(x, overlap, self.parts())

    def parts(self) -> EhnnMlpParts:
        """φ₁, φ₂, φ₃, 𝓑 and the settings: what `ehnn.ops.ehnn_mlp`, which computes Eq. 7, needs."""
        settings = self.aggregation, self.scale, self.global_interaction
        return EhnnMlpParts(self.phi1, self.phi2, self.phi3, self.bias, *settings)

    def rows_seen(self) -> dict[nn.Module, Rows]:
        groups = Rows.GROUPS_AND_MEMBERS if self.global_interaction else Rows.GROUPS
        return {self.phi1: Rows.SOURCES, self.phi2: groups}

    def extra_repr(self) -> str:
        scale = f", scale={self.scale:g}" if self.scale != 1 else ""
        settings = f"aggregation={self.aggregation!r}{scale}, global={self.global_interaction}"
        return f"{super().extra_repr()}, {settings}"
