"""W(k, l, M) and b(l) of role-marked hyperedges: a free matrix for each, and checks of k, l and M."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ehnn._utils.validation import as_count
from ehnn.algebra import overlap_matrices
from ehnn.overlap.relation import Order

from .weights import check_known

Matrix = int | Sequence[Sequence[int]]


class RoleLookupWeights(nn.Module):
    """A free matrix for every (k, l, M) with role counts k and l among those given, a free bias for every l.

    Args:
        d_in, d_out: widths.
        source_orders, target_orders: role counts as tuples of one length; an integer is one role.
    """

    def __init__(
        self, d_in: int, d_out: int, source_orders: Iterable[Order], target_orders: Iterable[Order]
    ) -> None:
        super().__init__()
        self.source_orders = _distinct(source_orders, "source_orders")
        self.target_orders = _distinct(target_orders, "target_orders")
        keys = [
            (*k, *l, *(m for row in M for m in row))
            for k in self.source_orders
            for l in self.target_orders
            for M in overlap_matrices(k, l)
        ]
        self.num_roles = len(self.source_orders[0]), len(self.target_orders[0])
        self.keys, self.bias_keys = (torch.tensor(rows, device="cpu") for rows in (keys, self.target_orders))
        self.table = nn.Parameter(torch.empty(len(keys), d_in, d_out).uniform_(-1, 1) / math.sqrt(d_in))
        self.biases = nn.Parameter(torch.zeros(len(self.target_orders), d_out))

    def forward(self, triplets: Tensor, num_roles: tuple[int, int] = (1, 1)) -> Tensor:
        """``[n, R + S + R · S]`` (k, l, M) → ``[n, d_in, d_out]``."""
        return self.table.index_select(0, _rows(self.keys, triplets))

    def bias(self, orders: Tensor) -> Tensor:
        """``[n, S]`` role counts l → ``[n, d_out]``."""
        return self.biases.index_select(0, _rows(self.bias_keys, orders.reshape(-1, self.num_roles[1])))

    def extra_repr(self) -> str:
        return f"source_orders={self.source_orders}, target_orders={self.target_orders}"

    def check(self, source_orders: Iterable[Order], target_orders: Iterable[Order]) -> None:
        """Raise a ValueError for role counts outside the table."""
        for name, orders, known in (
            ("source", source_orders, self.source_orders),
            ("target", target_orders, self.target_orders),
        ):
            check_known(name, [o if isinstance(o, tuple) else (o,) for o in orders], known)


def _rows(keys: Tensor, asked: Tensor) -> Tensor:
    """The place of each row of ``asked [m, c]`` in ``keys [n, c]``, which are distinct and hold all asked."""
    _, number = torch.unique(torch.cat([keys.to(asked.device), asked]), dim=0, return_inverse=True)
    place = torch.empty(number.shape[0], dtype=torch.int64, device=asked.device)
    place[number[: keys.shape[0]]] = torch.arange(keys.shape[0], device=asked.device)
    return place[number[keys.shape[0] :]]


def _distinct(orders: Iterable[Order], name: str) -> list[tuple[int, ...]]:
    found = sorted({as_counts(order, f"an order in {name}") for order in orders})
    if len({len(order) for order in found}) != 1:
        raise ValueError(f"{name} must be tuples of one length, one count for each role, got {found}")
    return found


def as_counts(order: Any, name: str) -> tuple[int, ...]:
    """An order as a tuple of role counts; an integer is one role."""
    counts = tuple(order) if isinstance(order, (tuple, list)) else (order,)
    if not counts:
        raise ValueError(f"{name} must have a count for each role, got {order!r}")
    return tuple(as_count(count, name) for count in counts)


def as_matrix(m: Any, k: tuple[int, ...], l: tuple[int, ...]) -> list[int]:
    """The entries of an overlap matrix that role counts k and l allow; an integer: one role on each side."""
    if len(k) == len(l) == 1 and isinstance(m, int):
        m = ((m,),)
    rows = [tuple(row) for row in m] if isinstance(m, (tuple, list)) else []
    if len(rows) != len(k) or any(len(row) != len(l) for row in rows):
        raise ValueError(
            f"m must be {len(k)} rows of {len(l)} counts, for role counts {k} and {l}, got {m!r}"
        )
    rows = [as_counts(row, "an entry of m") for row in rows]
    fits = all(sum(row) <= count for row, count in zip(rows, k, strict=True))
    if not fits or any(sum(column) > count for column, count in zip(zip(*rows, strict=True), l, strict=True)):
        raise ValueError(f"m must have row sums of at most {k} and column sums of at most {l}, got {m!r}")
    return [entry for row in rows for entry in row]
