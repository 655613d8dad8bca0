"""The evidence of hyperedges with weights."""

from __future__ import annotations

import numpy as np
import torch

from ehnn import Hypergraph
from ehnn.estimators.portfolio.node_table import NodeTable
from ehnn.estimators.portfolio.outputs import Output


def test_a_row_does_not_see_its_own_label_in_a_heavy_hyperedge() -> None:
    weight = torch.tensor([3.0, 0.5])
    h = Hypergraph.from_edges([[0, 1], [0, 1, 2]], num_nodes=3).replace(edge_weight=weight)
    prior = np.full(2, 0.5)
    found = [
        NodeTable(h).with_known(Output("classes", 2), np.array([own, 0, 1]), prior).block("evidence")[0]
        for own in (-1, 0, 1)
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-6)
