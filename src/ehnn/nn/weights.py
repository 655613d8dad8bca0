"""𝓦(k, l, 𝓘) and 𝓑(l): matrices and biases by order, from a table or from a hypernetwork."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ehnn._utils.cached import plain_tensors
from ehnn._utils.validation import as_index
from ehnn.hypergraph.pairs import starts
from ehnn.overlap.relation import Order

from .order import OrderEncoding


class LookupWeights(nn.Module):
    """A free matrix for every (k, l, 𝓘) with k and l among given orders, a free bias for every l.

    Args:
        d_in, d_out: widths.
        source_orders, target_orders: the orders k and l that the table holds.
    """

    def __init__(
        self, d_in: int, d_out: int, source_orders: Iterable[Order], target_orders: Iterable[Order]
    ) -> None:
        super().__init__()
        self.source_orders = _distinct(source_orders, "source_orders")
        self.target_orders = _distinct(target_orders, "target_orders")
        rows = sum(1 + min(k, l) for k in self.source_orders for l in self.target_orders)
        self.table = nn.Parameter(torch.empty(rows, d_in, d_out).uniform_(-1, 1) / math.sqrt(d_in))
        largest = max([0, *self.source_orders, *self.target_orders])
        self.biases = nn.Parameter(torch.zeros(1 + largest, d_out))
        self._indices: dict[torch.device, tuple[Tensor, Tensor, Tensor]] = {}

    def _index(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """The orders k and l that the table holds, and ``[k, l]`` the row of (k, l, 0) in it."""
        if device not in self._indices:
            with plain_tensors():
                k, l = (torch.tensor(o, device=device) for o in (self.source_orders, self.target_orders))
                counts = (1 + torch.minimum(k.unsqueeze(1), l)).flatten()
                self._indices[device] = k, l, starts(counts).view(len(k), len(l))
        return self._indices[device]

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_indices": {}}

    def forward(self, triplets: Tensor, num_roles: tuple[int, int] = (1, 1)) -> Tensor:
        """``[n, 3]`` (k, l, 𝓘) → ``[n, d_in, d_out]``."""
        ks, ls, first = self._index(triplets.device)
        k, l, i = triplets.unbind(1)
        row = first[torch.searchsorted(ks, k.contiguous()), torch.searchsorted(ls, l.contiguous())] + i
        return self.table.index_select(0, row)

    def bias(self, orders: Tensor) -> Tensor:
        """``[n]`` orders l → ``[n, d_out]``."""
        return self.biases.index_select(0, orders)

    def extra_repr(self) -> str:
        return f"source_orders={self.source_orders}, target_orders={self.target_orders}"

    def check(self, source_orders: Iterable[Order], target_orders: Iterable[Order]) -> None:
        """Raise a ValueError for an order outside the table."""
        check_known("source", source_orders, self.source_orders)
        check_known("target", target_orders, self.target_orders)


def check_known(name: str, orders: Iterable[Order], known: Sequence[Order]) -> None:
    """Raise a ValueError for an order that is not in a table."""
    unknown = set(orders) - set(known)
    if unknown:
        first = sorted(unknown, key=_as_tuple)[0]
        raise ValueError(f"{name} order {first} is not in the lookup table, which holds {list(known)}")


def _as_tuple(order: Order) -> tuple[int, ...]:
    return order if isinstance(order, tuple) else (order,)


def _distinct(orders: Iterable[Order], name: str) -> list[int]:
    given = orders if isinstance(orders, Tensor) else list(orders)
    return sorted(set(as_index(given, name).tolist()))


class HyperWeights(nn.Module):
    """An MLP that makes the matrix of any (k, l, 𝓘) and the bias of any l; its size depends on neither.

    With roles k and l are role counts and 𝓘 is the matrix M; its size does not depend on the roles either.
    """

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

    def forward(self, triplets: Tensor, num_roles: tuple[int, int] = (1, 1)) -> Tensor:
        """``[n, R + S + R · S]`` (k, l, M), without roles ``[n, 3]`` (k, l, 𝓘), → ``[n, d_in, d_out]``."""
        R, S = num_roles
        k, l, M = triplets.split([R, S, R * S], 1)
        codes = torch.cat([self.encoding(part) for part in (k, l, M.unflatten(1, (R, S)))], 1)
        return self.net(codes.to(next(self.parameters()).dtype)).reshape(triplets.shape[0], *self.shape)

    def bias(self, orders: Tensor) -> Tensor:
        """``[n]`` orders l, or ``[n, S]`` role counts, → ``[n, d_out]``."""
        return self.bias_net(self.encoding(orders).to(self.bias_net[0].weight.dtype))

    def check(self, source_orders: Iterable[Order], target_orders: Iterable[Order]) -> None:
        """Accept any order."""
