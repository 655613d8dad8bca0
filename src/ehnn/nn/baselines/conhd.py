"""CoNHD (Zheng and Worring, Co-representation neural hypergraph diffusion, 2024), the GD variant."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.ops import segment_mean

from ..dropout import Dropout
from ..layer import check_choice
from ._incidences import IncidenceModel
from ._induced import InducedBlock
from ._structure import incidences_of, within_edges
from ._within_order import CENTRALITIES, within_order

DIFFUSIONS = ("isab", "unb")


class MeanBlock(nn.Module):
    """UNB: x ↦ MLP[x ‖ mean of MLP(x) over the group]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.outer = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x: Tensor, groups: SparsePattern) -> Tensor:
        mean = segment_mean(self.inner(x), groups)
        return self.outer(torch.cat([x, mean[groups.t_index]], 1))


class CoNHD(IncidenceModel):
    r"""Labels of nodes within hyperedges, by diffusion of a representation of each incidence.

    .. math::
        h^0_{ve} = \mathrm{ReLU}(W x_v), \qquad
        h \leftarrow W\big[h \,\|\, \phi(\{h + P r\}_{v \in e}) \,\|\,
            \psi(\{h + P r\}_{e \ni v}) \,\|\, h^0\big], \qquad y = W' h

    φ and ψ are two blocks each, within hyperedges and within nodes; r are the places of a node within a
    hyperedge, `within_order`. All layers share their parameters, and no activation follows.

    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]], x=torch.ones(4, 5))
    >>> CoNHD(5, 3, width=8)(h).shape
    torch.Size([5, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels of an incidence.
        layers: steps of the diffusion.
        diffusion: blocks of φ and ψ: ``"isab"`` (`InducedBlock`) or ``"unb"`` (`MeanBlock`).
        dropout: on the node features and before the output.
    """

    def __init__(
        self, d_in: int, d_out: int, *, width: int = 128, layers: int = 2, diffusion: str = "isab",
        dropout: float = 0.7,
    ) -> None:  # fmt: skip
        super().__init__(d_in, d_out, width=width, layers=layers)
        block = {"isab": InducedBlock, "unb": MeanBlock}[check_choice("diffusion", diffusion, DIFFUSIONS)]
        self.layers = layers
        self.input_dropout, self.dropout = Dropout(dropout), Dropout(dropout)
        self.embed, self.place = nn.Linear(d_in, width), nn.Linear(CENTRALITIES, width, bias=False)
        self.in_edges, self.in_nodes = (nn.ModuleList(block(width) for _ in range(2)) for _ in range(2))
        self.step, self.out = nn.Linear(4 * width, width), nn.Linear(width, d_out)

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        nodes = self.embed(self.input_dropout(self.features(h, x))).relu()
        first = y = nodes[h.incidence.index]
        place = self.place(within_order(h, y.dtype))
        for _ in range(self.layers):
            parts = [y, y + place, y + place, first]
            for block in self.in_edges:
                parts[1] = block(parts[1], within_edges(h))
            for block in self.in_nodes:
                parts[2] = block(parts[2], incidences_of(h))
            y = self.step(torch.cat(parts, 1))
        return self.out(self.dropout(y))
