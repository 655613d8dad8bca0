import sys
from pathlib import Path

import pytest
import torch

from ehnn import Hypergraph

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def full():
    """Every attribute, an isolated node at the end, an empty hyperedge inside and at the end."""
    return Hypergraph.from_incidence(
        ([0, 2, 1, 3, 0], [0, 0, 2, 2, 2]),
        5,
        4,
        x=torch.arange(10.0).reshape(5, 2) / 7,
        edge_x=torch.arange(12, dtype=torch.float64).reshape(4, 3) / 3,
        y=torch.tensor([3, 1, 4, 1, 5]),
        edge_weight=torch.tensor([0.5, 1.0, 2.0, 0.1]),
        incidence_weight=torch.tensor([1.5, 2.5, 1.0, 0.25, 3.0], dtype=torch.float64),
        node_names=["ann", "bob, the 2nd", 'q"q', 7, "é"],
        edge_names=["first", "second", 3, "last"],
    )


@pytest.fixture
def batch_of_two():
    import ehnn

    return ehnn.batch([Hypergraph.from_edges([[0, 1]])] * 2)


@pytest.fixture
def file(tmp_path):
    """Write text or bytes to a file and give its path."""

    def write(content, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
