"""What is timed: two layers, nodes → middle → nodes, on a fixed hypergraph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.nn import EHNNMLP, EHNNLinear, EHNNTransformer
from ehnn.nn.baselines import AllDeepSets, AllSetTransformer


class Pair(nn.Module):
    """Two layers V → middle → V.

    Args:
        first, second: make the layers.
        h: the hypergraph; its relations are made here, once.
        middle: ``"edges"`` or ``"all"``.
        activation: ReLU between the layers, for layers that are linear.
    """

    def __init__(
        self, first: Callable[[], nn.Module], second: Callable[[], nn.Module], h: Hypergraph, middle: str,
        activation: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.first, self.second = first(), second()
        self.activation = nn.ReLU() if activation else nn.Identity()
        self.overlaps = [h.overlap("nodes", middle), h.overlap(middle, "nodes")]

    def forward(self, x: Tensor) -> Tensor:
        """``[num_nodes, d] → [num_nodes, d]``."""
        x = self.activation(self.first(x, self.overlaps[0]))
        return self.second(x, self.overlaps[1])


MODELS = (
    "all-deep-sets",
    "all-set-transformer",
    "ehnn-lookup",
    "ehnn-hypernetwork",
    "ehnn-mlp",
    "ehnn-transformer",
)
"""Rows of the paper's cost table."""


def make_pair(name: str, h: Hypergraph, width: int = 64, heads: int = 4) -> Pair:
    """The pair of one row of the cost table, on the device of ``h``."""
    orders = sorted({1, *h.orders.unique().tolist()})
    table = partial(EHNNLinear, width, width, weights="lookup", aggregation="mean")
    hyper = partial(EHNNLinear, width, width, weights="hypernetwork", aggregation="mean")
    if name == "ehnn-lookup":
        first = partial(table, source_orders=[1], target_orders=orders)
        second = partial(table, source_orders=orders, target_orders=[1])
        return Pair(first, second, h, "all", activation=True).to(h.device)
    layers: dict[str, tuple[Callable[[], nn.Module], str]] = {
        "all-deep-sets": (partial(AllDeepSets, width, width), "edges"),
        "all-set-transformer": (partial(AllSetTransformer, width, width, heads=heads), "edges"),
        "ehnn-hypernetwork": (hyper, "all"),
        "ehnn-mlp": (partial(EHNNMLP, width, width), "all"),
        "ehnn-transformer": (partial(EHNNTransformer, width, width, heads=heads), "all"),
    }
    if name not in layers:
        raise ValueError(f"model must be one of {MODELS}, got {name!r}")
    layer, middle = layers[name]
    return Pair(layer, layer, h, middle, activation=name == "ehnn-hypernetwork").to(h.device)


def drop_isolated(h: Hypergraph) -> Hypergraph:
    """``h`` without the nodes that are in no hyperedge."""
    return h.subhypergraph(torch.nonzero(h.degrees > 0).squeeze(1))
