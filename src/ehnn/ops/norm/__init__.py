"""Layer normalisation: PyTorch's own, and on a GPU one pass each way, for runs side by side too."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..autograd import differentiable, opaque
from ..dispatch import Implementation, Operation, definition, in_forward_mode, not_on, too_exact

EPSILON = 1e-5
"""PyTorch's own."""
WIDEST = 1024


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = EPSILON) -> Tensor:
    """``[rows, d] → [rows, d]``: rows of mean 0 and deviation 1, times ``weight [d]`` plus ``bias [d]``."""
    return norm_and_skip(x, weight, bias, eps)[0]


def norm_and_skip(x: Tensor, weight: Tensor, bias: Tensor, eps: float = EPSILON) -> tuple[Tensor, Tensor]:
    """`layer_norm` of x ``[rows, d]``, and x for a skip connection, both ``[rows, d]``: their two gradients
    are then added in one pass."""
    return NORM(x, weight, bias, eps)


def reference_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = EPSILON) -> tuple[Tensor, Tensor]:
    """The definition of `norm_and_skip`."""
    return F.layer_norm(x, x.shape[1:], weight, bias, eps), x


def _declines(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> str | None:
    if not x.numel() or x.shape[1] > WIDEST:
        return f"no rows, or wider than {WIDEST} channels"
    reason = not_on(x, "triton") or too_exact(x)
    return reason or ("it has no forward-mode derivative" if in_forward_mode() else None)


def _forward(eps: float, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    y, mean, rstd = _kernel(x, weight, bias, eps)
    return y, x.view_as(x), mean, rstd


def _backward(eps: float, kept: Any, grads: Any) -> tuple[Any, ...]:
    (x, weight, mean, rstd), (grad, skip) = kept, grads
    if grad is None:
        return skip, None, None
    dx, of_affine = _backward_kernel(grad, skip, x, weight, mean, rstd)
    return dx, *of_affine.unbind(1)


def _fake(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    wide = torch.promote_types(x.dtype, torch.float32)
    mean, rstd = (x.new_empty(x.shape[:2], dtype=wide) for _ in range(2))
    return torch.empty_like(x), mean, rstd


def _fake_backward(grad: Tensor, skip: Any, x: Tensor, weight: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x), weight.new_empty(weight.shape[0], 2, weight.shape[1])


@opaque("ehnn::layer_norm", _fake)
def _kernel(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """``[runs, rows, d]`` with ``[runs, d]`` weights → normalised rows, means, 1 / deviations."""
    from .triton_kernels import forward

    return forward(x, weight, bias, eps)


@opaque("ehnn::layer_norm_backward", _fake_backward)
def _backward_kernel(
    grad: Tensor, skip: Tensor | None, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor]:
    from .triton_kernels import backward

    return backward(grad, skip, x, weight, mean, rstd)


_function = differentiable(
    "layer_norm", _forward, _backward, keep=lambda eps, tensors, outputs: (*tensors[:2], *outputs[2:]),
    outputs=2,
)  # fmt: skip

NORM = Operation(
    "layer_norm",
    Implementation("triton", _declines, lambda x, weight, bias, eps: _function(eps, x, weight, bias)[:2]),
    definition(reference_norm),
)
