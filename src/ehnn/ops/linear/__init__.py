r"""Products of many float32 rows with a matrix, by tensor cores and yet as accurate as float32.

.. math:: y_r = W x_r + b

A half has 11 bits of mantissa. With each number written as a sum of two of them times a power of two, a
float32 product is three products of halves, but for 2⁻²² of its size, at sixteen times the rate. Sums are in
float32. The gradient of W, a sum over rows, is made of halves too, in a fixed order.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..autograd import differentiable, opaque
from ..dispatch import Implementation, Operation, definition, in_forward_mode, not_on, old_triton, tf32

FEWEST_ROWS = 8192
"""Below, a product is as short as the launch of its kernel."""
NARROWEST = 64
"""Below, blocks would be narrower than those that were checked on a GPU."""


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x [rows, k]``, ``weight [n, k]``, ``bias [n]`` → ``[rows, n]``, as `torch.nn.functional.linear`.

    On a GPU, products of at least `FEWEST_ROWS` float32 rows are three products of halves each, unless
    ``torch.set_float32_matmul_precision`` allows TF32, or autocast asks for another dtype.

    >>> import torch
    >>> linear(torch.ones(2, 3), torch.ones(4, 3)).shape
    torch.Size([2, 4])
    """
    return LINEAR(x, weight, bias)


def _declines(x: Tensor, weight: Tensor, bias: Tensor | None) -> str | None:
    reason = not_on(x, "triton") or old_triton()
    if reason:
        return reason
    if not x.dtype == weight.dtype == torch.float32 or torch.is_autocast_enabled(x.device.type):
        return "only float32 outside of autocast is split into halves"
    if tf32():
        return "torch.set_float32_matmul_precision allows one TF32 product"
    if x.shape[0] < FEWEST_ROWS or min(weight.shape) < NARROWEST:
        return f"fewer than {FEWEST_ROWS} rows or {NARROWEST} channels"
    return "it has no forward-mode derivative" if in_forward_mode() else None


def _backward(_: None, kept: Any, grads: Any, depth: int, needs: Any) -> tuple[Any, ...]:
    (x, weight), (grad,) = kept, grads
    return (
        _function(None, grad, weight.mT, None, depth=depth)[0] if needs[0] else None,
        _function(None, grad.mT, x.mT, None, depth=depth)[0] if needs[1] else None,
        grad.sum(-2) if needs[2] else None,
    )


def _fake(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return x.new_empty(*x.shape[:2], weight.shape[1])


@opaque("ehnn::linear", _fake)
def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``[runs, rows, k]``, ``[runs, n, k]``, ``[runs, n]`` or None → ``[runs, rows, n]``."""
    from .triton_kernels import linear

    return linear(x, weight, bias)


_function = differentiable(
    "linear", lambda _, x, weight, bias: (_product(x, weight, bias),), _backward,
    keep=lambda _, tensors, outputs: tensors[:2], twice=True,
)  # fmt: skip

LINEAR = Operation(
    "linear",
    Implementation("halves", _declines, lambda x, weight, bias: _function(None, x, weight, bias)[0]),
    definition(F.linear),
)
