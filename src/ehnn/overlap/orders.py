"""A small integer per row, as its distinct values and where each row finds its own."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Orders:
    """One order (or overlap size) per row.

    Rows share few distinct orders, so whatever is computed from an order (an embedding, a bias) is
    computed once per distinct value and then read by the rows.

    Attributes:
        values: ``[distinct]`` int64, ascending.
        index: ``[rows]`` int64, place in ``values`` of the order of each row.
    """

    values: Tensor
    index: Tensor

    @staticmethod
    def of(orders: Tensor) -> Orders:
        """Orders of ``[rows]`` integers."""
        values, index = torch.unique(orders, return_inverse=True)
        return Orders(values, index)

    @staticmethod
    def constant(value: int, rows: int, device: torch.device) -> Orders:
        """The same order for all rows (no distinct value if there are no rows)."""
        values = torch.full((min(rows, 1),), value, dtype=torch.int64, device=device)
        return Orders(values, torch.zeros(rows, dtype=torch.int64, device=device))

    def expand(self, table: Tensor | None = None) -> Tensor:
        """``[rows, …]``: the row of ``table`` (``[distinct, …]``; default the values) for each row."""
        table = self.values if table is None else table
        if table.shape[0] == 1:
            return table.expand(self.index.shape[0], *table.shape[1:])
        return table.index_select(0, self.index)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Orders:
        return Orders(
            self.values.to(device, non_blocking=non_blocking), self.index.to(device, non_blocking=non_blocking)
        )
