"""The models that the paper compares with, one file per paper.

AllSet's are layers ``layer(x, overlap) -> y`` for `ehnn.nn.Stack`. The others are models from nodes to nodes,
``model(h) -> [num_nodes, d_out]``, made of convolutions ``conv(x, h)``.
"""

from .all_set import AllDeepSets, AllSetTransformer
from .gat import CEGAT, CliqueGATConv
from .gcn import CEGCN, CliqueGCNConv
from .han import HAN, HANConv
from .hcha import HCHA, HCHAAttention, HCHAConv
from .hgnn import HGNN, HGNNConv
from .hnhn import HNHN, HNHNConv
from .hypergcn import HyperGCN, HyperGCNConv
from .mlp import MLP
from .unigcnii import UniGCNII, UniGCNIIConv

__all__ = [
    "CEGAT",
    "CEGCN",
    "HAN",
    "HCHA",
    "HGNN",
    "HNHN",
    "MLP",
    "AllDeepSets",
    "AllSetTransformer",
    "CliqueGATConv",
    "CliqueGCNConv",
    "HANConv",
    "HCHAAttention",
    "HCHAConv",
    "HGNNConv",
    "HNHNConv",
    "HyperGCN",
    "HyperGCNConv",
    "UniGCNII",
    "UniGCNIIConv",
]
