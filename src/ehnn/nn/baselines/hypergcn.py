"""HyperGCN (Yadati et al., NeurIPS 2019): a graph convolution on the extremes of each hyperedge."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.ops import segment_sum

from ._model import NodeModel, Propagation, steps
from ._structure import derived, members_of, orders_of, power, scale, stars_of
from .hgnn import edge_weights


class Extremes(NamedTuple):
    """The two members of each hyperedge that lie farthest apart, ``[num_edges]`` node numbers each."""

    high: Tensor
    low: Tensor


class HyperGCNConv(Propagation):
    r"""A graph convolution on the graph that joins, in each hyperedge, its extremes and its mediators.

    .. math::
        X' = \tilde D^{-1/2} (A + I) \tilde D^{-1/2} X \Theta + b, \qquad
        (i_e, j_e) = \arg\max_{i, j \in e} \|x_i - x_j\|

    With mediators, hyperedge e links i_e and j_e with each other and both with every other member, each
    of the 2|e| − 3 links with weight w_e / (2|e| − 3); without, it is the one link (i_e, j_e) of weight
    w_e. Links add up. w is ``h.edge_weight`` (1 where None); ``h.incidence_weight`` is ignored.

    As in its authors' implementation, the farthest pair is sought along one random direction (linear
    in the order of e; the maximum over pairs is quadratic): i_e has the largest projection, j_e the
    smallest. Of members with equal projections, i_e is the one with the lowest and j_e the one with
    the highest number: with such ties, and only then, the layer depends on the numbering of the nodes.

    Since e's part of A is a star around i_e and j_e, the product needs one sum over incidences in each
    direction and the graph is never made; so the extremes may differ between runs under ``vmap``.

    Shapes: ``conv(x [num_nodes, d_in], h, extremes)`` → ``[num_nodes, d_out]``; without ``extremes`` they
    are found from x.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> HyperGCNConv(2, 3)(torch.ones(4, 2), h).shape
    torch.Size([4, 3])
    """

    direction: Tensor

    def __init__(self, d_in: int, d_out: int, *, mediators: bool = True) -> None:
        super().__init__(d_in, d_out)
        self.mediators = mediators
        self.register_buffer("direction", torch.randn(d_in))

    def forward(self, x: Tensor, h: Hypergraph, extremes: Extremes | None = None) -> Tensor:
        if extremes is None:
            extremes = find_extremes(x.detach(), self.direction, h.incidence)
        weight = _link_weights(x, h, self.mediators)
        ones = torch.ones_like(x[:, :1])
        root = power(1 + self._links(ones, weight, extremes, h).squeeze(1), -0.5)
        y = scale(root, self.theta(x))
        return scale(root, y + self._links(y, weight, extremes, h)) + self.bias

    def _links(self, x: Tensor, weight: Tensor, extremes: Extremes, h: Hypergraph) -> Tensor:
        """``A x``."""
        if h.num_incidences == 0:
            return torch.zeros_like(x)
        return (_mediated if self.mediators else _single_link)(x, weight, extremes, h)


def find_extremes(x: Tensor, direction: Tensor, incidence: SparsePattern) -> Extremes:
    """The members of each hyperedge with the largest and the smallest projection of ``x [num_nodes, d]``.

    Empty hyperedges get node 0 twice; like those of one node they link nothing.
    """
    # A sum of products and not a matrix product, which may round equal rows differently.
    values = (x * direction).sum(1).index_select(0, incidence.index)
    rows, places = incidence.rows, torch.arange(len(incidence), device=x.device)
    if len(incidence) == 0:
        return Extremes(torch.zeros_like(incidence.lengths), torch.zeros_like(incidence.lengths))
    high = _first(values, places, rows, incidence)
    low = len(incidence) - 1 - _first(-values, places.flip(0), rows, incidence)
    high, low = (p.clamp(0, len(incidence) - 1) for p in (high, low))
    return Extremes(incidence.index[high], incidence.index[low])


def _first(values: Tensor, places: Tensor, rows: Tensor, incidence: SparsePattern) -> Tensor:
    """``[rows]`` the lowest of ``places`` among the entries of each row with the largest value."""
    top = values.new_full((incidence.num_rows,), -torch.inf).scatter_reduce(0, rows, values, "amax")
    candidates = torch.where(values == top[rows], places, len(incidence))
    none = places.new_full((incidence.num_rows,), len(incidence))
    return none.scatter_reduce(0, rows, candidates, "amin")


def _link_weights(x: Tensor, h: Hypergraph, mediators: bool) -> Tensor:
    """``[num_edges]`` the weight of each link of a hyperedge; 0 where there are fewer than two members."""
    orders = orders_of(h, x)
    links = 2 * orders - 3 if mediators else (orders > 1).to(x.dtype)
    weights = edge_weights(h, x)
    return power(links, -1) if weights is None else weights * power(links, -1)


def _mediated(x: Tensor, weight: Tensor, extremes: Extremes, h: Hypergraph) -> Tensor:
    """``A x`` with mediators.

    A mediator receives high + low. An extreme receives the sum of the others; what it was sent as if it
    were a mediator is taken back.
    """
    high, low = (x[i] for i in extremes)
    both, total = high + low, segment_sum(x, members_of(h))
    y = segment_sum(scale(weight, both), stars_of(h))
    return _add(y, extremes, scale(weight, total - both - high), scale(weight, total - both - low))


def _single_link(x: Tensor, weight: Tensor, extremes: Extremes, h: Hypergraph) -> Tensor:
    """``A x`` without mediators: each extreme receives the other."""
    high, low = (x[i] for i in extremes)
    return _add(torch.zeros_like(x), extremes, scale(weight, low), scale(weight, high))


def _add(y: Tensor, extremes: Extremes, to_high: Tensor, to_low: Tensor) -> Tensor:
    index = torch.cat([extremes.high, extremes.low]).unsqueeze(1)
    return y.scatter_add(0, index.expand(-1, y.shape[1]), torch.cat([to_high, to_low]))


class HyperGCN(NodeModel):
    """HyperGCN: `HyperGCNConv` layers with ReLU and dropout between them.

    With ``fast`` (FastHyperGCN of the paper) the extremes are found once, from the features ``h.x`` (from
    ``x`` if there are none), and shared by all layers; otherwise every layer finds its own from its
    input, along a random direction of its own that is a buffer of the layer.

    >>> from ehnn import Hypergraph
    >>> HyperGCN(2, 3)(Hypergraph.from_edges([[0, 1, 2]], num_nodes=4, x=torch.ones(4, 2))).shape
    torch.Size([4, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels between the layers.
        layers: the number of convolutions.
        dropout: after each activation.
        mediators: link the other members of a hyperedge with its extremes.
        fast: find the extremes once, from the input features.
        seed: of the random direction in the input features, if ``fast``.
    """

    reads_edge_weight = True

    def __init__(
        self,
        d_in: int,
        d_out: int,
        *,
        width: int = 64,
        layers: int = 2,
        dropout: float = 0.5,
        mediators: bool = True,
        fast: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        self.fast, self.seed = fast, seed
        self.convs.extend(
            HyperGCNConv(a, b, mediators=mediators) for a, b in steps(d_in, width, d_out, layers)
        )

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        """``[num_nodes, d_out]`` logits; ``x [num_nodes, d_in]`` replaces ``h.x``."""
        x = self.features(h, x)
        extremes = self.input_extremes(h, x) if self.fast else None
        for i, conv in enumerate(self.convs):
            x = self.dropouts[i](self.activation(x)) if i else x
            x = conv(x, h, extremes)
        return x

    def input_extremes(self, h: Hypergraph, x: Tensor) -> Extremes:
        """The extremes in the input features, found once for each hypergraph that has features."""
        if h.x is not None:
            return derived(h, _input_extremes, self.seed)
        return find_extremes(x.detach(), _direction(x, self.seed), h.incidence)


def _input_extremes(h: Hypergraph, seed: int) -> Extremes:
    assert h.x is not None
    x = h.x.detach().to(torch.float64)
    return find_extremes(x, _direction(x, seed), h.incidence)


def _direction(x: Tensor, seed: int) -> Tensor:
    """``[d]`` a random direction, the same on every device."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(x.shape[1], generator=generator, dtype=torch.float64).to(x)
