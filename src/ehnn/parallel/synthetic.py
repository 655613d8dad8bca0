"""A generated labelled hypergraph, for machines without data."""

from __future__ import annotations

import torch

from ehnn._utils.validation import as_count
from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.pairs import starts

CHANNELS = 16


def synthetic(
    num_nodes: int = 2000, num_edges: int = 3000, classes: int = 4, *, noise: float = 1.0, seed: int = 0
) -> Hypergraph:
    """Communities: the class of a node is that of most of its hyperedges, and its noisy one-hot feature.

    A hyperedge has a class and 2 to 6 nodes, each from that class with probability 0.8. ``x [n, 16]``
    float32, ``y [n]``.
    """
    classes = as_count(classes, "classes", 1)
    if classes > CHANNELS:
        raise ValueError(f"classes must be at most {CHANNELS}, the channels of the features, got {classes}")
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (num_nodes,), generator=g)
    by_class = torch.argsort(y, stable=True)
    counts = torch.bincount(y, minlength=classes)
    start = starts(counts)
    orders = torch.randint(2, 7, (num_edges,), generator=g)
    edge = torch.repeat_interleave(torch.arange(num_edges), orders)
    kind = torch.randint(classes, (num_edges,), generator=g)[edge]
    draw = torch.rand(edge.shape[0], generator=g, dtype=torch.float64)
    own = by_class[(start[kind] + (draw * counts[kind]).long()).clamp(max=num_nodes - 1)]
    other = torch.randint(num_nodes, edge.shape, generator=g)
    node = torch.where(torch.rand(edge.shape[0], generator=g) < 0.8, own, other)
    x = torch.nn.functional.one_hot(y, CHANNELS).float()
    x = x + noise * torch.randn(x.shape, generator=g)
    return Hypergraph.from_incidence(torch.stack([node, edge]), num_nodes, num_edges, x=x, y=y)
