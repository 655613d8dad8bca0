"""What the battery runs over: add a layer or a model here and every check applies to it.

A layer is called ``layer(x, overlap)``, a model ``model(h)``.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

import ehnn
from ehnn import Hypergraph
from ehnn.nn import EHNNMLP, Block, EHNNLinear, EHNNTransformer, Readout, Stack, pairs_path
from ehnn.nn.baselines import (
    CEGAT,
    CEGCN,
    EDHNN,
    HAN,
    HCHA,
    HGNN,
    HNHN,
    MLP,
    TFHNN,
    AllDeepSets,
    AllSetTransformer,
    HealHGNN,
    HyperGCN,
    PhenomNN,
    SheafHyperGNN,
    UniGCNII,
)
from ehnn.testing import random_hypergraph

Factory = Callable[[int, int], nn.Module]
D_IN, D_OUT = 10, 16


def square(layer: Factory, width: int) -> Factory:
    """The layer with this width at both ends in the place of the battery's own."""
    return lambda d_in, d_out: layer(width if d_in == D_IN else d_in, width if d_out == D_OUT else d_out)


LAYERS: dict[str, Factory] = {
    "linear-lookup": partial(EHNNLinear, weights="lookup", source_orders=range(8), target_orders=range(8)),
    "linear-hypernetwork": EHNNLinear,
    "linear-hypernetwork-mean-local": partial(EHNNLinear, aggregation="mean", global_interaction=False),
    "mlp": EHNNMLP,
    "mlp-sum-number-no-norm": partial(EHNNMLP, aggregation="sum", order_encoding="number", norm=False),
    "mlp-no-global": partial(EHNNMLP, global_interaction=False),
    "mlp-no-order": partial(EHNNMLP, order_embedding=False),
    "transformer": EHNNTransformer,
    "transformer-one-head-number-no-norm": partial(
        EHNNTransformer, heads=1, order_encoding="number", norm=False
    ),
    "transformer-no-global": partial(EHNNTransformer, global_interaction=False),
    "transformer-no-order": partial(EHNNTransformer, order_embedding=False, heads=2),
    # Other widths take other kernels: see test_every_path_is_entered.
    "mlp-16x16": square(EHNNMLP, 16),
    "mlp-64x64-no-norm": square(partial(EHNNMLP, norm=False), 64),
    "mlp-16x16-sum-dropout": square(partial(EHNNMLP, aggregation="sum", dropout=0.5), 16),
    "transformer-16x16": square(EHNNTransformer, 16),
    "transformer-64x64-no-norm": square(partial(EHNNTransformer, norm=False), 64),
    "all-deep-sets": AllDeepSets,
    "all-deep-sets-sum": partial(AllDeepSets, aggregation="sum"),
    "all-deep-sets-norm": partial(AllDeepSets, norm=True),
    "all-set-transformer": AllSetTransformer,
}
"""Layers from any family to any family: name -> factory(d_in, d_out)."""

READOUTS: dict[str, Factory] = {
    "readout-sum": Readout,
    "readout-mean": partial(Readout, kind="mean"),
    "readout-attention": partial(Readout, kind="attention", heads=5),
}
"""Layers with a row per batch member, whatever the target family."""

MODELS: dict[str, Factory] = {
    "stack-mlp": partial(Stack, block=EHNNMLP, width=8, classifier=(6,)),
    "stack-transformer": partial(Stack, block=EHNNTransformer, width=8, path=pairs_path(2, "edges")),
    "stack-deep": partial(
        Stack, block=Block(EHNNMLP, residual=True), width=8, path=("nodes", *["edges"] * 3, "nodes")
    ),
    "mlp-nodes": MLP,
    "cegcn": CEGCN,
    "cegat": CEGAT,
    "hnhn": HNHN,
    "hgnn": HGNN,
    "hcha": HCHA,
    "hypergcn": HyperGCN,
    "unigcnii": UniGCNII,
    "han": HAN,
    "ed-hnn": EDHNN,
    "tf-hnn": TFHNN,
    "phenom-nn": PhenomNN,
    "sheaf": SheafHyperGNN,
    "heal": HealHGNN,
}
"""Models from nodes to nodes: name -> factory(d_in, d_out)."""

COMPILED = (
    "linear-hypernetwork",
    "mlp",
    "transformer",
    "readout-attention",
    "all-deep-sets",
    "all-set-transformer",
)
"""One of each kind, for the compiler, which takes long."""

ALL = LAYERS | READOUTS | MODELS
FAMILIES = {"layer": ("edges", "all"), "readout": ("all", "graph"), "model": ("nodes", "nodes")}


def make(name: str, seed: int = 0) -> nn.Module:
    """A fresh module in eval mode."""
    torch.manual_seed(seed)
    return ALL[name](D_IN, D_OUT).eval()


def run(module: nn.Module, name: str, h: Hypergraph, families: tuple[str, str] | None = None) -> Tensor:
    """The output of a module on ``h``; ``families`` by kind of module where not given."""
    if name in MODELS:
        return module(h)
    source, target = families or FAMILIES["readout" if name in READOUTS else "layer"]
    x = features(h, source)
    width = getattr(module, "d_in", D_IN)
    x = x if width == D_IN else x.repeat(1, width // D_IN + 1)[:, :width]
    return module(x, h.overlap(source, target).prepare())


def features(h: Hypergraph, family: str) -> Tensor:
    """``[rows, D_IN]``; those of "all" are one below the other, not side by side as in ``h.features``."""
    return torch.cat([h.x, h.edge_x]) if family == "all" else h.features(family)


def dressed(h: Hypergraph, dtype: torch.dtype = torch.float32, seed: int = 0) -> Hypergraph:
    """``h`` with ``D_IN`` random features of each node and hyperedge."""
    generator = torch.Generator().manual_seed(seed)
    x, edge_x = (torch.randn(n, D_IN, generator=generator).to(dtype) for n in (h.num_nodes, h.num_edges))
    return h.replace(x=x, edge_x=edge_x)


def hypergraph(
    seed: int = 0, nodes: int = 11, edges: int = 7, dtype: torch.dtype = torch.float32
) -> Hypergraph:
    """A random hypergraph with features, orders 1 to 6, an empty hyperedge and an isolated node."""
    base = random_hypergraph(nodes, edges, (1, 6), seed=seed).edges()
    return dressed(Hypergraph.from_edges([*base, [], base[0]], num_nodes=nodes + 1), dtype, seed)


DEGENERATE: dict[str, Hypergraph] = {
    "nothing": Hypergraph.from_edges([], num_nodes=0),
    "no hyperedges": Hypergraph.from_edges([], num_nodes=3),
    "no nodes": Hypergraph.from_edges([[], []], num_nodes=0),
    "empty hyperedges": Hypergraph.from_edges([[], [0, 1], []], num_nodes=4),
    "only empty hyperedges": Hypergraph.from_edges([[], []], num_nodes=2),
    "one node": Hypergraph.from_edges([[0], [0]], num_nodes=1),
    "repeated": Hypergraph.from_edges([[0, 1, 2]] * 3, num_nodes=5),
    "batch": ehnn.batch(
        [
            Hypergraph.from_edges([], num_nodes=0),
            Hypergraph.from_edges([[0, 1]], num_nodes=2),
            Hypergraph.from_edges([[]], num_nodes=3),
        ]
    ),
    "no members": ehnn.batch([]),
}
