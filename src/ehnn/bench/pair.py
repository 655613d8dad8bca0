"""What is timed: two layers, nodes → middle → nodes, on a fixed hypergraph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph, Pairs
from ehnn.nn import EHNNMLP, EHNNLinear, EHNNTransformer, Phi
from ehnn.nn.baselines import AllDeepSets, AllSetTransformer
from ehnn.ops import spread
from ehnn.overlap import Orders


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


class _Again(torch.autograd.Function):
    """φ(x) that keeps x alone: the backward pass runs φ once more."""

    @staticmethod
    def forward(ctx: Any, phi: Phi, orders: Orders, x: Tensor, *parameters: Tensor) -> Tensor:
        ctx.phi, ctx.orders = phi, orders
        ctx.save_for_backward(x, *parameters)
        return phi(x, orders)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, *parameters = ctx.saved_tensors
        wanted = ctx.needs_input_grad[2]
        with torch.enable_grad():
            x = x.detach().requires_grad_(wanted)
            y = ctx.phi(x, ctx.orders)
        inputs = [x, *parameters] if wanted else parameters
        grads = torch.autograd.grad(y, inputs, grad, allow_unused=True)
        return None, None, *(grads if wanted else (None, *grads))


class _Recomputed(nn.Module):
    """φ that is computed again in the backward pass."""

    def __init__(self, phi: Phi) -> None:
        super().__init__()
        self.phi = phi

    def forward(self, x: Tensor, orders: Orders, plus: tuple[Tensor, Pairs | None] | None = None) -> Tensor:
        y = _Again.apply(self.phi, orders, x, *self.phi.parameters())
        if plus is None:
            return y
        return y + (plus[0] if plus[1] is None else spread(plus[0], plus[1]))


def recompute_phis(model: nn.Module) -> nn.Module:
    """The same model with every φ computed again in the backward pass: a quarter of the memory."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, Phi) and not isinstance(module, _Recomputed):
                setattr(module, name, _Recomputed(child))
    return model


def drop_isolated(h: Hypergraph) -> Hypergraph:
    """``h`` without the nodes that are in no hyperedge."""
    return h.subhypergraph(torch.nonzero(h.degrees > 0).squeeze(1))
