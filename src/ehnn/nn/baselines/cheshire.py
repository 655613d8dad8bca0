"""CHESHIRE (Chen et al., Teasing out missing reactions in genome-scale metabolic networks, 2023)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ehnn._utils.validation import as_count
from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.hypergraph.roles import refuse_roles
from ehnn.ops import segment_sum

from ..dropout import Dropout
from ..layer import check_hypergraph
from ._structure import derived, orders_of, scale, stars_of, within_edges

_SATURATED = -1.7580993408473766
"""What alpha dropout writes in the place of a dropped number: the lower limit of SELU."""
_EPSILON = 1e-5


class CHESHIRE(nn.Module):
    r"""Scores candidates by Chebyshev convolution on the clique of their nodes.

    .. math::
        X &= \mathrm{hardtanh}(H W + b) \\
        Z_c &= \mathrm{hardtanh}\Big(\sum_{k=0}^{2} T_k(\hat L_c)\,
            \mathrm{dropout}(\mathrm{GraphNorm}(X_c))\, \Theta_k + b'\Big), \quad
            \hat L_c = -\tfrac{1}{|c| - 1}(\mathbf 1 \mathbf 1^\top - I) \\
        s_c &= \sigma\Big(w \cdot \big[\max Z_c - \min Z_c \,\|\, \sqrt{\mathrm{mean}\, Z_c^2}\big] + b''\Big)

    H (nodes × hyperedges) is the incidence matrix of the training hyperedges, so the model is one of a given
    hypergraph, and :math:`X_c` are the rows of the nodes of candidate c. :math:`\hat L_c` is the scaled
    Laplacian of the complete graph on c; its products are sums over c, so memory is linear in the members of
    the candidates. Dropout is alpha dropout. Weights of hyperedges and incidences are ignored.

    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> CHESHIRE(h.num_edges)(h, Hypergraph.from_edges([[0, 3], [1, 2, 3]])).shape
    torch.Size([2, 1])

    Args:
        num_edges: training hyperedges.
        width: channels of the encoded nodes.
        conv_width: channels after the convolution.
        dropout: before the convolution.

    Shapes: ``model(h, candidates)`` → ``[num_candidates, 1]`` between 0 and 1.
    """

    def __init__(
        self, num_edges: int, *, width: int = 256, conv_width: int = 128, dropout: float = 0.1
    ) -> None:
        super().__init__()
        for name, value in (("num_edges", num_edges), ("width", width), ("conv_width", conv_width)):
            as_count(value, name, 1)
        self.num_edges = num_edges
        self.encoder = nn.Linear(num_edges, width)
        self.mean_scale, self.weight = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.dropout = Dropout(dropout)
        self.convs = nn.ModuleList(nn.Linear(width, conv_width, bias=k == 0) for k in range(3))
        self.out = nn.Linear(2 * conv_width, 1)

    def forward(self, h: Hypergraph, candidates: Hypergraph) -> Tensor:
        self._check(h, candidates)
        x = F.hardtanh(segment_sum(self.encoder.weight.t(), stars_of(h)) + self.encoder.bias)
        x = self._alpha_dropout(self._graph_norm(x[candidates.incidence.index], candidates))
        z = F.hardtanh(self._chebyshev(x, candidates))
        return torch.sigmoid(self.out(_pooled(z, candidates)))

    def _check(self, h: Hypergraph, candidates: Hypergraph) -> None:
        for given in (h, candidates):
            check_hypergraph(self, given)
            refuse_roles(given.roles, type(self).__name__)
        if h.num_edges != self.num_edges:
            raise ValueError(f"h must have the {self.num_edges} training hyperedges, got {h.num_edges}")
        if candidates.num_nodes != h.num_nodes:
            raise ValueError(
                f"candidates must be over the same {h.num_nodes} nodes, got {candidates.num_nodes}"
            )

    def _graph_norm(self, x: Tensor, candidates: Hypergraph) -> Tensor:
        """``[members, width]``: zero mean (by ``mean_scale``) and unit deviation in a candidate."""
        x = x - self.mean_scale * _spread(_mean(x, candidates), candidates)
        deviation = (_mean(x.square(), candidates) + _EPSILON).sqrt()
        return self.weight * x / _spread(deviation, candidates) + self.shift

    def _alpha_dropout(self, x: Tensor) -> Tensor:
        p = self.dropout.p
        if not self.training or p == 0:
            return x
        factor = ((1 - p) * (1 + p * _SATURATED**2)) ** -0.5
        dropped = (1 - p) * self.dropout(x - _SATURATED) + _SATURATED
        return factor * (dropped - p * _SATURATED)

    def _chebyshev(self, x: Tensor, candidates: Hypergraph) -> Tensor:
        first = _laplacian(x, candidates)
        second = 2 * _laplacian(first, candidates) - x
        return self.convs[0](x) + self.convs[1](first) + self.convs[2](second)


def ranking_loss(positive: Tensor, negative: Tensor) -> Tensor:
    """Mean over positives of log(1 + exp(mean of the negatives − positive)); NHP's, which CHESHIRE uses."""
    return F.softplus(negative.mean() - positive).mean()


def _laplacian(x: Tensor, candidates: Hypergraph) -> Tensor:
    """L̂ x: minus the mean of the other members; 0 for a member alone."""
    others = derived(candidates.incidence, _others, x.dtype)
    total = _spread(segment_sum(x, within_edges(candidates)), candidates)
    return scale(others, x - total)


def _others(incidence: SparsePattern, dtype: torch.dtype) -> Tensor:
    """``[members]`` 1 / (|c| − 1), or 0."""
    share = torch.where(incidence.lengths > 1, 1 / (incidence.lengths - 1).clamp(min=1).double(), 0.0)
    return share[incidence.rows].to(dtype)


def _mean(x: Tensor, candidates: Hypergraph) -> Tensor:
    total = segment_sum(x, within_edges(candidates))
    return scale(orders_of(candidates, x).clamp(min=1).reciprocal(), total)


def _spread(x: Tensor, candidates: Hypergraph) -> Tensor:
    """Rows of candidates to their members."""
    return x[candidates.incidence.rows]


def _pooled(z: Tensor, candidates: Hypergraph) -> Tensor:
    """``[num_candidates, 2 d]``: largest − smallest, and root mean square; 0 for an empty candidate."""
    index = candidates.incidence.rows.unsqueeze(1).expand(-1, z.shape[1])
    zero = z.new_zeros(candidates.num_edges, z.shape[1])
    largest = zero.scatter_reduce(0, index, z, "amax", include_self=False)
    smallest = zero.scatter_reduce(0, index, z, "amin", include_self=False)
    mean = _mean(z.square(), candidates)
    positive = mean > 0
    root = torch.where(positive, torch.where(positive, mean, 1.0).sqrt(), 0.0)
    return torch.cat([largest - smallest, root], 1)
