"""A small dataset for the tasks."""

from __future__ import annotations

import pytest
import torch

from ehnn import Hypergraph


@pytest.fixture
def h() -> Hypergraph:
    """Two classes of 20 nodes, hyperedges within each class, noisy features, two nodes without label."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(40) // 20
    x = torch.nn.functional.one_hot(y, 6).float() + torch.randn(40, 6, generator=generator)
    edges = [list(range(i, 40 if i >= 20 else 20, 3)) for i in (0, 1, 2, 20, 21, 22)]
    y[[3, 30]] = -1
    return Hypergraph.from_edges(edges, num_nodes=40, x=x, y=y)
