"""HCHA (Bai et al., Hypergraph Convolution and Hypergraph Attention, Pattern Recognition 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.ops import segment_mean

from ._model import NodeModel, Propagation, steps
from ._structure import members_of, power, scale
from .hgnn import edge_weights, hypergraph_product


class HCHAConv(Propagation):
    r"""Hypergraph convolution, row-normalised or symmetric.

    .. math:: X' = D^{-1} H W B^{-1} H^\top X \Theta + b

    or, with ``symmetric``, :math:`D^{-1/2} H W B^{-1} H^\top D^{-1/2} X \Theta + b`, which is HGNN's. H is
    the 0/1 incidence matrix, W the hyperedge weights (``h.edge_weight``, 1 where None), D the weighted
    degrees and B the orders. ``h.incidence_weight`` is ignored. The row-normalised form without weights
    is PyG's ``HypergraphConv``; with weights PyG (2.8 and before) uses W in D but leaves it out of the
    product (its issue 6918, pull request 10600), so its rows no longer average.

    Shapes: ``conv(x [num_nodes, d_in], h)`` → ``[num_nodes, d_out]``.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> HCHAConv(2, 3)(torch.ones(4, 2), h).shape
    torch.Size([4, 3])
    """

    def __init__(self, d_in: int, d_out: int, *, symmetric: bool = False) -> None:
        super().__init__(d_in, d_out)
        self.symmetric = symmetric

    def propagate(self, x: Tensor, h: Hypergraph) -> Tensor:
        return hypergraph_product(x, h, symmetric=self.symmetric)


class HCHAAttention(HCHAConv):
    r"""Hypergraph attention: `HCHAConv` with a learnt incidence matrix.

    .. math::
        H_{ie} = \mathrm{softmax}_{e \ni i}\,
            \mathrm{LeakyReLU}\big(a^\top [x_i \Theta \,\|\, x_e \Theta]\big)

    over the hyperedges of a node, with D and B the weighted degrees and orders of this H. The paper
    needs hyperedges to have features of the same kind as nodes; here x_e is the mean of the members.
    PyG's attention normalises by the degrees and orders of the 0/1 incidences instead, so its rows
    are divided twice; before 2.5 its default mode sized the softmax wrongly (pull request 8818).

    Memory is incidences × channels. Shapes as `HCHAConv`.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> HCHAAttention(2, 3)(torch.ones(4, 2), h).shape
    torch.Size([4, 3])
    """

    def __init__(self, d_in: int, d_out: int, *, symmetric: bool = False) -> None:
        super().__init__(d_in, d_out, symmetric=symmetric)
        self.attention = nn.Parameter(torch.empty(2, d_out))
        nn.init.xavier_uniform_(self.attention)

    def propagate(self, x: Tensor, h: Hypergraph) -> Tensor:
        edge, node = h.incidence.rows, h.incidence.index
        alpha = self.incidence_matrix(x, h)
        weights = edge_weights(h, x)
        heavy = alpha if weights is None else alpha * weights.index_select(0, edge)
        degrees = _collect(heavy, node, h.num_nodes)
        orders = _collect(alpha, edge, h.num_edges)
        norm = power(degrees, -0.5 if self.symmetric else -1.0)
        sent = scale(norm, x) if self.symmetric else x
        edges = _collect(scale(alpha, sent.index_select(0, node)), edge, h.num_edges)
        back = scale(power(orders, -1), edges).index_select(0, edge)
        return scale(norm, _collect(scale(heavy, back), node, h.num_nodes))

    def incidence_matrix(self, x: Tensor, h: Hypergraph) -> Tensor:
        """``[num_incidences]`` the learnt entries of H, in the order of ``h.index``."""
        edge, node = h.incidence.rows, h.incidence.index
        of_node = x @ self.attention[0]
        of_edge = segment_mean(x, members_of(h)) @ self.attention[1]
        logits = nn.functional.leaky_relu(of_node.index_select(0, node) + of_edge.index_select(0, edge), 0.2)
        top = torch.full_like(of_node.detach(), -torch.inf).scatter_reduce(0, node, logits.detach(), "amax")
        weight = (logits - top.index_select(0, node)).exp()
        return weight / _collect(weight, node, h.num_nodes).index_select(0, node)


def _collect(values: Tensor, index: Tensor, rows: int) -> Tensor:
    """``[rows, …]`` sums of ``values`` by ``index``."""
    return values.new_zeros(rows, *values.shape[1:]).index_add(0, index, values)


class HCHA(NodeModel):
    """HCHA: `HCHAConv` layers with ELU and dropout between them.

    The AllSet benchmark, whose figures the paper quotes, ran the convolution without attention; that
    is the default.

    >>> from ehnn import Hypergraph
    >>> HCHA(2, 3)(Hypergraph.from_edges([[0, 1, 2]], num_nodes=4, x=torch.ones(4, 2))).shape
    torch.Size([4, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels between the layers.
        layers: the number of convolutions.
        dropout: after each activation.
        attention: `HCHAAttention` in place of `HCHAConv`.
        symmetric: the symmetric normalisation in place of the row-normalised one.
    """

    reads_edge_weight = True

    activation = staticmethod(nn.functional.elu)

    def __init__(
        self,
        d_in: int,
        d_out: int,
        *,
        width: int = 64,
        layers: int = 2,
        dropout: float = 0.5,
        attention: bool = False,
        symmetric: bool = False,
    ) -> None:
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        conv = HCHAAttention if attention else HCHAConv
        self.convs.extend(conv(a, b, symmetric=symmetric) for a, b in steps(d_in, width, d_out, layers))
