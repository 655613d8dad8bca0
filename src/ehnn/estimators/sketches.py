"""Features of who a node meets: random vectors, smoothed along the hyperedges."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.ops import segment_mean, segment_sum

STEPS = (1, 3)
"""Smoothings after which a sketch is taken: the node's co-members, and theirs."""


def sketch_features(h: Hypergraph, channels: int, seed: int = 0) -> Tensor:
    r"""``[num_nodes, 2 * channels]``: sketches of the co-members of each node.

    Every node draws a random vector of ``channels`` Gaussian numbers, a name that no other node has. These
    rows R are smoothed by the normalised operator of the hypergraph,

    .. math:: S = D^{-1/2} H\, B^{-1} H^\top D^{-1/2}

    (H the incidence matrix, D the degrees, B the orders), and :math:`SR` and :math:`S^3R` are returned, each
    scaled to mean square 1. The inner product of two rows of SR estimates that of the two rows of S: nodes
    with the same co-members have similar sketches, whether they ever met or not. Eigenvectors would say the
    same, but their signs and order change when a few hyperedges are taken out; sketches hardly do.

    Renumbering the nodes gives another draw of the same distribution. Cost: incidences × channels.

    >>> h = Hypergraph.from_edges([[0, 1], [0, 1], [2, 3]], num_nodes=5)
    >>> x = sketch_features(h, 8)
    >>> bool((x[0] - x[1]).abs().max() < 1e-5), x[4].abs().max().item()
    (True, 0.0)
    """
    generator = torch.Generator().manual_seed(seed % 2**63)
    x = torch.randn(h.num_nodes, channels, generator=generator).to(h.device, torch.get_default_dtype())
    to_nodes = h.incidence.transpose()
    weight = h.degrees.clamp(min=1).to(x.dtype).rsqrt().unsqueeze(1)
    found = []
    for step in range(1, max(STEPS) + 1):
        x = weight * segment_sum(segment_mean(weight * x, h.incidence), to_nodes)
        x = x / x.square().mean().sqrt().clamp(min=1e-12) if len(x) else x
        if step in STEPS:
            found.append(x)
    return torch.cat(found, 1)
