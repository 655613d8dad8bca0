"""HealHGNN: messages inside regions of the hypergraph and across their learnt boundaries."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.ops import segment_sum

from ..dropout import Dropout
from ..norm import LayerNorm
from ._model import NodeModel
from ._structure import degrees_of, members_of, orders_of, power, scale, stars_of

EPSILON = 1e-5
"""Added to a variance before its root, as LayerNorm does."""


class HealHGNN(NodeModel):
    r"""HealHGNN: nodes and hyperedges exchange what they know, and boundaries between regions are learnt.

    With :math:`T = D_v^{-1/2} H D_e^{-1/2}`, :math:`P_v = D_v^{-1/2} H D_e^{-1} H^\top D_v^{-1/2}` and its
    dual :math:`P_e`, :math:`b = \mathrm{sigmoid}(\mathrm{FFN}(P x^{(0)} / \mathrm{std}) / \tau)` says for
    each node and hyperedge how much of a boundary it is, and i = 1 − b:

    .. math::
        x_v \leftarrow \mathrm{LayerNorm}\Big(\mathrm{FFN}\big[i P_v((1 + i) x_v) + r(x_v) b P_v(i x_v)
            + (i + w(x_v) b)\, m\, T x_e\big] + g(x^{(0)}_v)\Big)

    and dually for hyperedges. r and w are shared by all layers. Two choices are ours: std is
    computed for each row, so that the members of a batch do not mix, and m is learnt and starts at 1.
    Weights are ignored.

    >>> from ehnn import Hypergraph
    >>> HealHGNN(2, 3)(Hypergraph.from_edges([[0, 1, 2]], num_nodes=4, x=torch.ones(4, 2))).shape
    torch.Size([4, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels in between.
        layers: steps.
        dropout: of the first representation and inside all parts.
        temperature: τ of the boundary.
    """

    def __init__(
        self, d_in: int, d_out: int, *, width: int = 64, layers: int = 2, dropout: float = 0.25,
        temperature: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        self.layers, self.temperature = layers, temperature
        self.embed, self.norm = nn.Linear(d_in, width), LayerNorm(width)
        # Nobody reads what hyperedges would learn in the last layer.
        self.node_side, self.edge_side = (_Side(width, n, dropout) for n in (layers, layers - 1))
        self.classifier = nn.Linear(width, d_out)

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        """``[num_nodes, d_out]`` logits; ``x [num_nodes, d_in]`` replaces ``h.x``."""
        raw = nn.functional.gelu(self.dropouts[-1](self.embed(self.features(h, x))))
        nodes, edges = first = self.norm(raw), self.norm(to_edges(raw, h))

        def within_nodes(t: Tensor) -> Tensor:
            return to_nodes(to_edges(t, h), h)

        def within_edges(t: Tensor) -> Tensor:
            return to_edges(to_nodes(t, h), h)

        on_nodes = self.node_side.boundary(within_nodes(nodes), self.temperature)
        on_edges = self.edge_side.boundary(within_edges(edges), self.temperature)
        for layer in range(self.layers):
            of_edges, of_nodes = to_nodes(edges, h), to_edges(nodes, h)
            nodes = self.node_side.step(layer, nodes, first[0], of_edges, on_nodes, within_nodes)
            if layer + 1 < self.layers:
                edges = self.edge_side.step(layer, edges, first[1], of_nodes, on_edges, within_edges)
        return self.classifier(self.dropouts[-2](nodes))


class _Side(nn.Module):
    """The parts for nodes, or for hyperedges."""

    def __init__(self, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.of_boundary = _feed_forward(width, 1, dropout)
        self.r, self.w = (_gate(width, dropout) for _ in range(2))
        self.g = nn.ModuleList(_gate(width, dropout) for _ in range(layers))
        self.mixes = nn.ModuleList(_feed_forward(width, width, dropout) for _ in range(layers))
        self.norms = nn.ModuleList(LayerNorm(width) for _ in range(layers))
        self.m = nn.Parameter(torch.ones(layers))

    def boundary(self, x: Tensor, temperature: float) -> Tensor:
        """``[rows, width] → [rows, 1]``."""
        spread = (x - x.mean(1, keepdim=True)).square().mean(1, keepdim=True)
        return torch.sigmoid(self.of_boundary(x * (spread + EPSILON).rsqrt()) / temperature)

    def step(
        self,
        layer: int,
        x: Tensor,
        first: Tensor,
        other: Tensor,
        boundary: Tensor,
        within: Callable[[Tensor], Tensor],
    ) -> Tensor:
        """``[rows, width]``: one step; ``other`` has the messages of the other side."""
        inside = 1 - boundary
        message = inside * within((1 + inside) * x) + self.r(x) * boundary * within(inside * x)
        message = message + (inside + self.w(x) * boundary) * self.m[layer] * other
        return self.norms[layer](self.mixes[layer](message) + self.g[layer](first))


def to_edges(x: Tensor, h: Hypergraph) -> Tensor:
    """``[num_nodes, d] → [num_edges, d]``: Tᵀx."""
    sent = scale(power(degrees_of(h, x), -0.5), x)
    return scale(power(orders_of(h, x), -0.5), segment_sum(sent, members_of(h)))


def to_nodes(x: Tensor, h: Hypergraph) -> Tensor:
    """``[num_edges, d] → [num_nodes, d]``: Tx."""
    sent = scale(power(orders_of(h, x), -0.5), x)
    return scale(power(degrees_of(h, x), -0.5), segment_sum(sent, stars_of(h)))


def _feed_forward(d_in: int, d_out: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Linear(d_in, d_in), nn.GELU(), Dropout(dropout), nn.Linear(d_in, d_out))


def _gate(width: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(width, width), Dropout(dropout), nn.GELU(), nn.Linear(width, width), LayerNorm(width)
    )
