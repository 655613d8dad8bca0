"""TF-HNN (training-free message passing on hypergraphs, ICLR 2025): smoothing once, then an MLP."""

from __future__ import annotations

from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.ops import segment_sum

from ._model import NodeModel
from ._structure import degrees_of, derived, members_of, orders_of, power, scale, stars_of
from .mlp import MLP


def smoothed(x: Tensor, h: Hypergraph, layers: int, alpha: float) -> Tensor:
    r"""``[num_nodes, d] → [num_nodes, d]``: what TF-HNN computes once.

    .. math::
        \tilde X = \sum_{l=0}^{L-1} \alpha (1 - \alpha)^l S^l X + (1 - \alpha)^L S^L X, \qquad
        S = \hat D^{-1/2} (H D_e^{-1} H^\top + I) \hat D^{-1/2}

    :math:`\hat D` has the row sums of the matrix in the middle: the degrees, plus 1.
    """
    root, share = power(degrees_of(h, x) + 1, -0.5), power(orders_of(h, x), -1)
    total, power_of_s, left = alpha * x, x, 1 - alpha
    if layers == 0:
        return x
    for step in range(1, layers + 1):
        scaled = scale(root, power_of_s)
        edges = scale(share, segment_sum(scaled, members_of(h)))
        power_of_s = scale(root, segment_sum(edges, stars_of(h)) + scaled)
        total = total + (left if step == layers else alpha * left) * power_of_s
        left *= 1 - alpha
    return total


class TFHNN(NodeModel):
    """TF-HNN: an MLP with LayerNorm on `smoothed` features, which have no parameters.

    The smoothed features of ``h.x`` are computed once and kept on ``h``. Weights are ignored.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> TFHNN(2, 3)(Hypergraph.from_edges([[0, 1, 2]], num_nodes=4, x=torch.ones(4, 2))).shape
    torch.Size([4, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels of the MLP.
        layers: L, steps of smoothing.
        dropout: in the MLP.
        alpha: share of each step that stays.
        mlp_layers: linear maps of the MLP.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        *,
        width: int = 64,
        layers: int = 2,
        dropout: float = 0.5,
        alpha: float = 0.1,
        mlp_layers: int = 3,
    ) -> None:
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        self.layers, self.alpha = layers, alpha
        self.mlp: nn.Module = MLP(d_in, d_out, width=width, layers=mlp_layers, dropout=dropout, norm=True)

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        """``[num_nodes, d_out]`` logits; ``x [num_nodes, d_in]`` replaces ``h.x``."""
        own = self.features(h, x)
        if x is None and not own.requires_grad:
            return self.mlp(h, derived(h, _own_smoothed, self.layers, self.alpha))
        return self.mlp(h, smoothed(own, h, self.layers, self.alpha))


def _own_smoothed(h: Hypergraph, layers: int, alpha: float) -> Tensor:
    return smoothed(h.features("nodes"), h, layers, alpha)
