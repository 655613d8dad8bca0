r"""Products of many float32 rows with a matrix, by tensor cores and yet as accurate as float32.

.. math:: y_r = W x_r + b

A tensor core rounds what it multiplies to TF32, 11 bits of mantissa. With each number written as a sum of
two such, x = x₁ + x₂ and W = W₁ + W₂, a float32 product is W₁x₁ + W₁x₂ + W₂x₁, but for 2⁻²² of its size:
three products at eight times the rate. Sums are in float32. On an H200 the error is half that of cuBLAS in
float32, at 1.4 times its rate (``benchmarks/linear.py``).
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .backend import apply, backend_of, opaque, tf32
from .dropout import along_runs

FEWEST_ROWS = 8192
"""Below, a product is as short as the launch of its kernel."""
NARROWEST = 128
"""Below, few rounding errors add up in float32, and what the three products leave out would show."""


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x [rows, k]``, ``weight [n, k]``, ``bias [n]`` → ``[rows, n]``, as `torch.nn.functional.linear`.

    On a GPU, products of at least `FEWEST_ROWS` float32 rows are three TF32 products each, unless
    ``torch.set_float32_matmul_precision`` asks for one, or autocast for another dtype. The gradient of
    the weight, a sum over all rows, is one float32 product.
    """
    if not _splits(x, weight):
        return F.linear(x, weight, bias)
    y = apply(_Linear, x.unsqueeze(0), weight.unsqueeze(0), None if bias is None else bias.unsqueeze(0))
    return y.squeeze(0)


def _splits(x: Tensor, weight: Tensor) -> bool:
    usual = x.dtype == weight.dtype == torch.float32 and backend_of(x) == "triton" and not tf32()
    large = x.shape[0] >= FEWEST_ROWS and min(weight.shape) >= NARROWEST
    return usual and large and not torch.is_autocast_enabled(x.device.type)


class _Linear(torch.autograd.Function):
    """``[runs, rows, k]``, ``[runs, n, k]``, ``[runs, n]`` or None → ``[runs, rows, n]``."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return _product(x, weight, bias)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        return (
            apply(_Linear, grad, weight.mT, None) if of_x else None,
            grad.mT @ x if of_weight else None,
            grad.sum(1) if of_bias else None,
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Tensor, int]:
        values = [
            None if t is None else along_runs(t, d, info.batch_size)
            for t, d in zip(args, in_dims, strict=True)
        ]
        return apply(_Linear, *values).unsqueeze(1), 0


@opaque("ehnn::linear")
def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    from .triton_linear import linear

    return linear(x, weight, bias)


@_product.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return x.new_empty(*x.shape[:2], weight.shape[1])
