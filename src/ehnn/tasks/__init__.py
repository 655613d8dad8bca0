"""Tasks: data, loss and metric."""

from .k_edge import KEdge, k_edge_hypergraphs

__all__ = ["KEdge", "k_edge_hypergraphs"]
