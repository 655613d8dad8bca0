"""SheafHyperGNN with diagonal maps (Duta et al., Sheaf Hypergraph Networks, NeurIPS 2023)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn._utils.validation import as_count
from ehnn.hypergraph import Hypergraph
from ehnn.ops import segment_mean, segment_sum

from ..norm import LayerNorm
from ._model import NodeModel
from ._structure import incidences_of, members_of, orders_of, power, within_edges


class SheafHyperGNN(NodeModel):
    r"""SheafHyperGNN: every node has d vectors, and each incidence learns how much of each is passed on.

    .. math::
        \alpha_{ve} = \mathrm{sigmoid}\big(W\, \mathrm{LayerNorm}[\bar x_v, \bar x_e]\big) \in \mathbb R^d,
        \qquad M = D^{-1/2} F D_e^{-1} F^\top, \qquad
        Y = (I + \mathrm{offdiag}\, M - \mathrm{diag}\, M)\, D^{-1/2}\, \mathrm{LayerNorm}(X) \Theta + b

    F has the diagonal block :math:`\alpha_{ve}` for each incidence, :math:`D = \mathrm{diag}(F F^\top)`,
    :math:`D_e` the orders, and bars are means over the d vectors, of a hyperedge those of the mean raw
    features of its members. α is computed once, from the first representation. ELU and dropout follow each
    layer; the d vectors are joined for the classifier.

    The authors' version forms the clique expansion; here memory is incidences × d × channels. Weights are
    ignored.

    >>> from ehnn import Hypergraph
    >>> SheafHyperGNN(2, 3)(Hypergraph.from_edges([[0, 1, 2]], num_nodes=4, x=torch.ones(4, 2))).shape
    torch.Size([4, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels of each of the d vectors.
        layers: the number of convolutions.
        dropout: of the features and after each layer.
        stalk: d.
    """

    def __init__(
        self, d_in: int, d_out: int, *, width: int = 64, layers: int = 2, dropout: float = 0.5, stalk: int = 4
    ) -> None:
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        self.stalk, self.width = as_count(stalk, "stalk", 1), width
        self.embed = nn.Linear(d_in, stalk * width)
        self.maps = nn.Sequential(LayerNorm(2 * width), nn.Linear(2 * width, stalk))
        self.norms = nn.ModuleList(LayerNorm(width) for _ in range(layers))
        self.thetas = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(width)) for _ in range(layers))
        self.classifier = nn.Linear(stalk * width, d_out, bias=False)

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        """``[num_nodes, d_out]`` logits; ``x [num_nodes, d_in]`` replaces ``h.x``."""
        x = self.dropouts[-1](self.features(h, x))
        alpha = self.restrictions(x, h).unsqueeze(2)
        y = self.embed(x).reshape(-1, self.stalk, self.width)
        squares = segment_sum(alpha.square(), incidences_of(h))
        root = power(squares, -0.5)
        share = power(orders_of(h, x), -1)
        of_incidences = share.index_select(0, h.incidence.rows).reshape(-1, 1, 1)
        diagonal = root * segment_sum(alpha.square() * of_incidences, incidences_of(h))
        layers = zip(self.norms, self.thetas, self.biases, self.dropouts, strict=False)
        for norm, theta, bias, dropout in layers:
            rows = theta(norm(y.reshape(-1, self.width))).reshape(-1, self.stalk, self.width)
            z = root * rows
            edges = segment_sum(alpha * z.index_select(0, h.incidence.index), within_edges(h))
            back = alpha * of_incidences * edges.index_select(0, h.incidence.rows)
            y = z + root * segment_sum(back, incidences_of(h)) - 2 * diagonal * z + bias
            y = dropout(nn.functional.elu(y).flatten(1)).reshape(-1, self.stalk, self.width)
        return self.classifier(y.flatten(1))

    def restrictions(self, x: Tensor, h: Hypergraph) -> Tensor:
        """``[num_incidences, d]`` α, in the order of ``h.index``."""
        rows = x, segment_mean(x, members_of(h))
        nodes, edges = (self.embed(t).reshape(-1, self.stalk, self.width).mean(1) for t in rows)
        ends = nodes.index_select(0, h.incidence.index), edges.index_select(0, h.incidence.rows)
        return torch.sigmoid(self.maps(torch.cat(ends, 1)))
