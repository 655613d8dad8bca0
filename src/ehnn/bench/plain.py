"""EHNN-MLP by plain PyTorch message passing: what one would write without this library."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.nn import OrderEncoding
from ehnn.overlap import Overlap


class PlainPhi(nn.Module):
    """x + MLP([LayerNorm(x), code]): the code of the order is concatenated to every row."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.first = nn.Linear(2 * width, width)
        self.second, self.third = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor, code: Tensor) -> Tensor:
        """``[rows, d], [rows, d] → [rows, d]``."""
        hidden = self.first(torch.cat([self.norm(x), code], 1)).relu()
        return x + self.third(self.second(hidden).relu())


class PlainEHNNMLP(nn.Module):
    """The function of ``EHNNMLP(d, d)`` with its parameters: gather pairs × d, scatter, concatenate codes.

    Orders are looked up in a table up to ``max_order``; the numbers of sources of each target are given.
    """

    codes: Tensor

    def __init__(self, width: int, max_order: int) -> None:
        super().__init__()
        self.phi1, self.phi2, self.phi3 = PlainPhi(width), PlainPhi(width), PlainPhi(width)
        net = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.bias = nn.ModuleDict({"net": net})
        codes = OrderEncoding("sinusoidal", width)(torch.arange(max_order + 1))
        self.register_buffer("codes", codes, persistent=False)

    def forward(self, x: Tensor, relation: PlainRelation) -> Tensor:
        """``[num_sources, d] → [num_targets, d]``."""
        x = self.phi1(x, self.codes[relation.source_orders])
        total = x.new_zeros(relation.count.shape[0], x.shape[1]).index_add(
            0, relation.target, x[relation.source]
        )
        y = self.phi2(total / relation.count, self.codes[relation.ones])
        y = y + self.phi2(x.mean(0, keepdim=True), self.codes[:1])
        code = self.codes[relation.target_orders]
        return self.phi3(y, code) + self.bias["net"](code)


class PlainRelation:
    """The pairs of an overlap without 𝓘 ≥ 2 as two index vectors, and the orders of both sides."""

    def __init__(self, overlap: Overlap) -> None:
        self.target, self.source, _ = overlap.pairs()
        self.source_orders = overlap.source_orders.expand()
        self.target_orders = overlap.target_orders.expand()
        count = torch.bincount(self.target, minlength=overlap.num_targets)
        self.count = count.clamp(min=1).float().unsqueeze(1)
        self.ones = torch.ones_like(self.target_orders)


class PlainPair(nn.Module):
    """V → V∪E → V with two `PlainEHNNMLP`."""

    def __init__(self, width: int, h: Hypergraph) -> None:
        super().__init__()
        top = int(h.orders.max()) if h.num_edges else 1
        self.layers = nn.ModuleList(PlainEHNNMLP(width, max(top, 1)) for _ in range(2))
        self.relations = [
            PlainRelation(h.overlap("nodes", "all")), PlainRelation(h.overlap("all", "nodes"))
        ]  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """``[num_nodes, d] → [num_nodes, d]``."""
        for layer, relation in zip(self.layers, self.relations, strict=True):
            x = layer(x, relation)
        return x
