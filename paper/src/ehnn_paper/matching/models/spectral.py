"""GMN: spectral matching as a network without parameters of its own."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.ops import segment_sum

from ..association import Association
from ..candidates import Candidates


class Spectral(nn.Module):
    r"""The leading eigenvector of the association matrix (GMN: Zanfir, Sminchisescu; CVPR 2018).

    .. math:: v \leftarrow K v / \|K v\|

    with node affinities on the diagonal of K and affinities of 2-edges beside it, one eigenvector per image
    pair. K is never made: a step is two sums over incidences. Affinities are raised by what softplus − 1/2
    took from them, so that K has no negative entries and the iteration converges.

    Shapes: a hypergraph with affinities → ``[c, 1]``.
    """

    orders = (2,)
    width = 1

    def __init__(self, iterations: int = 40) -> None:
        super().__init__()
        self.iterations = iterations

    def forward(self, h: Hypergraph, association: Association) -> Tensor:
        nodes, edges = h.features("nodes") + 0.5, h.features("edges") + 0.25
        to_nodes = association.to_nodes
        degree = segment_sum(edges, to_nodes)
        v = torch.ones_like(nodes)
        for _ in range(self.iterations):
            around = segment_sum(segment_sum(v, h.incidence) * edges, to_nodes) - degree * v
            v = nodes * v + around
            v = v / _norm(v, association.candidates)
        return v


def _norm(v: Tensor, candidates: Candidates) -> Tensor:
    """``[c, 1]``: the norm of v within the image pair of each candidate."""
    square = v.new_zeros(candidates.num_pairs, 1).index_add(0, candidates.pair, v.square())
    return square.clamp(min=1e-12).sqrt().index_select(0, candidates.pair)
