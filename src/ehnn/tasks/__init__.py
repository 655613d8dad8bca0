"""Tasks: data, loss and metric."""

from ehnn._utils.moved import former

from .node_classification import NodeClassification

__all__ = ["NodeClassification"]

__getattr__ = former(
    __name__,
    {
        "KEdge": "ehnn_paper.k_edge:KEdge",
        "SampledNodeClassification": "ehnn_paper.nodes.sampled:SampledNodeClassification",
        "k_edge_hypergraphs": "ehnn_paper.k_edge:k_edge_hypergraphs",
        "matching": "ehnn_paper.matching",
    },
)
