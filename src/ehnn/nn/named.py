"""Networks for nodes by name: one table for estimators, experiments and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from torch import nn

from ehnn.hypergraph import Hypergraph, with_self_loops

from . import baselines
from .mlp import EHNNMLP
from .stack import Block, Stack, pairs_path
from .transformer import EHNNTransformer


@dataclass(frozen=True)
class Named:
    """The network that a name stands for.

    Attributes:
        kind: the class of a layer for `Stack`, or of a whole network from nodes to nodes.
        stacked: whether ``kind`` is a layer.
        pairs: number of V → V∪E → V pairs that the layer is stacked to.
        self_loops: the hypergraph gets a hyperedge {v} for every node v that has none.
        options: arguments of ``kind`` that belong to the name.
        block: arguments of `Block` that belong to the name, for a layer.

    >>> NAMED["ehnn-mlp"].stacked, NAMED["hgnn"].self_loops
    (True, True)
    """

    kind: Callable[..., nn.Module]
    stacked: bool = False
    pairs: int = 1
    self_loops: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    block: Mapping[str, Any] = field(default_factory=dict)

    def prepare(self, h: Hypergraph) -> Hypergraph:
        """``h``, with self-loops if the network needs them."""
        return with_self_loops(h) if self.self_loops else h

    def layer(self, **options: Any) -> Callable[..., Any]:
        """A factory (d_in, d_out) -> layer (or whole network), with further options."""
        return partial(self.kind, **(dict(self.options) | options))

    def make(
        self,
        d_in: int,
        d_out: int,
        *,
        width: int = 64,
        dropout: float = 0.5,
        path: Sequence[str] | None = None,
        options: Mapping[str, Any] | None = None,
        stack: Mapping[str, Any] | None = None,
    ) -> nn.Module:
        """A fresh network ``model(h) -> [num_nodes, d_out]``.

        Args:
            d_in, d_out: channels of the node features and of the output.
            width: channels between the layers.
            dropout: between the layers.
            path: families of the stack; None: the pairs of the name.
            options: arguments of ``kind``, before those of the name.
            stack: arguments of `Stack` and of its `Block`, before those of the name; for a layer only.

        >>> NAMED["ehnn-mlp"].make(3, 2, width=8).path
        ('nodes', 'all', 'nodes')
        """
        layer = self.layer(**(options or {}))
        if not self.stacked:
            return layer(d_in, d_out, width=width, dropout=dropout)
        around = {"dropout": dropout, **self.block, **(stack or {})}
        inside = {f.name: around.pop(f.name) for f in fields(Block) if f.name in around}
        path = path or pairs_path(self.pairs)
        return Stack(d_in, d_out, Block(layer, **inside), width=width, path=path, **around)


_RELU, _RESIDUAL = {"activation": True}, {"residual": True}
_COUNTING = {"order_encoding": "number", "norm": False}

NAMED = {
    "ehnn-transformer": Named(EHNNTransformer, stacked=True, pairs=2),
    "ehnn-mlp": Named(EHNNMLP, stacked=True),
    "all-set-transformer": Named(baselines.AllSetTransformer, stacked=True, block=_RELU),
    "all-deep-sets": Named(baselines.AllDeepSets, stacked=True, block=_RELU),
    "mlp": Named(baselines.MLP),
    "cegcn": Named(baselines.CEGCN),
    "cegat": Named(baselines.CEGAT),
    "hnhn": Named(baselines.HNHN, self_loops=True),
    "hgnn": Named(baselines.HGNN, self_loops=True),
    "hcha": Named(baselines.HCHA, self_loops=True),
    "hyper-gcn": Named(baselines.HyperGCN),
    "uni-gcn-ii": Named(baselines.UniGCNII),
    "han": Named(baselines.HAN),
    "ed-hnn": Named(baselines.EDHNN, self_loops=True),
    "tf-hnn": Named(baselines.TFHNN),
    "phenom-nn": Named(baselines.PhenomNN),
    "sheaf-hyper-gnn": Named(baselines.SheafHyperGNN, self_loops=True),
    "heal-hgnn": Named(baselines.HealHGNN),
    "ehnn-mlp+": Named(EHNNMLP, stacked=True, block=_RESIDUAL),
    "ehnn-transformer+": Named(EHNNTransformer, stacked=True, block=_RESIDUAL),
    "ehnn-mlp-counting": Named(
        EHNNMLP,
        stacked=True,
        options=_COUNTING | {"aggregation": "sum", "scale": 1 / 32},
        block={"norm": False},
    ),
    "ehnn-transformer-counting": Named(
        EHNNTransformer, stacked=True, options=_COUNTING | {"attention": "sigmoid"}, block={"norm": False}
    ),
}
"""The paper's models, the baselines of its time and later ones, and ours.

With ``+`` the stack is residual: nodes keep their own features. ``-counting`` sees orders as numbers and
keeps counts: sums or sigmoid attention in place of means and softmax, no LayerNorm.
"""
