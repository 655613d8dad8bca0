"""One order per row, stored as the distinct orders and the index of each row into them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ehnn._utils.cached import plain_tensors
from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.display import counted
from ehnn.hypergraph.pairs import selection


@dataclass(frozen=True, eq=False, repr=False)
class Orders:
    """One order (or overlap size) per row.

    Rows share few distinct orders, so whatever is computed from an order (an embedding, a bias) is
    computed once per distinct value and then read by the rows. An order is an integer; of hyperedges with R
    roles it is the vector of role counts, and the overlap of two of them is the matrix M[r, s] = |i_r ∩ j_s|.

    Attributes:
        values: ``[distinct]`` int64, ascending; with roles ``[distinct, R]`` or ``[distinct, R, S]``.
        pairs: ``SparsePattern`` of rows × distinct values, one for each row.
        codes: constants that layers have computed from the values, such as their encodings; see `once`.
        whole: of a part of the rows (`part`) the number of its first row, and how many rows there are in all;
            None of all rows.
        parts: parts that `part` has made so far.

    >>> from ehnn import Hypergraph
    >>> orders = Hypergraph.from_edges([[0, 1], [1, 2, 3], [4, 5]]).overlap("edges", "nodes").source_orders
    >>> orders.values.tolist(), orders.index.tolist()
    ([2, 3], [0, 1, 0])
    """

    values: Tensor
    pairs: SparsePattern
    codes: dict[Hashable, Tensor] = field(default_factory=dict)
    whole: tuple[int, int] | None = None
    parts: dict[tuple[int, int], Orders] = field(default_factory=dict)

    @property
    def index(self) -> Tensor:
        """``[rows]`` int64, place in ``values`` of the order of each row."""
        return self.pairs.index

    @property
    def table(self) -> Tensor:
        """``[distinct, entries]`` the values with their entries in one dimension (one without roles)."""
        return self.values.reshape(self.values.shape[0], math.prod(self.values.shape[1:]))

    def __len__(self) -> int:
        return self.pairs.num_rows

    @staticmethod
    def of(orders: Tensor) -> Orders:
        """Orders of ``[rows]`` integers."""
        values, index = torch.unique(orders, return_inverse=True)
        return Orders.at(values, index)

    @staticmethod
    def at(values: Tensor, index: Tensor) -> Orders:
        """Orders ``values[index]``."""
        return Orders(values, selection(index, values.shape[0]))

    @staticmethod
    def constant(value: int | Tensor, rows: int, device: torch.device) -> Orders:
        """The same order for all rows (no distinct value if there are no rows)."""
        if isinstance(value, Tensor):
            values = value.to(device).expand(min(rows, 1), *value.shape)
        else:
            values = torch.full((min(rows, 1),), value, dtype=torch.int64, device=device)
        ends = torch.arange(rows + 1, device=device)
        zeros = torch.zeros(rows, dtype=torch.int64, device=device)
        t_ptr = ends[:: max(rows, 1)]  # [0, rows], without a copy from the host
        return Orders(
            values, SparsePattern.unchecked(rows, min(rows, 1), ends, zeros, t_ptr, ends[:-1], ends[:-1])
        )

    def once(self, key: Hashable, make: Callable[[Tensor], Tensor]) -> Tensor:
        """``make(values)``, a constant that is computed once for each ``key`` and kept."""
        if torch.compiler.is_compiling():
            return make(self.values)
        if key not in self.codes:
            with plain_tensors():
                self.codes[key] = make(self.values)
        return self.codes[key]

    def __repr__(self) -> str:
        values = self.values.tolist()
        shown = f"{values[:8]}" if len(values) <= 8 else f"{values[:8]}, … {len(values)} in all"
        return f"Orders({counted(len(self), 'row')}, values {shown})"

    def part(self, first: int, end: int) -> Orders:
        """Orders of the rows from ``first`` to ``end``, made once."""
        if (first, end) == (0, len(self)):
            return self
        if (first, end) not in self.parts:
            with plain_tensors():
                pairs = selection(self.index[first:end], self.values.shape[0])
            self.parts[first, end] = Orders(self.values, pairs, self.codes, (first, len(self)))
        return self.parts[first, end]

    def expand(self) -> Tensor:
        """``[rows, …]`` the order of each row."""
        return self.values[self.index]

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Orders:
        """The same on another device."""
        return Orders(self.values.to(device, non_blocking=non_blocking), self.pairs.to(device, non_blocking))
