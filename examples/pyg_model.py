"""An equivariant layer between PyTorch Geometric's own, on a PyG data object.

178 wines of three growers were measured in 13 ways (scikit-learn ships the table). A measurement gives four
hyperedges, its quarters: the wines that are low in magnesium belong together. A hypergraph convolution of PyG
is followed by a pair of EHNN layers, nodes → hyperedges → nodes, in one ``torch_geometric.nn.Sequential``.

Run it with ``python examples/pyg_model.py`` where ehnn is installed with the extra ``interop``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_wine
from torch import Tensor, nn
from torch_geometric.nn import HypergraphConv, Sequential

import ehnn


def wines() -> Any:
    """A PyG ``HyperGraphData``: ``x [178, 13]`` standardised, ``y [178]``, 52 hyperedges."""
    table = load_wine()
    quarter = [np.searchsorted(np.quantile(c, [0.25, 0.5, 0.75]), c) for c in table.data.T]
    edge = np.stack([4 * i + q for i, q in enumerate(quarter)], 1)  # [178, 13]
    node = np.repeat(np.arange(len(edge)), edge.shape[1])
    x = (table.data - table.data.mean(0)) / table.data.std(0)
    h = ehnn.Hypergraph.from_incidence(
        np.stack([node, edge.ravel()]), len(edge), 52, torch.from_numpy(x).float(), y=table.target
    )
    return ehnn.io.to_pyg(h)


def make_model(d_in: int, width: int, d_out: int) -> nn.Module:
    """``model(x, index, to_edges, to_nodes)``: PyG's layers read the index, ours the overlaps."""
    return Sequential(
        "x, index, to_edges, to_nodes",
        [
            (HypergraphConv(d_in, width), "x, index -> x"),
            nn.ReLU(),
            (ehnn.nn.EHNNMLP(width, width), "x, to_edges -> e"),
            (ehnn.nn.EHNNMLP(width, width), "e, to_nodes -> x"),
            nn.Linear(width, d_out),
        ],
    )


def main(epochs: int = 60) -> None:
    torch.manual_seed(0)
    data = wines()
    h = ehnn.io.from_pyg(data)
    structure = (data.edge_index, h.overlap("nodes", "edges"), h.overlap("edges", "nodes"))  # made once
    train, _, test = ehnn.datasets.random_split(data.y, (0.5, 0.25, 0.25), seed=0)
    model = make_model(data.x.shape[1], 32, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        optimizer.zero_grad()
        F.cross_entropy(model(data.x, *structure)[train], data.y[train]).backward()
        optimizer.step()
    right: Tensor = model(data.x, *structure).argmax(1) == data.y
    print(f"parts of the model: {', '.join(type(part).__name__ for part in model.children())}")
    print(f"test accuracy of one split: {100 * right[test].float().mean():.1f} % of {len(test)} wines")


if __name__ == "__main__":
    main()
