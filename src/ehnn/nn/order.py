"""What a network sees of an order k, l or an overlap size 𝓘."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ehnn.hypergraph.kept import plain_tensors
from ehnn.overlap import Orders

ORDER_ENCODINGS = ("sinusoidal", "number")


class OrderEncoding(nn.Module):
    r"""An integer as a vector: computed on the fly for any order, with no table and no maximum.

    ``"sinusoidal"`` (the paper's) gives ``dim`` channels, :math:`\sin(k / 10000^{2c/d})` and
    :math:`\cos(k / 10000^{2c/d})`. ``"number"`` gives one channel that holds k / 10: two orders
    can then be compared by their difference, which a ReLU network carries on past the orders it was
    trained on. ``None`` gives no channels (the ablation without order embedding).

    >>> OrderEncoding("number", 8)(torch.tensor([2, 5000])).tolist()
    [[0.20000000298023224], [500.0]]
    """

    rates: Tensor

    def __init__(self, kind: str | None, dim: int) -> None:
        super().__init__()
        if kind is not None and kind not in ORDER_ENCODINGS:
            raise ValueError(f"order_encoding must be one of {ORDER_ENCODINGS} or None, got {kind!r}")
        self.kind, self._width = kind, dim
        self.dim = {None: 0, "number": 1}.get(kind, dim)
        self._pairs = (dim + 1) // 2
        self.register_buffer("rates", self._fresh_rates(), persistent=False)

    def _fresh_rates(self, device: torch.device | None = None) -> Tensor:
        half = torch.arange(self._pairs, dtype=torch.float64, device=device)
        return torch.exp(half * (-2.0 * math.log(10000.0) / max(self._width, 1))).float()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> OrderEncoding:
        """A cast of the module must not blur the orders: bfloat16 cannot tell 256 from 257."""
        super()._apply(fn, recurse)
        self.rates = self._fresh_rates(self.rates.device)
        return self

    def of(self, orders: Orders, dtype: torch.dtype) -> Tensor:
        """``[distinct, dim]``: the encodings of the distinct values of ``orders``, kept with them."""
        if torch.compiler.is_compiling():
            return self(orders.values).to(dtype)
        key = (self.kind, self._width, dtype)
        if key not in orders.codes:
            with plain_tensors():
                rates = self._fresh_rates(orders.values.device)
                orders.codes[key] = self._encode(orders.values, rates).to(dtype)
        return orders.codes[key]

    def forward(self, orders: Tensor) -> Tensor:
        """``[distinct]`` integers → ``[distinct, dim]``."""
        # On another device, or with nothing in it, it is after `load_state_dict(…, assign=True)`.
        here = self.rates.device == orders.device
        return self._encode(orders, self.rates if here else self._fresh_rates(orders.device))

    def _encode(self, orders: Tensor, rates: Tensor) -> Tensor:
        value = orders.to(rates.dtype).unsqueeze(1)
        if self.kind is None:
            return value[:, :0]
        if self.kind == "number":
            return value / 10  # of the size of other inputs for common orders
        angle = value * rates
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, : self.dim]

    def extra_repr(self) -> str:
        return f"{self.kind}, dim={self.dim}"
