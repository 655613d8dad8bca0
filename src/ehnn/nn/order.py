"""Encodings of orders k, l and overlap sizes 𝓘, as networks receive them."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ehnn.overlap import Orders

ORDER_ENCODINGS = ("sinusoidal", "number")
_TURN = 0.7548776662466927
"""1 over the plastic number: multiples of it and of its square fill the unit square evenly."""


class OrderEncoding(nn.Module):
    r"""Encode an order, or the size of an overlap, as a vector; any order, also one never seen in training.

    The ``kind`` ``"sinusoidal"`` (the paper's) gives ``dim`` channels, :math:`\sin(k / 10000^{2c/d})` and
    :math:`\cos(k / 10000^{2c/d})`. ``"number"`` gives one channel that holds k / 10: two orders
    can then be compared by their difference, which a ReLU network carries on past the orders it was
    trained on; it takes no roles. ``None`` gives no channels (the ablation without order embedding).

    With roles the order is a vector of role counts, or the overlap a matrix M, and ``"sinusoidal"`` gives

    .. math:: \sin \langle \omega_c, M \rangle, \quad \cos \langle \omega_c, M \rangle, \qquad
        \omega_{c, rs} = 10000^{-((2c/d + r g + s g^2) \bmod 1)}

    with g = 0.7549 (1/g is the plastic number): every entry has all the rates of the paper, in another
    order of the channels. These are the reasons for this choice:

    - With one role it is the paper's encoding, bit for bit.
    - The width does not depend on R, and a role that does not occur changes nothing. So a layer takes any
      hypergraph, and one that was trained with two roles reads a third.
    - It sees M as a whole: each channel is a character of the group of integer matrices, and rates that are
      not rational multiples of each other tell all matrices apart. A sum of encodings of single entries
      could not (`tests/algebra/test_algebra_roles.py`).
    - Codes of matrices that are close are close, so an MLP on them carries over to matrices that it was not
      trained on; rates drawn at random do not (`paper/experiments/role_encoding.py` compares).

    Shapes: integers ``[n]`` → ``[n, dim]``.

    >>> OrderEncoding("number", 8)(torch.tensor([2, 5000])).tolist()
    [[0.20000000298023224], [500.0]]
    """

    def __init__(self, kind: str | None, dim: int) -> None:
        super().__init__()
        if kind is not None and kind not in ORDER_ENCODINGS:
            raise ValueError(f"order_encoding must be one of {ORDER_ENCODINGS} or None, got {kind!r}")
        self.kind, self._width = kind, dim
        self.dim = {None: 0, "number": 1}.get(kind, dim)

    def of(self, orders: Orders, dtype: torch.dtype, *, zero_first: bool = False) -> Tensor:
        """``[distinct, dim]``: the encodings of the distinct values of ``orders``, kept with them.

        With ``zero_first`` that of 0 comes before them, ``[1 + distinct, dim]``.
        """

        def encode(values: Tensor) -> Tensor:
            zero = values.new_zeros(int(zero_first), *values.shape[1:])
            return self._encode(torch.cat([zero, values])).to(dtype)

        return orders.once((self.kind, self._width, dtype, zero_first), encode)

    def forward(self, orders: Tensor) -> Tensor:
        """``[n]`` integers, ``[n, R]`` role counts or ``[n, R, S]`` overlap matrices → ``[n, dim]``."""
        return self._encode(orders)

    def _encode(self, orders: Tensor) -> Tensor:
        if orders.dim() > 1:
            return self._encode_roles(orders if orders.dim() == 3 else orders.unsqueeze(2))
        value = orders.float().unsqueeze(1)
        if self.kind is None:
            return value[:, :0]
        if self.kind == "number":
            return value / 10  # of the size of other inputs for common orders
        return self._waves(value * self._rates(orders.device))

    def _encode_roles(self, counts: Tensor) -> Tensor:
        """``[distinct, R, S] → [distinct, dim]``."""
        if self.kind is None:
            return counts.flatten(1)[:, :0].float()
        if self.kind == "number":
            raise ValueError(
                "order_encoding='number' takes no roles, and this relation has some; 'sinusoidal' takes them"
            )
        _, R, S = counts.shape
        r, s = (torch.arange(size, device=counts.device, dtype=torch.float64) for size in (R, S))
        shift = (r.unsqueeze(1) * _TURN + s * _TURN**2).reshape(-1, 1)
        exponent = self._pairs(counts.device) * (2.0 / max(self._width, 1))
        turned = torch.exp(-math.log(10000.0) * ((exponent + shift) % 1.0))
        # With one role the same bits as without.
        turned = torch.cat([self._rates(counts.device).unsqueeze(0).double(), turned[1:]])
        return self._waves((counts.flatten(1).double() @ turned).float())

    def _pairs(self, device: torch.device) -> Tensor:
        """``[(width + 1) / 2]``: the number c of each pair of a sine and a cosine."""
        return torch.arange((self._width + 1) // 2, dtype=torch.float64, device=device)

    def _rates(self, device: torch.device) -> Tensor:
        """10000^(-2c/d) in float32, also in a bfloat16 model: bfloat16 cannot tell order 256 from 257."""
        return torch.exp(self._pairs(device) * (-2.0 * math.log(10000.0) / max(self._width, 1))).float()

    def _waves(self, angle: Tensor) -> Tensor:
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, : self.dim]

    def extra_repr(self) -> str:
        return f"{self.kind}, dim={self.dim}"
