"""GAT (Veličković et al., Graph Attention Networks, ICLR 2018) on the clique expansion: CEGAT."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn._utils.validation import as_count
from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.ops import additive_attention

from ._model import NodeModel, steps
from ._structure import clique_with_loops


class GATHeads(nn.Module):
    r"""Multi-head additive attention over any pattern of pairs (Eqs. 3 and 4 of the paper).

    .. math::
        y_i^h = \sum_{j \in N_i} \alpha_{ij}^h W_h x_j, \qquad
        \alpha_{ij}^h = \mathrm{softmax}_j\, \mathrm{LeakyReLU}\big(a_h^\top [W_h x_i \,\|\, W_h x_j]\big)

    Shapes: ``x [num_cols, d_in]``, pairs of targets × sources → ``[num_rows, heads, channels]``. Target i is
    the source ``place[i]``; without ``place``, source i.
    """

    def __init__(self, d_in: int, channels: int, heads: int) -> None:
        super().__init__()
        self.heads, self.channels = as_count(heads, "heads", 1), channels
        self.theta = nn.Linear(d_in, heads * channels, bias=False)
        self.of_source = nn.Parameter(torch.empty(heads, channels))
        self.of_target = nn.Parameter(torch.empty(heads, channels))
        for parameter in (self.theta.weight, self.of_source, self.of_target):
            nn.init.xavier_uniform_(parameter)

    def forward(self, x: Tensor, pairs: SparsePattern, place: Tensor | None = None) -> Tensor:
        x = self.theta(x).reshape(x.shape[0], self.heads, self.channels)
        source, target = (x * self.of_source).sum(-1), (x * self.of_target).sum(-1)
        target = target if place is None else target.index_select(0, place)
        return additive_attention(x, source.to(x.dtype), target.to(x.dtype), pairs)


class CliqueGATConv(nn.Module):
    """Graph attention over the clique expansion with self-loops.

    Heads are concatenated, or averaged with ``concat=False``.

    The number of shared hyperedges, and weights of hyperedges and incidences, are ignored: two nodes
    are neighbours or not. Attention weights are not dropped out. Memory is linear in the pairs of the
    clique expansion: one number per pair for a few heads at a time, in either pass.

    Shapes: ``conv(x [num_nodes, d_in], h)`` → ``[num_nodes, d_out]``.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> CliqueGATConv(2, 8, heads=4)(torch.ones(4, 2), h).shape
    torch.Size([4, 8])
    """

    def __init__(self, d_in: int, d_out: int, *, heads: int = 8, concat: bool = True) -> None:
        super().__init__()
        if concat and d_out % as_count(heads, "heads", 1):
            raise ValueError(f"heads must divide the {d_out} channels of the layer, got {heads}")
        self.concat = concat
        self.attention = GATHeads(d_in, d_out // heads if concat else d_out, heads)
        self.bias = nn.Parameter(torch.zeros(d_out))

    def forward(self, x: Tensor, h: Hypergraph) -> Tensor:
        y = self.attention(x, clique_with_loops(h))
        return (y.flatten(1) if self.concat else y.mean(1)) + self.bias


class CEGAT(NodeModel):
    """GAT on the clique expansion: `CliqueGATConv` layers with ELU and dropout between them.

    Heads are concatenated (Eq. 5 of the paper) but for the last layer, which averages them (Eq. 6).

    >>> from ehnn import Hypergraph
    >>> CEGAT(2, 3)(Hypergraph.from_edges([[0, 1, 2]], num_nodes=4, x=torch.ones(4, 2))).shape
    torch.Size([4, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels between the layers, all heads together.
        layers: the number of convolutions.
        dropout: after each activation.
        heads: of the layers before the last; they divide ``width``.
        out_heads: of the last layer.
    """

    activation = staticmethod(nn.functional.elu)

    def __init__(
        self,
        d_in: int,
        d_out: int,
        *,
        width: int = 64,
        layers: int = 2,
        dropout: float = 0.5,
        heads: int = 8,
        out_heads: int = 1,
    ) -> None:
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        *hidden, last = steps(d_in, width, d_out, layers)
        self.convs.extend(CliqueGATConv(a, b, heads=heads) for a, b in hidden)
        self.convs.append(CliqueGATConv(*last, heads=out_heads, concat=False))
