"""NGM and NHGM: message passing on the association hypergraph."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.ops import segment_sum

from ..association import Association
from .channel import SinkhornChannel


class MessagePassing(nn.Module):
    r"""NGM-v2 (2-edges) and NHGM-v2 (2- and 3-edges) of Wang, Yan, Yang (TPAMI 2022).

    In every layer a candidate receives the embeddings of the candidates that share a hyperedge with it,
    weighted by its affinity, from 2-edges and from 3-edges apart:

    .. math:: x_i' = \sum_k \lambda_k \frac{1}{\sum_{e \ni i,\, |e| = k} |h_e|}
        \sum_{e \ni i,\, |e| = k} h_e \sum_{j \in e \setminus i} f_k(x_j) + g(x_i)

    with networks f and g of two linear layers with ReLU, and a Sinkhorn channel after each layer. The
    first embedding is the node affinity. λ are learned.

    Args:
        orders: of the hyperedges that carry messages.
        width, layers: of the network.

    Shapes: a hypergraph with affinities → ``[c, width + 1]``.
    """

    def __init__(self, orders: tuple[int, ...], width: int = 16, layers: int = 3) -> None:
        super().__init__()
        self.orders, self.width = orders, width + 1
        widths = [1] + [width + 1] * (layers - 1)
        self.layers = nn.ModuleList([_Layer(d, width, len(orders)) for d in widths])
        self.channels = nn.ModuleList([SinkhornChannel(width) for _ in widths])

    def forward(self, h: Hypergraph, association: Association) -> Tensor:
        edges, x = h.features("edges"), h.features("nodes")
        weights = torch.cat([edges * (h.orders == k).unsqueeze(1) for k in self.orders], 1)
        to_nodes = association.to_nodes
        totals = segment_sum(torch.cat([weights, weights.abs()], 1), to_nodes)
        for layer, channel in zip(self.layers, self.channels, strict=True):
            x = channel(layer(x, weights, totals, h.incidence, to_nodes), association.candidates)
        return x


class _Layer(nn.Module):
    def __init__(self, d_in: int, d_out: int, orders: int) -> None:
        super().__init__()
        self.message, self.own = _mlp(d_in, d_out * orders), _mlp(d_in, d_out)
        self.share = nn.Parameter(torch.ones(orders))

    def forward(
        self, x: Tensor, weights: Tensor, totals: Tensor, to_edges: SparsePattern, to_nodes: SparsePattern
    ) -> Tensor:
        """``x [c, d_in]``, weights ``[edges, orders]``, their sums ``[c, 2 · orders]`` → ``[c, d_out]``."""
        messages = self.message(x).reshape(x.shape[0], len(self.share), -1)
        signed, absolute = totals.reshape(x.shape[0], 2, -1, 1).unbind(1)
        received = segment_sum(segment_sum(messages, to_edges) * weights.unsqueeze(2), to_nodes)
        # What a candidate sent comes back from its hyperedges: it is not its own neighbour.
        received = (received - messages * signed) / absolute.clamp(min=1e-6)
        return torch.einsum("cko,k->co", received, self.share) + self.own(x)


def _mlp(d_in: int, d_out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(d_in, d_out), nn.ReLU(), nn.Linear(d_out, d_out), nn.ReLU())


def ngm(width: int = 16, layers: int = 3) -> MessagePassing:
    """NGM: messages along 2-edges."""
    return MessagePassing((2,), width, layers)


def nhgm(width: int = 16, layers: int = 3) -> MessagePassing:
    """NHGM: messages along 2-edges and 3-edges."""
    return MessagePassing((2, 3), width, layers)
