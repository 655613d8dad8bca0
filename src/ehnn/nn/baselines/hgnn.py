"""HGNN (Feng et al., Hypergraph Neural Networks, AAAI 2019)."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.ops import segment_sum

from ._model import NodeModel, Propagation, steps
from ._structure import derived, members_of, orders_of, power, scale, stars_of


class HGNNConv(Propagation):
    r"""The hypergraph convolution from the symmetric hypergraph Laplacian.

    .. math:: X' = D_v^{-1/2} H W D_e^{-1} H^\top D_v^{-1/2} X \Theta + b

    H is the 0/1 incidence matrix (nodes × hyperedges), W the hyperedge weights (``h.edge_weight``, 1 where
    None; gradients reach them), :math:`D_v = \mathrm{diag}(H W 1)`, :math:`D_e = \mathrm{diag}(H^\top 1)`.
    ``h.incidence_weight`` is ignored. Isolated nodes get b.

    PyG's ``HypergraphConv`` has no symmetric form and, 2.8 and before, uses W in the degrees but
    leaves it out of the product (its issue 6918, pull request 10600).

    Shapes: ``conv(x [num_nodes, d_in], h)`` → ``[num_nodes, d_out]``.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> HGNNConv(2, 3)(torch.ones(4, 2), h).shape
    torch.Size([4, 3])
    """

    def propagate(self, x: Tensor, h: Hypergraph) -> Tensor:
        return hypergraph_product(x, h, symmetric=True)


def hypergraph_product(x: Tensor, h: Hypergraph, *, symmetric: bool) -> Tensor:
    """``[num_nodes, d] → [num_nodes, d]``: D^-½ H W B⁻¹ Hᵀ D^-½ x, or D⁻¹ H W B⁻¹ Hᵀ x if not symmetric."""
    weights = edge_weights(h, x)
    if weights is None:  # constants, which the sums take along
        norm, share = derived(h.incidence, _factors, symmetric, x.dtype)
        edges = segment_sum(x, members_of(h), of_rows=share, of_cols=norm if symmetric else None)
        return segment_sum(edges, stars_of(h), of_rows=norm)
    degrees = segment_sum(weights.unsqueeze(1), stars_of(h)).squeeze(1)
    share = weights * power(orders_of(h, x), -1)
    norm = power(degrees, -0.5 if symmetric else -1.0)
    edges = scale(share, segment_sum(scale(norm, x) if symmetric else x, members_of(h)))
    return scale(norm, segment_sum(edges, stars_of(h)))


def _factors(incidence: SparsePattern, symmetric: bool, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """D^-½ (or D⁻¹) and B⁻¹ of a hypergraph without weights."""
    degrees, orders = incidence.t_lengths.to(dtype), incidence.lengths.to(dtype)
    return power(degrees, -0.5 if symmetric else -1.0), power(orders, -1)


def edge_weights(h: Hypergraph, x: Tensor) -> Tensor | None:
    """``[num_edges]`` the hyperedge weights as numbers of the kind of ``x``, or None."""
    return None if h.edge_weight is None else h.edge_weight.to(x.dtype)


class HGNN(NodeModel):
    """HGNN: `HGNNConv` layers with ReLU and dropout between them.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> HGNN(2, 3)(Hypergraph.from_edges([[0, 1, 2]], num_nodes=4, x=torch.ones(4, 2))).shape
    torch.Size([4, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels between the layers.
        layers: the number of convolutions.
        dropout: after each activation.
    """

    reads_edge_weight = True

    def __init__(
        self, d_in: int, d_out: int, *, width: int = 64, layers: int = 2, dropout: float = 0.5
    ) -> None:
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        self.convs.extend(HGNNConv(a, b) for a, b in steps(d_in, width, d_out, layers))
