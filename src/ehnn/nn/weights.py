"""𝓦(k, l, 𝓘) and 𝓑(l): matrices and biases by order, from a table or from a hypernetwork."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from .order import OrderEncoding


class LookupWeights(nn.Module):
    """A free matrix for every (k, l, 𝓘) with k and l among given orders, a free bias for every l.

    Args:
        d_in, d_out: widths.
        source_orders, target_orders: the orders k and l that the table holds.
    """

    place: Tensor

    def __init__(
        self, d_in: int, d_out: int, source_orders: Iterable[int], target_orders: Iterable[int]
    ) -> None:
        super().__init__()
        self.source_orders, self.target_orders = sorted(set(source_orders)), sorted(set(target_orders))
        self._keys = [
            (k, l, i) for k in self.source_orders for l in self.target_orders for i in range(min(k, l) + 1)
        ]
        self._sizes = [1 + max((max(key) for key in self._keys), default=0)] * 3
        self.register_buffer("place", self._fresh_place().to(torch.empty(0).device), persistent=False)
        rows = len(self._keys)
        self.table = nn.Parameter(torch.empty(rows, d_in, d_out).uniform_(-1, 1) / math.sqrt(d_in))
        self.biases = nn.Parameter(torch.zeros(self._sizes[0], d_out))

    def _fresh_place(self) -> Tensor:
        """The row of each (k, l, 𝓘) in the table, −1 for none."""
        place = torch.full(self._sizes, -1, dtype=torch.int64, device="cpu")
        for row, key in enumerate(self._keys):
            place[key] = row
        return place

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> LookupWeights:
        """Memory that `nn.Module.to_empty` gave to what is not in a state dict is filled here."""
        super()._apply(fn, recurse)
        self.place = self._fresh_place().to(self.place.device)
        return self

    def forward(self, triplets: Tensor) -> Tensor:
        """``[n, 3]`` (k, l, 𝓘) → ``[n, d_in, d_out]``."""
        return self.table.index_select(0, self.place[triplets[:, 0], triplets[:, 1], triplets[:, 2]])

    def bias(self, orders: Tensor) -> Tensor:
        """``[n]`` orders l → ``[n, d_out]``."""
        return self.biases.index_select(0, orders)

    def check(self, source_orders: Iterable[int], target_orders: Iterable[int]) -> None:
        """A ValueError for an order outside the table."""
        for name, orders, known in (
            ("source", source_orders, self.source_orders),
            ("target", target_orders, self.target_orders),
        ):
            unknown = sorted(set(orders) - set(known))
            if unknown:
                raise ValueError(f"{name} order {unknown[0]} is not in the lookup table, which holds {known}")


class HyperWeights(nn.Module):
    """An MLP that makes the matrix of any (k, l, 𝓘) and the bias of any l; its size depends on neither."""

    def __init__(self, d_in: int, d_out: int, encoding: OrderEncoding, hidden: int) -> None:
        super().__init__()
        self.encoding, self.shape = encoding, (d_in, d_out)
        self.net = nn.Sequential(
            nn.Linear(3 * encoding.dim, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, d_in * d_out),
        )
        self.bias_net = nn.Sequential(nn.Linear(encoding.dim, hidden), nn.ReLU(), nn.Linear(hidden, d_out))
        # PyTorch's bound 1/√hidden is for an output of the hidden features; W is to map d_in features.
        last: nn.Linear = self.net[-1]  # type: ignore[assignment]
        nn.init.uniform_(last.bias, -1 / math.sqrt(d_in), 1 / math.sqrt(d_in))
        nn.init.uniform_(last.weight, -1 / math.sqrt(d_in * hidden), 1 / math.sqrt(d_in * hidden))

    def forward(self, triplets: Tensor) -> Tensor:
        """``[n, 3]`` (k, l, 𝓘) → ``[n, d_in, d_out]``."""
        dtype = self.bias_net[0].weight.dtype
        code = self.encoding(triplets.reshape(-1)).to(dtype).reshape(-1, 3 * self.encoding.dim)
        return self.net(code).reshape(triplets.shape[0], *self.shape)

    def bias(self, orders: Tensor) -> Tensor:
        """``[n]`` orders l → ``[n, d_out]``."""
        return self.bias_net(self.encoding(orders).to(self.bias_net[0].weight.dtype))

    def check(self, source_orders: Iterable[int], target_orders: Iterable[int]) -> None:
        """Any order will do."""
