"""EHNN-Transformer (Eqs. 9 to 11)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ehnn.hypergraph.pairs import pointer
from ehnn.ops import grouped_matmul, join, linear, segment_softmax_sum, segment_sum
from ehnn.overlap import Orders, Overlap
from ehnn.overlap.slots import Slots

from .dropout import Dropout
from .layer import Layer, check_choice, check_heads, pool, to_targets, to_targets_with_pool
from .norm import LayerNorm
from .order import OrderEncoding
from .phi import OrderBias, Phi, act, as_built
from .products import Linear

ATTENTIONS = ("softmax", "sigmoid")
_MANY = 4
"""So many times as many (source, 𝓘) as occur may be multiplied in one product before it is cut in parts."""


class EHNNTransformer(Layer):
    r"""EHNN realised with attention (Kim et al., ECCV 2022, Eqs. 9 to 11).

    .. math::
        a_j = \phi_3\Big(l, \sum_{\mathcal I \ge 0} \phi_2\big(\mathcal I, \sum_h \sum_i
        \alpha^{h, \mathcal I}_{ij}\, \phi_1(k, x_i)\, w^V_h\big)\Big) + \mathcal B(l),
        \qquad y = a + \mathrm{MLP}(\mathrm{LayerNorm}(a))

    with :math:`\alpha^{h, \mathcal I}_{ij} = \mathrm{softmax}_i\,
    \mathcal Q(\mathcal I)_h \cdot \mathcal K(\mathcal I, \phi_1(k, x_i))_h / \sqrt{d_H}` over the sources
    i with :math:`|i \cap j| = \mathcal I` (over all sources of the member for 𝓘 = 0). With
    ``attention="sigmoid"`` the activation σ of Eq. 11 is a sigmoid instead of a softmax: each source is
    weighed by itself, so sums keep their counts. 𝓠 is an MLP on
    the encoding of 𝓘; 𝓚 is linear, one map for 𝓘 = 0 and one for 𝓘 ≥ 1.

    Args:
        d_in, d_out: widths; ``heads`` must divide ``d_out``.
        heads: attention heads H.
        attention: σ in Eq. 11, ``"softmax"`` or ``"sigmoid"``.
        global_interaction, order_embedding, order_encoding, norm, dropout: as in `EHNNMLP`.
        local_dropout, global_dropout: on the attention output for 𝓘 ≥ 1 and 𝓘 = 0.
        feed_forward_dropout: inside the MLP of Eq. 10; None: as ``dropout``.

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
        x = self.phi1(x, overlap.source_orders)
        value = self._heads(self.value(x))
        everywhere, local = self._logits(x, overlap)
        y = self._local(local, value, overlap)
        if self.global_interaction:
            y = self.merge(torch.cat([y, self._global(everywhere, value, overlap)]))
            y = to_targets_with_pool(self.phi2(self._dropped(y, overlap), overlap.sizes_and_pool), overlap)
        else:
            y = to_targets(self.phi2(self.local_dropout(self.merge(y)), overlap.sizes), overlap)
        bias = None if self.bias is None else self.bias(overlap.target_orders)
        return self.feed_forward(self.phi3(y, overlap.target_orders, bias))

    def _heads(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], self.heads, self.d_out // self.heads)

    def _dropped(self, y: Tensor, overlap: Overlap) -> Tensor:
        """Dropout of its own for the rows of 𝓘 ≥ 1 and of 𝓘 = 0."""
        drops = self.local_dropout, self.global_dropout
        if not self.training or all(type(m) is Dropout and not m.p for m in drops):
            return y
        local, everything = y.split([overlap.num_groups, overlap.num_members])
        return torch.cat([self.local_dropout(local), self.global_dropout(everything)])

    def _logits(self, x: Tensor, overlap: Overlap) -> tuple[Tensor, Tensor]:
        """Global ``[num_sources, heads or 0]`` and local ``[slots, heads]`` logits.

        The query does not depend on the target, so key map and query are multiplied first: d × heads
        numbers for each 𝓘 meet the rows instead of d × d. They meet all rows in one product and some of the
        outcome is taken, unless that is much more than there are slots.
        """
        query = self._heads(self.query(overlap.sizes)) / math.sqrt(self.d_out // self.heads)
        if not self.global_interaction:
            query = query[1:]
        first, slots = self.heads if self.global_interaction else 0, overlap.slots
        if not as_built(None, self.key):
            return self._logits_by_calls(x, query, slots)
        weight, bias = (t.to(x.dtype) for t in self._fold(query))
        ends = [first, weight.shape[0] - first]
        distinct = ends[1] // self.heads
        if slots.source is not None and x.shape[0] * distinct > _MANY * slots.source.num_rows:
            (w0, w1), (b0, b1) = weight.split(ends), bias.split(ends)
            return F.linear(x, w0, b0), self._by_size(x, w1, b1, slots)
        everywhere, local = F.linear(x, weight, bias).split(ends, 1)
        if slots.source is None:
            return everywhere, local[:, : self.heads] if distinct else local.new_zeros(x.shape[0], self.heads)
        place = slots.source.index * distinct + slots.sizes.index
        return everywhere, local.reshape(-1, self.heads).index_select(0, place)

    def _logits_by_calls(self, x: Tensor, query: Tensor, slots: Slots) -> tuple[Tensor, Tensor]:
        """The same with 𝓚 called: it was exchanged, or is listened to."""
        keys = self.key(x).reshape(x.shape[0], -1, self.heads, self.d_out // self.heads)
        query = query.to(keys.dtype)
        everywhere = keys.new_zeros(x.shape[0], 0)
        if self.global_interaction:
            everywhere, query = (keys[:, 0] * query[0]).sum(-1), query[1:]
        local = keys[:, -1]
        if slots.source is not None:
            local = local.index_select(0, slots.source.index)
            query = query.index_select(0, slots.sizes.index)
        elif not query.shape[0]:  # no source meets a target in a node
            return everywhere, keys.new_zeros(x.shape[0], self.heads)
        return everywhere, (local * query).sum(-1)

    def _by_size(self, x: Tensor, weight: Tensor, bias: Tensor, slots: Slots) -> Tensor:
        """``[slots, heads]``: the slots of each 𝓘 with its own part of ``weight [𝓘 · heads, d]``."""
        assert slots.source is not None
        size = slots.sizes.index
        order = size.argsort(stable=True)
        weight, bias = weight.reshape(-1, self.heads, self.d_out), bias.reshape(-1, self.heads)
        rows = x.index_select(0, slots.source.index.index_select(0, order))
        sorted_ = grouped_matmul(rows, weight.mT, pointer(size, weight.shape[0]))
        return sorted_.index_select(0, order.argsort()) + bias.to(sorted_.dtype).index_select(0, size)

    def _fold(self, query: Tensor) -> tuple[Tensor, Tensor]:
        """``[𝓘, heads, c]`` → weight ``[𝓘 · heads, d]`` and bias ``[𝓘 · heads]`` of the logits."""
        rows, heads, channels = query.shape
        weight = self.key.weight.reshape(-1, heads, channels, self.d_out)
        bias = self.key.bias.reshape(-1, heads, channels, 1)
        if rows == weight.shape[0]:  # one 𝓘 for each key map: a product of two batches
            query = query.unsqueeze(2)
            return (query @ weight).reshape(-1, self.d_out), (query @ bias).flatten()
        ends = [1, rows - 1] if self.global_interaction else [rows]
        pairs = list(zip(query.split(ends), weight, bias, strict=True))
        weights = [torch.einsum("ihc,hcd->ihd", q, w).flatten(0, 1) for q, w, _ in pairs]
        return torch.cat(weights), torch.cat(
            [torch.einsum("ihc,hcu->ih", q, b).flatten() for q, _, b in pairs]
        )

    def _local(self, logits: Tensor, value: Tensor, overlap: Overlap) -> Tensor:
        """``[num_groups, d_out]``: attention over the sources that meet a target in 𝓘 nodes."""
        slots = overlap.slots
        if slots.source is not None:
            value = segment_sum(value, slots.source)
        if self.attention == "sigmoid":
            return segment_sum(_gated(value, logits), slots.local).flatten(1)
        return segment_softmax_sum(value, logits.to(value.dtype), slots.local).flatten(1)

    def _global(self, logits: Tensor, value: Tensor, overlap: Overlap) -> Tensor:
        """``[num_members, d_out]``: attention over all sources of a member."""
        if self.attention == "sigmoid":
            return pool(_gated(value, logits).flatten(1), overlap, "sum")
        return segment_softmax_sum(value, logits.to(value.dtype), overlap.everything).flatten(1)

    def extra_repr(self) -> str:
        told = f"heads={self.heads}, attention={self.attention!r}, global={self.global_interaction}"
        return f"{self.d_in}, {self.d_out}, {told}"


def _gated(value: Tensor, logits: Tensor) -> Tensor:
    """``[rows, heads, c]`` values weighed by the sigmoid of ``[rows, heads]`` logits."""
    return logits.sigmoid().unsqueeze(-1).to(value.dtype) * value


class _Query(nn.Module):
    """𝓠(𝓘) for 𝓘 = 0 and the sizes that occur; tells them apart even without order embedding."""

    zero: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.encoding = OrderEncoding("sinusoidal", width)
        self.net = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.register_buffer("zero", self.encoding(torch.zeros(1)), persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> _Query:
        """Memory that `nn.Module.to_empty` gave to what is not in a state dict is filled here."""
        super()._apply(fn, recurse)
        self.zero = self.encoding(torch.zeros(1, device=self.zero.device)).to(self.zero.dtype)
        return self

    def forward(self, sizes: Orders) -> Tensor:
        """``[1 + distinct 𝓘, width]``."""
        dtype = next(self.net.parameters()).dtype
        device, zero = sizes.values.device, self.zero
        if zero.device != device:  # after `load_state_dict(…, assign=True)`
            zero = self.encoding(torch.zeros(1, device=device))
        return self.net(torch.cat([zero.to(dtype), self.encoding.of(sizes, dtype)]))


class FeedForward(nn.Module):
    """x + MLP(LayerNorm(x)) with one hidden ReLU layer of the same width (Eq. 10)."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = LayerNorm(width)
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """``[rows, width] → [rows, width]``."""
        if not as_built(self.norm, self.first, self.second) or type(self.dropout) is not Dropout:
            return x + self.second(self.dropout(self.first(self.norm(x)).relu()))
        normed, x = self.norm.beside(x)
        hidden = linear(normed, self.first.weight)
        hidden = act(hidden, self.first.bias.unsqueeze(0), None, self.dropout)
        return join(linear(hidden, self.second.weight), x, self.second.bias.unsqueeze(0), None)
