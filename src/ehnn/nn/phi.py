"""φ: the elementwise networks that know an order."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import torch.nn.functional as F
from torch import Tensor, nn

from ehnn.hypergraph import Pairs
from ehnn.ops import shifted_relu, spread
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
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.skip = nn.Linear(d_in, d_out, bias=False) if d_in != d_out else nn.Identity()

    def forward(self, x: Tensor, orders: Orders) -> Tensor:
        """``[rows, d_in] → [rows, d_out]``."""
        table, dropout = self._table(orders), self.dropout1

        def some_rows(x: Tensor, index: Tensor) -> Tensor:
            return self._rows(x, lambda z: dropout((z + F.embedding(index, table)).relu_()))

        chunked = by_chunks(some_rows, x, orders.index)
        return (
            chunked if chunked is not None else self._rows(x, lambda z: _act(z, table, orders.pairs, dropout))
        )

    def _rows(self, x: Tensor, act: Callable[[Tensor], Tensor]) -> Tensor:
        """φ of rows; ``act`` shifts the first layer by the order of each."""
        hidden = act(F.linear(self.norm(x), self.first.weight[:, : x.shape[1]]))
        hidden = F.linear(hidden, self.second.weight)
        hidden = _act(hidden, self.second.bias.unsqueeze(0), None, self.dropout2)
        return self.third(hidden).add_(self.skip(x))  # in place: fresh memory costs more than the sum

    def _table(self, orders: Orders) -> Tensor:
        """``[distinct, d_out]``: what the first layer adds for each order (one row without encoding)."""
        weight, bias = self.first.weight, self.first.bias
        if self.encoding.dim == 0:
            return bias.unsqueeze(0)
        return F.linear(self.encoding.of(orders, weight.dtype), weight[:, -self.encoding.dim :], bias)


def _act(z: Tensor, table: Tensor, pairs: Pairs | None, dropout: Dropout) -> Tensor:
    """Shift, ReLU and dropout, in one pass where the mask has a seed."""
    mask = dropout.mask
    y = shifted_relu(z, table, pairs, mask)
    return dropout(y) if mask is None else y


class OrderBias(nn.Module):
    r"""𝓑(l): a bias for any order, an MLP on its encoding (Eq. 6)."""

    def __init__(self, d_out: int, encoding: OrderEncoding) -> None:
        super().__init__()
        self.encoding = deepcopy(encoding)
        self.net = nn.Sequential(nn.Linear(encoding.dim, d_out), nn.ReLU(), nn.Linear(d_out, d_out))

    def forward(self, orders: Orders) -> Tensor:
        """``[rows, d_out]``."""
        return spread(self.net(self.encoding.of(orders, next(self.net.parameters()).dtype)), orders.pairs)
