"""The models that the paper compares with, and later ones; one file per paper.

AllSet's are layers ``layer(x, overlap) -> y`` for `ehnn.nn.Stack`. The others are models from nodes to nodes,
``model(h) -> [num_nodes, d_out]``, made of convolutions ``conv(x, h)``. CHESHIRE scores candidates,
``model(h, candidates) -> [num_candidates, 1]``; WHATsNet and CoNHD give ``[num_incidences, d_out]``.
"""

from .all_set import AllDeepSets, AllSetTransformer
from .cheshire import CHESHIRE
from .conhd import CoNHD
from .ed_hnn import EDHNN, EDHNNConv
from .gat import CEGAT, CliqueGATConv
from .gcn import CEGCN, CliqueGCNConv
from .han import HAN, HANConv
from .hcha import HCHA, HCHAAttention, HCHAConv
from .heal import HealHGNN
from .hgnn import HGNN, HGNNConv
from .hnhn import HNHN, HNHNConv
from .hypergcn import HyperGCN, HyperGCNConv
from .mlp import MLP
from .phenom_nn import PhenomNN
from .sheaf import SheafHyperGNN
from .tf_hnn import TFHNN
from .unigcnii import UniGCNII, UniGCNIIConv
from .whatsnet import WHATsNet

__all__ = [
    "CEGAT",
    "CEGCN",
    "CHESHIRE",
    "EDHNN",
    "HAN",
    "HCHA",
    "HGNN",
    "HNHN",
    "MLP",
    "TFHNN",
    "AllDeepSets",
    "AllSetTransformer",
    "CliqueGATConv",
    "CliqueGCNConv",
    "CoNHD",
    "EDHNNConv",
    "HANConv",
    "HCHAAttention",
    "HCHAConv",
    "HGNNConv",
    "HNHNConv",
    "HealHGNN",
    "HyperGCN",
    "HyperGCNConv",
    "PhenomNN",
    "SheafHyperGNN",
    "UniGCNII",
    "UniGCNIIConv",
    "WHATsNet",
]
