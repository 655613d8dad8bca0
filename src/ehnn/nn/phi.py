"""φ: the elementwise networks that know an order."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ehnn.hypergraph import Pairs
from ehnn.ops import join, linear, shifted_relu, small_phi, small_phi_fits, spread
from ehnn.ops.cpu_phi import cpu_fits, cpu_phi
from ehnn.overlap import Orders

from .dropout import Dropout
from .memory import by_chunks, is_bounded
from .norm import EPSILON, LayerNorm
from .order import OrderEncoding
from .products import Linear, check_dtype

Plus: TypeAlias = tuple[Tensor, Pairs | None]
"""A table and rows × rows of the table, one each (None if one row serves all): what is added to each row."""


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
        self.norm = LayerNorm(d_in) if norm else None
        self.first = nn.Linear(d_in + encoding.dim, d_out)
        self.second = nn.Linear(d_out, d_out)
        self.third = nn.Linear(d_out, d_out)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.skip = Linear(d_in, d_out, bias=False) if d_in != d_out else nn.Identity()

    def forward(self, x: Tensor, orders: Orders, plus: Plus | None = None) -> Tensor:
        """``[rows, d_in] → [rows, d_out]``; ``plus`` is added to the rows."""
        if not self.is_as_built:
            return self._by_calls(x, orders, plus)
        same = self.first.weight.dtype == x.dtype
        if not same:
            check_dtype(x, self.first.weight)
        if same and self._is_fusible and cpu_fits(x, x.shape[1], self.third.out_features):
            return self._on_cpu(x, orders, plus)
        weight, reads_order = self.first.weight.split([x.shape[1], self.encoding.dim], 1)
        table, dropout = self._table(orders, reads_order), self.dropout1

        def some_rows(x: Tensor, index: Tensor) -> Tensor:
            shift = table if table.shape[0] == 1 else F.embedding(index, table)
            return self._rows(x, weight, lambda z: dropout((z + shift).relu_()), None)

        y = by_chunks(self, some_rows, x, orders.index)
        y = self._fused(x, weight, table, orders.pairs) if y is None else y
        if y is None:
            return self._rows(x, weight, lambda z: act(z, table, orders.pairs, dropout), plus)
        return _and(y, plus)

    @property
    def is_as_built(self) -> bool:
        """Whether no part was exchanged or is listened to: then the parts need not be called."""
        if not as_built(self.norm, self.first, self.second, self.third):
            return False
        same = self.first.in_features - self.encoding.dim == self.third.out_features
        kinds = ((self.skip, nn.Identity if same else Linear), (self.encoding, OrderEncoding))
        drops = ((self.dropout1, Dropout), (self.dropout2, Dropout))
        return not any(type(part) is not kind or any(hooks_of(part)) for part, kind in (*kinds, *drops))

    def _by_calls(self, x: Tensor, orders: Orders, plus: Plus | None) -> Tensor:
        """φ as its formula says, each part called: some were exchanged, or are listened to."""
        read = x if self.norm is None else self.norm(x)
        if self.encoding.dim:
            codes = self.encoding.of(orders, x.dtype)
            read = torch.cat([read, codes.index_select(0, orders.index)], 1)
        hidden = self.dropout1(self.first(read).relu())
        return _and(self.third(self.dropout2(self.second(hidden).relu())) + self.skip(x), plus)

    def _rows(
        self, x: Tensor, weight: Tensor, first: Callable[[Tensor], Tensor], plus: Plus | None
    ) -> Tensor:
        """φ of rows; ``first`` shifts the first layer by the order of each."""
        normed, x = (x, x) if self.norm is None else self.norm.beside(x)
        hidden = first(linear(normed, weight))
        hidden = linear(hidden, self.second.weight)
        hidden = act(hidden, self.second.bias.unsqueeze(0), None, self.dropout2)
        table, pairs = plus or (None, None)
        bias = self.third.bias.unsqueeze(0)
        table = bias if table is None else table + bias
        return join(linear(hidden, self.third.weight), self.skip(x), table, pairs)

    def _fused(self, x: Tensor, weight: Tensor, table: Tensor, pairs: Pairs) -> Tensor | None:
        """φ as one kernel, for few rows of a small width on a GPU; None where that does not apply."""
        norm, second, third = self.norm, self.second, self.third
        if norm is None or not self._is_fusible or not small_phi_fits(x, x.shape[1], third.out_features):
            return None
        return small_phi(
            x, table, None if table.shape[0] == 1 else pairs, norm.weight, norm.bias, weight, second.weight,
            second.bias, third.weight, third.bias, (self.dropout1.mask, self.dropout2.mask),
        )  # fmt: skip

    def _on_cpu(self, x: Tensor, orders: Orders, plus: Plus | None) -> Tensor:
        """φ as one kernel of a CPU, which keeps no more than rows in chunks do."""
        norm, first, second, third = self.norm, self.first, self.second, self.third
        assert norm is not None
        codes = self.encoding.of(orders, x.dtype) if self.encoding.dim else None
        return cpu_phi(
            x, codes, orders.index, norm.weight, norm.bias, first.weight, first.bias, second.weight,
            second.bias, third.weight, third.bias, (self.dropout1.mask, self.dropout2.mask), plus,
            keep=not is_bounded(x),
        )  # fmt: skip

    @property
    def _is_fusible(self) -> bool:
        """Whether there is a norm like the kernels', and no dropout that PyTorch draws: masks with seeds."""
        drops = self.dropout1, self.dropout2
        usual = self.norm is not None and self.norm.eps == EPSILON
        return usual and not (self.training and any(d.p and not d.seeded for d in drops))

    def _table(self, orders: Orders, weight: Tensor) -> Tensor:
        """``[distinct, d_out]``: what the first layer adds for each order (one row without encoding)."""
        if self.encoding.dim == 0:
            return self.first.bias.unsqueeze(0)
        return F.linear(self.encoding.of(orders, weight.dtype), weight, self.first.bias)


def _and(y: Tensor, plus: Plus | None) -> Tensor:
    if plus is None:
        return y
    return y + (plus[0] if plus[1] is None else spread(plus[0], plus[1]))


def as_built(norm: nn.Module | None, *layers: nn.Module) -> bool:
    """Whether parts are of the kinds that kernels know, without hooks: then they need not be called."""
    if norm is not None and (type(norm) is not LayerNorm or any(hooks_of(norm))):
        return False
    return not any(type(layer) is not nn.Linear or any(hooks_of(layer)) for layer in layers)


def hooks_of(module: nn.Module) -> list[dict[int, Any]]:
    """The dictionaries of its hooks."""
    before, after = module._forward_pre_hooks, module._forward_hooks
    return [before, after, module._backward_pre_hooks, module._backward_hooks]


def act(z: Tensor, table: Tensor, pairs: Pairs | None, dropout: Dropout) -> Tensor:
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

    def forward(self, orders: Orders) -> Plus:
        """A row for each distinct order, and the order of each row."""
        return self.net(self.encoding.of(orders, next(self.net.parameters()).dtype)), orders.pairs
