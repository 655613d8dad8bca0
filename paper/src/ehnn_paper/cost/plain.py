"""EHNN-MLP by plain PyTorch message passing: what one would write without this library."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn import Hypergraph
from ehnn.nn import EHNNMLP, Phi
from ehnn.ops.phi.naive import reference_phi
from ehnn.overlap import Orders, Overlap


class PlainEHNNMLP(EHNNMLP):
    """The function of ``EHNNMLP(d, d)`` with its parameters: gather pairs × d, scatter, concatenate codes."""

    def forward(self, x: Tensor, relation: PlainRelation) -> Tensor:  # type: ignore[override]
        """``[num_sources, d] → [num_targets, d]``."""
        x = _phi(self.phi1, x, relation.sources)
        total = x.new_zeros(len(relation.count), x.shape[1]).index_add(0, relation.target, x[relation.source])
        y = _phi(self.phi2, total / relation.count, relation.ones)
        y = y + _phi(self.phi2, x.mean(0, keepdim=True), relation.zero)
        assert self.bias is not None
        return _phi(self.phi3, y, relation.targets) + self.bias(relation.targets)[0][relation.targets.index]


def _phi(phi: Phi, x: Tensor, orders: Orders) -> Tensor:
    return reference_phi(x, phi.encoding.of(orders, x.dtype), orders.pairs, phi.weights(), phi.masks())


class PlainRelation:
    """The pairs of an overlap without 𝓘 ≥ 2 as two index vectors, and the orders of both sides."""

    def __init__(self, overlap: Overlap) -> None:
        self.target, self.source, _ = overlap.pairs()
        self.sources, self.targets = overlap.source_orders, overlap.target_orders
        count = torch.bincount(self.target, minlength=overlap.num_targets)
        self.count = count.clamp(min=1).float().unsqueeze(1)
        self.ones = Orders.constant(1, overlap.num_targets, self.target.device)
        self.zero = Orders.constant(0, 1, self.target.device)


class PlainPair(nn.Module):
    """V → V∪E → V with two `PlainEHNNMLP`."""

    def __init__(self, width: int, h: Hypergraph) -> None:
        super().__init__()
        self.layers = nn.ModuleList(PlainEHNNMLP(width, width) for _ in range(2))
        self.relations = [
            PlainRelation(h.overlap("nodes", "all")), PlainRelation(h.overlap("all", "nodes"))
        ]  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """``[num_nodes, d] → [num_nodes, d]``."""
        for layer, relation in zip(self.layers, self.relations, strict=True):
            x = layer(x, relation)
        return x
