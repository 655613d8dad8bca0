"""k-edge identification: Tables 1 and 5 of the paper."""

from .task import KEdge, k_edge_hypergraphs

__all__ = ["KEdge", "k_edge_hypergraphs"]
