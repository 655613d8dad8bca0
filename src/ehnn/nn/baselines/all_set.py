"""AllSet (Chien et al., You are AllSet, ICLR 2022): the message-passing baselines of the paper."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ehnn.ops import aggregate, segment_softmax_sum
from ehnn.overlap import Overlap

from ..dropout import Dropout, Rows
from ..layer import AGGREGATIONS, Layer, check_choice, check_heads
from ..norm import LayerNorm
from ..products import check_dtype


class AllDeepSets(Layer):
    r"""AllDeepSets (Eq. 12 of the EHNN paper).

    .. math:: y_j = \phi_2\Big(\sum_{i : |i \cap j| \ge 1} \phi_1(x_i)\Big)

    with two-layer MLPs φ and a mean or sum over all sources that meet the target. It sees neither
    orders, nor the size of the overlap, nor anything that does not meet the target.

    With ``norm``, as its authors train it: LayerNorm before each linear map of φ, and ReLU and dropout
    after φ1. φ2 then reads the direction of a sum and not its length, so sums over hundreds of sources
    train too, and sum and mean differ by no more than the ε of LayerNorm.

    Args:
        d_in, d_out: widths.
        aggregation: ``"mean"`` or ``"sum"``.
        dropout: in the MLPs.
        norm: as above.

    Shapes: ``x [num_sources, d_in]`` → ``[num_targets, d_out]``.

    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> AllDeepSets(2, 8)(torch.ones(4, 2), h.overlap("nodes", "edges")).shape
    torch.Size([2, 8])
    """

    takes_roles = False

    def __init__(
        self, d_in: int, d_out: int, *, aggregation: str = "mean", dropout: float = 0.0, norm: bool = False
    ) -> None:
        super().__init__(d_in, d_out)
        self.aggregation = check_choice("aggregation", aggregation, AGGREGATIONS)
        make = _normed_mlp if norm else _mlp
        self.phi1, self.phi2 = make(d_in, d_out, dropout), make(d_out, d_out, dropout)
        if norm:
            self.phi1.extend([nn.ReLU(), Dropout(dropout)])

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, aggregation={self.aggregation!r}"

    def rows_seen(self) -> dict[nn.Module, Rows]:
        return {self.phi1: Rows.SOURCES}

    def forward(self, x: Tensor, overlap: Overlap) -> Tensor:
        self.check(x, overlap)
        check_dtype(x, next(self.parameters()))
        return self.phi2(aggregate(self.phi1(x), overlap.merged, self.aggregation))


class AllSetTransformer(Layer):
    r"""AllSetTransformer (appendix A.2 of the EHNN paper).

    .. math::
        a_j = \sum_h \sum_{i : |i \cap j| \ge 1} \alpha^h_{ij}\, \phi_1(x_i), \qquad
        y = a + \mathrm{MLP}(a), \qquad
        \alpha^h_{ij} = \mathrm{softmax}_i\, Q_h \cdot \mathcal K(x_i)_h / \sqrt{d_H}

    with LayerNorm as in its authors' version: ``a = LayerNorm(Q + attention)``, ``y = LayerNorm(a +
    ReLU(MLP(a)))``. Softmax normalises, so the layer cannot count its sources. ``heads`` must divide
    ``d_out``; ``dropout`` is inside the MLPs.

    Shapes: ``x [num_sources, d_in]`` → ``[num_targets, d_out]``.

    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> AllSetTransformer(2, 8)(torch.ones(4, 2), h.overlap("nodes", "edges")).shape
    torch.Size([2, 8])
    """

    takes_roles = False

    def __init__(self, d_in: int, d_out: int, *, heads: int = 4, dropout: float = 0.0) -> None:
        super().__init__(d_in, d_out)
        self.heads = heads = check_heads(heads, d_out, "d_out")
        self.query = nn.Parameter(torch.empty(heads, d_out // heads))
        nn.init.xavier_uniform_(self.query)
        self.key, self.value = nn.Linear(d_in, d_out), nn.Linear(d_in, d_out)
        self.norm1, self.norm2 = LayerNorm(d_out), LayerNorm(d_out)
        self.feed_forward = _mlp(d_out, d_out, dropout)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, heads={self.heads}"

    def forward(self, x: Tensor, overlap: Overlap) -> Tensor:
        self.check(x, overlap)
        check_dtype(x, next(self.parameters()))
        key, value = (m(x).reshape(x.shape[0], *self.query.shape) for m in (self.key, self.value))
        logits = (key * self.query).sum(-1) / math.sqrt(self.query.shape[1])
        y = segment_softmax_sum(value, logits.to(value.dtype), overlap.merged)
        y = self.norm1((y + self.query).flatten(1))
        return self.norm2(y + self.feed_forward(y).relu())


def _mlp(d_in: int, d_out: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Linear(d_in, d_out), nn.ReLU(), Dropout(dropout), nn.Linear(d_out, d_out))


def _normed_mlp(d_in: int, d_out: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        LayerNorm(d_in),
        nn.Linear(d_in, d_out),
        nn.ReLU(),
        LayerNorm(d_out),
        Dropout(dropout),
        nn.Linear(d_out, d_out),
    )
