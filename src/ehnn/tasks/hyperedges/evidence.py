"""What overlaps and degrees say of candidates: columns for a linear model."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.products import common_columns

from .affinity import RANKS, Affinity
from .heuristics import common_neighbours

EVIDENCE = (
    "co-membership", "Adamic–Adar", "largest overlap", "common neighbours", "mean degree", "least degree",
    "size", *(f"affinity of {rank} patterns" for rank in RANKS),
)  # fmt: skip
"""The columns of `evidence`."""
_MOST_PAIRS = 20_000_000
"""Pairs of neighbours beyond which common neighbours are not counted."""


def evidence(h: Hypergraph, candidates: Hypergraph) -> Tensor:
    r"""``[num_candidates, 10]`` scores of ``candidates`` on ``h``, which must not hold them.

    Logarithms (of 1 + …) of: the mean over the pairs of nodes of a candidate c of the hyperedges e that hold
    both, each counting 1 (co-membership) or 1 / log(1 + order) (as Adamic and Adar do for neighbours); the
    common neighbours of a pair, in the mean (0 where h has more than 20 million pairs of neighbours); the
    mean and the least degree; the size. And the largest share of the candidate in one hyperedge,
    :math:`\max_e |c \cap e| / |c|`; and the columns of `Affinity`.

    >>> h = Hypergraph.from_edges([[0, 1, 2], [0, 1]], num_nodes=4)
    >>> evidence(h, Hypergraph.from_edges([[0, 1], [1, 3]], num_nodes=4))[:, 2].tolist()
    [1.0, 0.5]
    """
    h, candidates = h.to("cpu"), candidates.to("cpu")
    row, edge, count = common_columns(candidates.incidence, h.incidence)
    orders, size = h.orders.double(), candidates.orders.double()
    pairs = (size * (size - 1) / 2).clamp(min=1)
    shared = (count * (count - 1) / 2).double()
    zero = torch.zeros(candidates.num_edges, dtype=torch.float64)
    together = zero.index_add(0, row, shared) / pairs
    adamic = zero.index_add(0, row, shared / orders[edge].log1p()) / pairs
    largest = zero.scatter_reduce(0, row, count / size[row], "amax")
    near = zero if int((orders**2).sum()) > _MOST_PAIRS else common_neighbours(h, candidates)
    node, owner = candidates.index
    degree = h.degrees.double()[node].log1p()
    mean = zero.index_add(0, owner, degree) / size.clamp(min=1)
    least = torch.full_like(zero, torch.inf).scatter_reduce(0, owner, degree, "amin")
    least = least.masked_fill(least.isinf(), 0.0)
    columns = [together.log1p(), adamic.log1p(), largest, near.log1p(), mean, least, size.log1p()]
    return torch.cat([torch.stack(columns, 1), Affinity.of(h)(candidates).double()], 1)
