"""The Davis Southern Women data as a hypergraph, and an equivariant layer on it.

Eighteen women (nodes) attended fourteen events (hyperedges) in a town of the American South in the
1930s: A. Davis, B. B. Gardner, M. R. Gardner, "Deep South", 1941. NetworkX ships the attendance table.

Run it with ``make demo``, or ``python examples/davis.py`` where ehnn and networkx are installed.
"""

from __future__ import annotations

import networkx as nx
import torch

import ehnn


def davis() -> ehnn.Hypergraph:
    """18 nodes, 14 hyperedges; the features of a node are its row of the identity matrix."""
    h = ehnn.io.from_networkx(nx.davis_southern_women_graph())
    return h.replace(x=torch.eye(h.num_nodes))


def show(h: ehnn.Hypergraph) -> None:
    """Print the hypergraph, its largest hyperedge and its busiest node."""
    assert h.node_names is not None
    assert h.edge_names is not None
    event, woman = int(h.orders.argmax()), int(h.degrees.argmax())
    print(h)
    print(f"  largest event: {h.edge_names[event]}, {h.orders[event]} women")
    print(f"  busiest woman: {h.node_names[woman]}, {h.degrees[woman]} events")


def main() -> None:
    torch.manual_seed(0)
    h = davis()
    show(h)

    overlap = h.overlap("nodes", "edges")
    layer = ehnn.nn.EHNNLinear(h.num_nodes, 4, weights="hypernetwork")
    with torch.no_grad():
        y = layer(h.features("nodes"), overlap)
    print(f"EHNNLinear, nodes to hyperedges: {tuple(h.features('nodes').shape)} -> {tuple(y.shape)}")
    print(f"  parameters: {sum(p.numel() for p in layer.parameters())}, whatever the orders")
    check(layer, h)


def check(layer: torch.nn.Module, h: ehnn.Hypergraph) -> None:
    """Renumber the women and the events: outputs follow, or this raises."""
    ehnn.testing.assert_equivariant(layer, h, source="nodes", target="edges")
    print("  renumbering the women or the events renumbers the outputs, and changes nothing else: checked")


if __name__ == "__main__":
    main()
