"""HNHN (Dong, Sawin and Bengio, Hypergraph Networks with Hyperedge Neurons, 2020)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.ops import segment_sum

from ._model import NodeModel, steps
from ._structure import derived, members_of, power, scale, stars_of


class HNHNConv(nn.Module):
    r"""Nodes to hyperedges and back, with a nonlinearity at the hyperedges.

    .. math::
        X_E &= \sigma\big(D_{E,l}^{-1} A^\top D_{V,r} X_V W_E + b_E\big), \quad
            D_{V,r} = |v|^\beta,\; D_{E,l} = \textstyle\sum_{v \in e} |v|^\beta \\
        X_V' &= D_{V,l}^{-1} A D_{E,r} X_E W_V + b_V, \quad
            D_{E,r} = |e|^\alpha,\; D_{V,l} = \textstyle\sum_{e \ni v} |e|^\alpha

    |v| is the degree of a node and |e| the order of a hyperedge; the D are diagonal and A is the 0/1
    incidence matrix (nodes × hyperedges). The activation after the second step belongs to the model.
    Weights of hyperedges and incidences are ignored: the paper has none.

    Shapes: ``conv(x [num_nodes, d_in], h)`` → ``[num_nodes, d_out]``; hyperedges have ``width`` channels.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> HNHNConv(2, 3, width=8, alpha=-1.5, beta=-0.5)(torch.ones(4, 2), h).shape
    torch.Size([4, 3])
    """

    def __init__(self, d_in: int, d_out: int, *, width: int, alpha: float, beta: float) -> None:
        super().__init__()
        self.alpha, self.beta = alpha, beta
        self.to_edges = nn.Linear(d_in, width)
        self.to_nodes = nn.Linear(width, d_out)

    def forward(self, x: Tensor, h: Hypergraph) -> Tensor:
        of_nodes, of_edges = derived(h.incidence, _shares, self.beta, self.alpha, x.dtype)
        edges = torch.relu(_step(x, self.to_edges, of_nodes, members_of(h)))
        return _step(edges, self.to_nodes, of_edges, stars_of(h))


def _step(x: Tensor, linear: nn.Linear, share: tuple[Tensor, Tensor], pairs: SparsePattern) -> Tensor:
    """diag(left) · pairs · diag(right) · x · W + b."""
    left, right = share
    y = segment_sum(scale(right, nn.functional.linear(x, linear.weight)), pairs)
    return scale(left, y) + linear.bias


def _shares(
    incidence: SparsePattern, beta: float, alpha: float, dtype: torch.dtype
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """(left, right) factors of the step to the hyperedges and of the step to the nodes."""
    return _share(incidence, beta, dtype), _share(incidence.transpose(), alpha, dtype)


def _share(pairs: SparsePattern, exponent: float, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    right = power(pairs.t_lengths.to(torch.float64), exponent)
    left = power(segment_sum(right.unsqueeze(1), pairs).squeeze(1), -1)
    return left.to(dtype), right.to(dtype)


class HNHN(NodeModel):
    """HNHN: `HNHNConv` layers with ReLU and dropout between them.

    >>> from ehnn import Hypergraph
    >>> HNHN(2, 3)(Hypergraph.from_edges([[0, 1, 2]], num_nodes=4, x=torch.ones(4, 2))).shape
    torch.Size([4, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels of the hyperedges, and of the nodes between the layers.
        layers: the number of convolutions.
        dropout: after each activation of the nodes.
        alpha: exponent of the orders; negative: large hyperedges count less.
        beta: exponent of the degrees; negative: nodes of many hyperedges count less.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        *,
        width: int = 64,
        layers: int = 2,
        dropout: float = 0.5,
        alpha: float = -1.5,
        beta: float = -0.5,
    ) -> None:
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        self.convs.extend(
            HNHNConv(a, b, width=width, alpha=float(alpha), beta=float(beta))
            for a, b in steps(d_in, width, d_out, layers)
        )
