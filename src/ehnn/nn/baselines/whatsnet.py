"""WHATsNet (Choe et al., Classification of edge-dependent labels of nodes in hypergraphs, KDD 2023)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph, SparsePattern

from ..dropout import Dropout
from ._incidences import IncidenceModel
from ._induced import GroupAttention, InducedBlock
from ._structure import incidences_of, within_edges
from ._within_order import CENTRALITIES, within_order


class _Aggregation(nn.Module):
    """u = x + W r for each incidence, two `InducedBlock` within a group, then attention of the group."""

    def __init__(self, width: int, heads: int, inducing: int, dropout: float) -> None:
        super().__init__()
        self.place = nn.Linear(CENTRALITIES, width, bias=False)
        self.blocks = nn.ModuleList(InducedBlock(width, heads, inducing) for _ in range(2))
        self.dropout = Dropout(dropout)
        self.attention, self.linear = GroupAttention(width, heads), nn.Linear(width, width)

    def forward(self, x: Tensor, old: Tensor, r: Tensor, groups: SparsePattern) -> Tensor:
        u = x + self.place(r)
        for block in self.blocks:
            u = block(u, groups)
        found = self.attention.to_groups(old.unsqueeze(1), self.dropout(u), groups)
        return self.linear(found.squeeze(1))


class WHATsNet(IncidenceModel):
    r"""Labels of nodes within hyperedges, by attention within hyperedges and within nodes in turn.

    .. math::
        h_e &\leftarrow W\,\mathrm{MAB}\big(h_e, \mathrm{ISAB}^2\{x_v + W_r r_{ve} : v \in e\}\big) \\
        x_v &\leftarrow W'\,\mathrm{MAB}\big(x_v, \mathrm{ISAB}^2\{h_e + W'_r r_{ve} : e \ni v\}\big) \\
        y_{ve} &= W''[h_e \,\|\, x_v]

    r are the places of a node within a hyperedge, `within_order`. Hyperedges begin with zeros. A layer has
    parameters of its own. Nodes without hyperedges keep their query alone.

    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]], x=torch.ones(4, 5))
    >>> WHATsNet(5, 3, width=8)(h).shape
    torch.Size([5, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels between.
        layers: rounds of both steps.
        heads, inducing: of the attention, and inducing points of a block.
        dropout: before the last attention of a step.
    """

    def __init__(
        self, d_in: int, d_out: int, *, width: int = 64, layers: int = 2, heads: int = 4, inducing: int = 4,
        dropout: float = 0.7,
    ) -> None:  # fmt: skip
        super().__init__(d_in, d_out, width=width, layers=layers)
        self.embed = nn.Linear(d_in, width)
        self.to_edges, self.to_nodes = (
            nn.ModuleList(_Aggregation(width, heads, inducing, dropout) for _ in range(layers))
            for _ in range(2)
        )
        self.out = nn.Linear(2 * width, d_out)

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        nodes = self.embed(self.features(h, x))
        node, edge, r = h.incidence.index, h.incidence.rows, within_order(h, nodes.dtype)
        edges = nodes.new_zeros(h.num_edges, nodes.shape[1])
        for to_edges, to_nodes in zip(self.to_edges, self.to_nodes, strict=True):
            edges = to_edges(nodes[node], edges, r, within_edges(h))
            nodes = to_nodes(edges[edge], nodes, r, incidences_of(h))
        return self.out(torch.cat([edges[edge], nodes[node]], 1))
