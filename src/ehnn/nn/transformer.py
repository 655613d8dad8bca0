"""EHNN-Transformer (Eqs. 9 to 11)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn.hypergraph import SparsePattern
from ehnn.ops import attention_logits, segment_softmax_sum, segment_sum, to_targets
from ehnn.overlap import Orders, Overlap

from .dropout import Dropout, Rows
from .layer import Layer, check_choice, check_heads
from .order import OrderEncoding
from .phi import FeedForward, OrderBias, Phi
from .products import Linear

ATTENTIONS = ("softmax", "sigmoid")


class EHNNTransformer(Layer):
    r"""An equivariant layer with attention over the sources (Kim et al., ECCV 2022, Eqs. 9 to 11).

    .. math::
        a_j = \phi_3\Big(l, \sum_{\mathcal I \ge 0} \phi_2\big(\mathcal I, \sum_h \sum_i
        \alpha^{h, \mathcal I}_{ij}\, \phi_1(k, x_i)\, w^V_h\big)\Big) + \mathcal B(l),
        \qquad y = a + \mathrm{MLP}(\mathrm{LayerNorm}(a))

    with :math:`\alpha^{h, \mathcal I}_{ij} = \mathrm{softmax}_i\,
    \mathcal Q(\mathcal I)_h \cdot \mathcal K(\mathcal I, \phi_1(k, x_i))_h / \sqrt{d_H}` over the sources
    i with :math:`|i \cap j| = \mathcal I` (over all sources of the batch member for 𝓘 = 0). With
    ``attention="sigmoid"`` the activation σ of Eq. 11 is a sigmoid instead of a softmax: each source is
    weighted on its own, so sums keep their counts.

    𝓠 (``query``) is an MLP on the encoding of 𝓘. 𝓚 (``key``) is linear, one map for 𝓘 = 0 and one for 𝓘 ≥ 1.
    :math:`w^V_h` is ``value`` to the channels of head h, then ``merge`` back to ``d_out``.

    Args:
        d_in, d_out: widths; ``heads`` must divide ``d_out``.
        heads: attention heads H.
        attention: σ in Eq. 11, ``"softmax"`` or ``"sigmoid"``.
        global_interaction, order_embedding, order_encoding, norm, dropout: as in `EHNNMLP`.
        local_dropout, global_dropout: on the attention output for 𝓘 ≥ 1 and 𝓘 = 0.
        feed_forward_dropout: inside the MLP of Eq. 10; None: as ``dropout``.

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> EHNNTransformer(4, 8)(torch.ones(4, 4), h.overlap("nodes", "edges")).shape
    torch.Size([2, 8])

    Shapes: ``x [num_sources, d_in]`` → ``[num_targets, d_out]``.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        *,
        heads: int = 4,
        attention: str = "softmax",
        global_interaction: bool = True,
        order_embedding: bool = True,
        order_encoding: str = "sinusoidal",
        norm: bool = True,
        dropout: float = 0.0,
        local_dropout: float = 0.0,
        global_dropout: float = 0.0,
        feed_forward_dropout: float | None = None,
    ) -> None:
        super().__init__(d_in, d_out)
        self.heads, self.global_interaction = check_heads(heads, d_out, "d_out"), global_interaction
        self.attention = check_choice("attention", attention, ATTENTIONS)
        code = OrderEncoding(order_encoding if order_embedding else None, d_out)
        self.phi1 = Phi(d_in, d_out, code, dropout=dropout, norm=norm)
        self.phi2 = Phi(d_out, d_out, code, dropout=dropout, norm=norm)
        self.phi3 = Phi(d_out, d_out, code, dropout=dropout, norm=norm)
        self.query = _Query(d_out)
        self.key = nn.Linear(d_out, 2 * d_out if global_interaction else d_out)  # 𝓘 = 0 first, then 𝓘 ≥ 1
        self.value, self.merge = Linear(d_out, d_out), Linear(d_out, d_out)
        self.local_dropout, self.global_dropout = Dropout(local_dropout), Dropout(global_dropout)
        self.bias = OrderBias(d_out, code) if order_embedding else None
        inner = dropout if feed_forward_dropout is None else feed_forward_dropout
        self.feed_forward = FeedForward(d_out, inner)

    def forward(self, x: Tensor, overlap: Overlap) -> Tensor:
        self.check(x, overlap)
        pooled = self.global_interaction
        x = self.phi1(x, overlap.source_orders)
        y = self._dropped(self.merge(self._attention(x, overlap)), overlap)  # Σ α φ₁ w^V, for each (j, 𝓘)
        y = self.phi2(y, overlap.sizes_and_pool if pooled else overlap.sizes)
        bias = None if self.bias is None else self.bias(overlap.target_orders)
        a = self.phi3(to_targets(y, overlap, pooled), overlap.target_orders, bias)  # of the sum over 𝓘
        return self.feed_forward(a)

    def _attention(self, x: Tensor, overlap: Overlap) -> Tensor:
        """``[num_groups (+ num_members), d_out]``: the heads side by side, for 𝓘 ≥ 1, then for 𝓘 = 0."""
        slots = overlap.source_sizes
        query, value = self.query(overlap.sizes), self.value(x).unflatten(1, (self.heads, -1))
        everywhere, local = attention_logits(x, query, self.key, slots, self.heads, self.global_interaction)
        own = value if slots.source_to_slot is None else segment_sum(value, slots.source_to_slot)
        y = self._attend(own, local, slots.slot_to_group)
        if self.global_interaction:
            y = torch.cat([y, self._attend(value, everywhere, overlap.everything)])
        return y

    def _attend(self, value: Tensor, logits: Tensor, pairs: SparsePattern) -> Tensor:
        """``[rows, d_out]``: Σ α v over the columns of each row, with α = σ(logits)."""
        if self.attention == "sigmoid":
            return segment_sum(logits.sigmoid().unsqueeze(-1).to(value.dtype) * value, pairs).flatten(1)
        return segment_softmax_sum(value, logits.to(value.dtype), pairs).flatten(1)

    def _dropped(self, y: Tensor, overlap: Overlap) -> Tensor:
        """``local_dropout`` on the rows of 𝓘 ≥ 1 and ``global_dropout`` on those of 𝓘 = 0."""
        if not self.global_interaction:
            return self.local_dropout(y)
        drops = self.local_dropout, self.global_dropout
        if not self.training or all(isinstance(m, Dropout) and m.p == 0 for m in drops):
            return y  # without a copy
        local, everywhere = y.split([overlap.num_groups, overlap.num_members])
        return torch.cat([self.local_dropout(local), self.global_dropout(everywhere)])

    def rows_seen(self) -> dict[nn.Module, Rows]:
        groups = Rows.GROUPS_AND_MEMBERS if self.global_interaction else Rows.GROUPS
        attended: dict[nn.Module, Rows] = {self.local_dropout: Rows.GROUPS, self.global_dropout: Rows.MEMBERS}
        return {self.phi1: Rows.SOURCES, self.phi2: groups, **attended}

    def extra_repr(self) -> str:
        settings = f"heads={self.heads}, attention={self.attention!r}, global={self.global_interaction}"
        return f"{super().extra_repr()}, {settings}"


class _Query(nn.Module):
    """𝓠(𝓘) for 𝓘 = 0 and the sizes that occur. It sees 𝓘 even without order embedding."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.encoding = OrderEncoding("sinusoidal", width)
        self.net = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, sizes: Orders) -> Tensor:
        """``[1 + distinct 𝓘, width]``, 𝓘 = 0 first."""
        return self.net(self.encoding.of(sizes, next(self.net.parameters()).dtype, zero_first=True))
