"""φ and 𝓑: the elementwise networks that receive an order."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from ehnn.ops import Fusable, Mask, PhiWeights, Residual, of_part, phi
from ehnn.overlap import Orders

from .dropout import Dropout
from .order import OrderEncoding

_OLD_NAMES = {
    "norm.weight": "gamma", "norm.bias": "beta", "first.weight": "w1", "first.bias": "b1",
    "second.weight": "w2", "second.bias": "b2", "third.weight": "w3", "third.bias": "b3",
    "skip.weight": "skip", "net.0.weight": "w1", "net.0.bias": "b1", "net.2.weight": "w2", "net.2.bias": "b2",
}  # fmt: skip
"""Names of parameters in files that were written before version 0.2, and today's."""


class Network(Fusable):
    """A network whose weights are its own parameters, named as in the equations, without `nn.Linear`."""

    def __init__(self) -> None:
        super().__init__()
        self.register_load_state_dict_pre_hook(_read_old_names)

    def add_linear(self, number: int, d_in: int, d_out: int) -> None:
        """Parameters ``w<number> [d_out, d_in]`` and ``b<number> [d_out]``, drawn as by `torch.nn.Linear`."""
        for name, drawn in zip(("w", "b"), nn.Linear(d_in, d_out).parameters(), strict=True):
            self.register_parameter(f"{name}{number}", drawn)


def _read_old_names(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    for old, new in _OLD_NAMES.items():
        if prefix + old in state:
            state[prefix + new] = state.pop(prefix + old)


class Phi(Network, fusable=True):
    r"""φ(k, x) of Eq. 7: an MLP with a residual connection that reads features x and their order k.

    .. math:: \phi(k, x) = W x + W_3\, \sigma(W_2\, \sigma(
        W_1 [\mathrm{LayerNorm}(x), \mathrm{enc}(k)] + b_1) + b_2) + b_3

    where σ is ReLU, then dropout, and W (``skip``) is the identity unless the width changes.

    Args:
        d_in, d_out: widths.
        encoding: what φ sees of the order.
        dropout: between the layers of the MLP.
        norm: LayerNorm before the MLP; without it counts in x reach the MLP undistorted.

    Shapes: ``x [rows, d_in]`` and the orders of these rows → ``[rows, d_out]``.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1], [1, 2, 3]])
    >>> phi = Phi(4, 8, OrderEncoding("sinusoidal", 16))
    >>> phi(torch.ones(2, 4), h.overlap("edges", "nodes").source_orders).shape
    torch.Size([2, 8])
    """

    w1: Tensor
    b1: Tensor
    w2: Tensor
    b2: Tensor
    w3: Tensor
    b3: Tensor

    def __init__(
        self, d_in: int, d_out: int, encoding: OrderEncoding, *, dropout: float = 0.0, norm: bool = True
    ) -> None:
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        self.encoding = deepcopy(encoding)  # torch.func does not restore a module with several parents
        layer_norm = nn.LayerNorm(d_in, elementwise_affine=norm)
        self.gamma, self.beta = layer_norm.weight, layer_norm.bias
        self.add_linear(1, d_in + encoding.dim, d_out)
        self.add_linear(2, d_out, d_out)
        self.add_linear(3, d_out, d_out)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.skip = nn.Linear(d_in, d_out, bias=False).weight if d_in != d_out else None

    def forward(self, x: Tensor, orders: Orders, residual: Residual | None = None) -> Tensor:
        """``[rows, d_in] → [rows, d_out]``; the ``residual`` is added to the rows."""
        codes = self.encoding.of(orders, self.w1.dtype) if self.encoding.dim else None
        masks = tuple(of_part(mask, orders.whole, x.shape[0]) for mask in self.masks())
        return phi(x, codes, orders.pairs, self.weights(), masks, residual)

    def weights(self) -> PhiWeights:
        """The parameters as `ehnn.ops.phi` takes them."""
        hidden = (self.w1, self.b1), (self.w2, self.b2)
        return PhiWeights(self.gamma, self.beta, hidden, (self.w3, self.b3), self.skip)

    def masks(self) -> tuple[Mask | None, Mask | None]:
        """The dropout mask of each hidden layer in this step."""
        return (self.dropout1.mask, self.dropout2.mask) if self.training else (None, None)

    def extra_repr(self) -> str:
        return f"{self.d_in}, {self.d_out}, norm={self.gamma is not None}"


class OrderBias(Network, fusable=True):
    r"""𝓑(l): a bias of ``d_out`` channels for any order, an MLP on its encoding (Eq. 6).

    .. math:: \mathcal B(l) = W_2\, \mathrm{relu}(W_1\, \mathrm{enc}(l) + b_1) + b_2

    Shapes: orders of ``[rows]`` → ``[distinct orders, d_out]``, and which of them each row has.

    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1], [1, 2, 3], [4, 5]])
    >>> bias = OrderBias(8, OrderEncoding("sinusoidal", 16))
    >>> table, rows = bias(h.overlap("nodes", "edges").target_orders)
    >>> table.shape, rows.index.tolist()  # orders 2 and 3
    (torch.Size([2, 8]), [0, 1, 0])
    """

    w1: Tensor
    b1: Tensor
    w2: Tensor
    b2: Tensor

    def __init__(self, d_out: int, encoding: OrderEncoding) -> None:
        super().__init__()
        self.encoding = deepcopy(encoding)
        self.add_linear(1, encoding.dim, d_out)
        self.add_linear(2, d_out, d_out)

    def forward(self, orders: Orders) -> Residual:
        """A row for each distinct order, and the pattern of rows × distinct orders."""
        codes = self.encoding.of(orders, self.w1.dtype)
        return F.linear(F.linear(codes, self.w1, self.b1).relu(), self.w2, self.b2), orders.pairs


class FeedForward(Network):
    """x + MLP(LayerNorm(x)) with one hidden ReLU layer of the same width (Eq. 10): a φ that sees no order."""

    w1: Tensor
    b1: Tensor
    w2: Tensor
    b2: Tensor

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        layer_norm = nn.LayerNorm(width)
        self.gamma, self.beta = layer_norm.weight, layer_norm.bias
        self.add_linear(1, width, width)
        self.add_linear(2, width, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """``[rows, width] → [rows, width]``."""
        weights = PhiWeights(self.gamma, self.beta, ((self.w1, self.b1),), (self.w2, self.b2), None)
        return phi(x, None, None, weights, (self.dropout.mask,))
