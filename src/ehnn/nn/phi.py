"""φ: the elementwise networks that know an order."""

from __future__ import annotations

from copy import deepcopy

import torch.nn.functional as F
from torch import Tensor, nn

from ehnn.ops import spread
from ehnn.overlap import Orders

from .dropout import Dropout
from .memory import by_chunks
from .order import OrderEncoding


class Phi(nn.Module):
    r"""φ(k, x): a residual MLP on a feature and the order that goes with it (Eq. 7).

    .. math:: \phi(k, x) = x + \mathrm{MLP}([\mathrm{LayerNorm}(x), \mathrm{enc}(k)])

    with three linear layers, ReLU and dropout between them. A change of width puts a linear map on the
    skip connection. The part of the first layer that reads the order is computed once per *distinct*
    order and added to the rows, which equals concatenation at a fraction of its cost.

    Args:
        d_in, d_out: widths.
        encoding: what φ sees of the order.
        dropout: between the layers of the MLP.
        norm: LayerNorm before the MLP; without it counts in x reach the MLP undistorted.
    """

    def __init__(
        self, d_in: int, d_out: int, encoding: OrderEncoding, *, dropout: float = 0.0, norm: bool = True
    ) -> None:
        super().__init__()
        self.encoding = deepcopy(encoding)  # torch.func does not restore a module with several parents
        self.norm = nn.LayerNorm(d_in) if norm else nn.Identity()
        self.first = nn.Linear(d_in + encoding.dim, d_out)
        self.second = nn.Linear(d_out, d_out)
        self.third = nn.Linear(d_out, d_out)
        self.dropouts = nn.ModuleList([Dropout(dropout), Dropout(dropout)])
        self.skip = nn.Linear(d_in, d_out, bias=False) if d_in != d_out else nn.Identity()

    def forward(self, x: Tensor, orders: Orders) -> Tensor:
        """``[rows, d_in] → [rows, d_out]``."""
        chunked = by_chunks(lambda x, index: self._rows(x, self._read(orders, index)), x, orders.index)
        return chunked if chunked is not None else self._rows(x, self._read(orders))

    def _rows(self, x: Tensor, shift: Tensor) -> Tensor:
        """φ of rows whose first layer is shifted by ``shift`` (``[d_out]`` or ``[rows, d_out]``)."""
        hidden = F.linear(self.norm(x), self.first.weight[:, : x.shape[1]]) + shift
        hidden = self.second(self.dropouts[0](hidden.relu_()))
        hidden = self.third(self.dropouts[1](hidden.relu_()))
        return hidden.add_(self.skip(x))  # in place: fresh memory costs more than the sum

    def _read(self, orders: Orders, index: Tensor | None = None) -> Tensor:
        """What the first layer adds for the order of each row (of the rows ``index``)."""
        weight, bias = self.first.weight, self.first.bias
        if self.encoding.dim == 0:
            return bias
        table = F.linear(self.encoding.of(orders, weight.dtype), weight[:, -self.encoding.dim :], bias)
        if index is None or table.shape[0] == 1:
            return spread(table, orders.pairs) if table.shape[0] != 1 else table
        return F.embedding(index, table)


class OrderBias(nn.Module):
    r"""𝓑(l): a bias for any order, an MLP on its encoding (Eq. 6)."""

    def __init__(self, d_out: int, encoding: OrderEncoding) -> None:
        super().__init__()
        self.encoding = deepcopy(encoding)
        self.net = nn.Sequential(nn.Linear(encoding.dim, d_out), nn.ReLU(), nn.Linear(d_out, d_out))

    def forward(self, orders: Orders) -> Tensor:
        """``[rows, d_out]``."""
        return spread(self.net(self.encoding.of(orders, next(self.net.parameters()).dtype)), orders.pairs)
