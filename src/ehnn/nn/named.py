"""Networks for nodes by the names that estimators, experiments and commands have for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from ehnn.hypergraph import Hypergraph, with_self_loops

from . import baselines
from .mlp import EHNNMLP
from .transformer import EHNNTransformer


@dataclass(frozen=True)
class Named:
    """What a name stands for.

    Attributes:
        kind: a layer for `Stack`, or a whole network from nodes to nodes.
        stacked: whether it is a layer.
        pairs: V → V∪E → V pairs of a layer.
        activation: ReLU after each layer.
        self_loops: the hypergraph gets a hyperedge {v} for every node v that has none.
    """

    kind: Callable[..., nn.Module]
    stacked: bool = False
    pairs: int = 1
    activation: bool = False
    self_loops: bool = False

    def prepare(self, h: Hypergraph) -> Hypergraph:
        """``h`` as the network wants it."""
        return with_self_loops(h) if self.self_loops else h


NAMED = {
    "ehnn-transformer": Named(EHNNTransformer, stacked=True, pairs=2),
    "ehnn-mlp": Named(EHNNMLP, stacked=True),
    "all-set-transformer": Named(baselines.AllSetTransformer, stacked=True, activation=True),
    "all-deep-sets": Named(baselines.AllDeepSets, stacked=True, activation=True),
    "mlp": Named(baselines.MLP),
    "cegcn": Named(baselines.CEGCN),
    "cegat": Named(baselines.CEGAT),
    "hnhn": Named(baselines.HNHN, self_loops=True),
    "hgnn": Named(baselines.HGNN, self_loops=True),
    "hcha": Named(baselines.HCHA, self_loops=True),
    "hyper-gcn": Named(baselines.HyperGCN),
    "uni-gcn-ii": Named(baselines.UniGCNII),
    "han": Named(baselines.HAN),
}
