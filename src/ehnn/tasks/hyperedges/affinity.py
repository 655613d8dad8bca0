"""How much more often two nodes meet than their degrees say, by the strongest patterns of who meets whom."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.ops import segment_sum

RANKS = (4, 16, 64)
"""How many patterns the columns of an `Affinity` read."""
_MORE, _STEPS = 16, 6  # further dimensions and products of an approximate decomposition


@dataclass(frozen=True)
class Affinity:
    r"""A smoothed count of the hyperedges that two nodes share, also for pairs that share none.

    W[u, v] counts the hyperedges that hold u and v, each divided by its order − 1, so that a row sums to the
    number d of hyperedges of the node that have other nodes too; W[v, v] = 0. With
    :math:`s = (d + 1)^{-1/2}`, the k eigenvalues of largest size of

    .. math:: \mathrm{diag}(s)\, W\, \mathrm{diag}(s) \approx \sum_{i \le k} \lambda_i v_i v_i^\top

    give each node k coordinates. Positive eigenvalues belong to groups whose members share hyperedges,
    negative ones to roles: a node that asks shares hyperedges with nodes that answer, seldom with others that
    ask. Sketches (`ehnn.estimators.sketches`) count a node among its own
    co-members, which brings negative eigenvalues near 0 and hides them.

    Attributes:
        values: ``[k]`` eigenvalues, the largest in size first.
        vectors: ``[num_nodes, k]`` the eigenvectors times s and the root of the total of d + 1.

    >>> asked = [[a, b] for a in range(4) for b in range(4, 8) if a + 4 != b]
    >>> pairs = Hypergraph.from_edges([[0, 4], [0, 1]], num_nodes=8)  # neither met
    >>> [round(float(a), 1) for a in Affinity.of(Hypergraph.from_edges(asked))(pairs)[:, 0]]
    [0.8, 0.1]
    """

    values: Tensor
    vectors: Tensor

    @classmethod
    def of(cls, h: Hypergraph, rank: int = max(RANKS), seed: int = 0) -> Affinity:
        """Affinities by subspace iteration from a random start: time is linear in the incidences."""
        co_members = _CoMembers.of(h)
        n = h.num_nodes
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(n, min(rank + _MORE, n), generator=generator).to(h.device)
        for _ in range(_STEPS):
            x = torch.linalg.qr(co_members(x))[0]
        values, turn = torch.linalg.eigh(x.T @ co_members(x))
        chosen = values.abs().argsort(descending=True)[:rank]
        total = co_members.degree.sum().sqrt()
        return cls(values[chosen], total * co_members.root * (x @ turn[:, chosen]))

    def __call__(self, candidates: Hypergraph) -> Tensor:
        """``[num_candidates, len(RANKS)]``: logarithms of 1 + the mean over the pairs of nodes of each."""
        pairs = candidates.to(self.vectors.device).incidence
        order = pairs.lengths.to(self.vectors.dtype).unsqueeze(1)
        total = segment_sum(self.vectors, pairs).square() - segment_sum(self.vectors.square(), pairs)
        mean = total / (order * (order - 1)).clamp(min=1)
        upto = (mean * self.values).cumsum(1)
        if not upto.shape[1]:
            return upto.new_zeros(upto.shape[0], len(RANKS))
        found = torch.stack([upto[:, min(rank, upto.shape[1]) - 1] for rank in RANKS], 1)
        return found.sign() * found.abs().log1p()


@dataclass(frozen=True)
class _CoMembers:
    """The matrix diag(s) W diag(s), times columns."""

    h: Hypergraph
    share: Tensor
    own: Tensor
    degree: Tensor
    root: Tensor

    @classmethod
    def of(cls, h: Hypergraph) -> _CoMembers:
        to_nodes = h.incidence.transpose()
        several = (h.orders >= 2).to(torch.get_default_dtype()).unsqueeze(1)
        share = several / (h.orders - 1).clamp(min=1).unsqueeze(1)
        degree = 1 + segment_sum(several, to_nodes)
        return cls(h, share, segment_sum(share, to_nodes), degree, degree.rsqrt())

    def __call__(self, x: Tensor) -> Tensor:
        y = self.root * x
        met = segment_sum(self.share * segment_sum(y, self.h.incidence), self.h.incidence.transpose())
        return self.root * (met - self.own * y)
