"""Tasks: data, loss and metric."""

from .k_edge import KEdge, k_edge_hypergraphs
from .node_classification import NodeClassification, SampledNodeClassification

__all__ = ["KEdge", "NodeClassification", "SampledNodeClassification", "k_edge_hypergraphs"]
