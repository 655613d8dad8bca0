"""GCN (Kipf and Welling, ICLR 2017) on the clique expansion: CEGCN."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.ops import segment_sum

from ._model import NodeModel, Propagation, steps
from ._structure import degrees_of, derived, members_of, power, scale, stars_of


class CliqueGCNConv(Propagation):
    r"""A graph convolution (Eq. 2 of its paper) on the weighted clique expansion.

    .. math::
        X' = \tilde D^{-1/2} \tilde A \tilde D^{-1/2} X \Theta + b, \qquad
        \tilde A = A + I, \quad A = H H^\top - D

    A link weighs as many times as its ends share a hyperedge, as in the AllSet benchmark. Because A
    factors through the hyperedges (H is nodes × hyperedges, D the degrees), the product needs two sums
    over incidences and the clique expansion, quadratic in the orders, is never made. Weights of
    hyperedges and incidences are ignored: the clique expansion counts.

    Shapes: ``conv(x [num_nodes, d_in], h)`` → ``[num_nodes, d_out]``.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> CliqueGCNConv(2, 3)(torch.ones(4, 2), h).shape
    torch.Size([4, 3])
    """

    def propagate(self, x: Tensor, h: Hypergraph) -> Tensor:
        dtype = x.dtype  # two large numbers are subtracted: half precision would leave nothing of the rest
        x = x.float() if dtype in (torch.float16, torch.bfloat16) else x
        root = derived(h.incidence, _inverse_root_degrees, x.dtype)
        x = scale(root, x)
        shared = segment_sum(segment_sum(x, members_of(h)), stars_of(h))
        return scale(root, shared + scale(1 - degrees_of(h, x), x)).to(dtype)


def _inverse_root_degrees(incidence: SparsePattern, dtype: torch.dtype) -> Tensor:
    """``[num_nodes]``: (1 + Σ over the hyperedges of a node of order − 1) ^ −½."""
    others = (incidence.lengths - 1).to(torch.float64).unsqueeze(1)
    degrees = 1 + segment_sum(others, incidence.transpose()).squeeze(1)
    return power(degrees, -0.5).to(dtype)


class CEGCN(NodeModel):
    """GCN on the clique expansion: `CliqueGCNConv` layers with ReLU and dropout between them.

    >>> from ehnn import Hypergraph
    >>> CEGCN(2, 3)(Hypergraph.from_edges([[0, 1, 2]], num_nodes=4, x=torch.ones(4, 2))).shape
    torch.Size([4, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels between the layers.
        layers: the number of convolutions.
        dropout: after each activation.
    """

    def __init__(
        self, d_in: int, d_out: int, *, width: int = 64, layers: int = 2, dropout: float = 0.5
    ) -> None:
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        self.convs.extend(CliqueGCNConv(a, b) for a, b in steps(d_in, width, d_out, layers))
