"""UniGCNII (Huang and Yang, UniGNN, IJCAI 2021)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.ops import segment_mean, segment_sum

from ._model import NodeModel
from ._structure import derived, members_of, power, scale, stars_of


class UniGCNIIConv(nn.Module):
    r"""A convolution with an initial residual and an identity map.

    .. math::
        \hat x_i = \frac{1}{\sqrt{d_i}} \sum_{e \in \tilde E_i} \frac{1}{\sqrt{d_e}}
            \Big(\frac{1}{|e|} \sum_{j \in e} x_j\Big), \qquad
        x_i' = \big((1 - \beta) I + \beta \Theta\big)\big((1 - \alpha) \hat x_i + \alpha x_i^{(0)}\big)

    :math:`\tilde E_i` are the hyperedges of i with its self-loop {i} (added unless {i} is a hyperedge
    already), d_i their number and d_e the mean of d_i over the members of e. Self-loops are arithmetic
    here, not rows. Weights of hyperedges and incidences are ignored: the paper has none.

    Shapes, with d = ``width``: ``conv(x [num_nodes, d], h, first [num_nodes, d])`` → ``[num_nodes, d]``;
    ``first`` is :math:`x^{(0)}`, by default x.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> UniGCNIIConv(2, alpha=0.1, beta=0.5)(torch.ones(4, 2), h).shape
    torch.Size([4, 2])
    """

    def __init__(self, width: int, *, alpha: float, beta: float) -> None:
        super().__init__()
        self.alpha, self.beta = alpha, beta
        self.theta = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, h: Hypergraph, first: Tensor | None = None) -> Tensor:
        of_nodes, of_edges, of_loops = derived(h.incidence, _norms, x.dtype)
        edges = scale(of_edges, segment_mean(x, members_of(h)))
        y = scale(of_nodes, segment_sum(edges, stars_of(h))) + scale(of_loops, x)
        y = (1 - self.alpha) * y + self.alpha * (x if first is None else first)
        return (1 - self.beta) * y + self.beta * self.theta(y)


def _norms(incidence: SparsePattern, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """d_i^-½ ``[num_nodes]``, d_e^-½ ``[num_edges]``, and the weight of a node in its added self-loop."""
    stars = incidence.transpose()
    single = (incidence.lengths == 1).to(torch.float64).unsqueeze(1)
    loop = (segment_sum(single, stars) == 0).to(torch.float64)
    degrees = stars.lengths.unsqueeze(1) + loop
    of_edges = power(segment_mean(degrees, incidence), -0.5)
    # A self-loop has the degree of its node, so its two square roots make one division.
    norms = power(degrees, -0.5), of_edges, loop * power(degrees, -1)
    a, b, c = (v.squeeze(1).to(dtype) for v in norms)
    return a, b, c


class UniGCNII(NodeModel):
    r"""UniGCNII: a linear map, `UniGCNIIConv` layers with ReLU and dropout, a linear classifier.

    Layer l (from 1) has :math:`\beta_l = \log(\lambda / l + 1)`, so deep layers stay near the identity.

    >>> from ehnn import Hypergraph
    >>> UniGCNII(2, 3)(Hypergraph.from_edges([[0, 1, 2]], num_nodes=4, x=torch.ones(4, 2))).shape
    torch.Size([4, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels of the convolutions.
        layers: the number of convolutions.
        dropout: of the features, and before each convolution and the classifier.
        alpha: share of the first representation in every layer.
        lam: λ.
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
        lam: float = 0.5,
    ) -> None:
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        self.embed, self.classifier = nn.Linear(d_in, width), nn.Linear(width, d_out)
        self.convs.extend(
            UniGCNIIConv(width, alpha=alpha, beta=math.log(lam / (i + 1) + 1)) for i in range(layers)
        )

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        """``[num_nodes, d_out]`` logits; ``x [num_nodes, d_in]`` replaces ``h.x``."""
        first = torch.relu(self.embed(self.dropouts[-1](self.features(h, x))))
        y = first
        for conv, dropout in zip(self.convs, self.dropouts, strict=False):
            y = torch.relu(conv(dropout(y), h, first))
        return self.classifier(self.dropouts[-2](y))
