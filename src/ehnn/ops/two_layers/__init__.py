r"""A network with one hidden layer on few rows: a bias or a query for each distinct order.

.. math:: y_r = W_2\, \mathrm{relu}(W_1 c_r + b_1) + b_2

On a GPU it is one kernel for each direction, where PyTorch launches three and six.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..autograd import differentiable, opaque
from ..dispatch import Implementation, Operation, definition, in_forward_mode, not_on
from ..phi.inlined import reason_to_call

MOST_ROWS = 256
WIDEST = 64


def two_layers(codes: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    """``codes [rows, c]``, ``w1 [d, c]``, ``w2 [d, d]`` → ``[rows, d]``.

    >>> import torch
    >>> two_layers(torch.ones(3, 2), torch.ones(4, 2), torch.zeros(4), torch.ones(4, 4), torch.zeros(4))[0, 0]
    tensor(8.)
    """
    return TWO_LAYERS(codes, w1, b1, w2, b2)


def of_modules(net: nn.Sequential, codes: Tensor) -> Tensor:
    """``net(codes)`` for a linear map, a ReLU and a linear map."""
    first, relu, last = net
    known = (net, nn.Sequential), (first, nn.Linear), (relu, nn.ReLU), (last, nn.Linear)
    if any(reason_to_call(module, kind) is not None for module, kind in known):
        return net(codes)
    return two_layers(codes, first.weight, first.bias, last.weight, last.bias)  # type: ignore[arg-type]


def _reference(codes: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    return F.linear(F.linear(codes, w1, b1).relu(), w2, b2)


def _declines(codes: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> str | None:
    reason = not_on(codes, "triton")
    if reason:
        return reason
    if any(t.dtype != torch.float32 for t in (codes, w1, w2)) or torch.is_autocast_enabled(codes.device.type):
        return "it takes float32 outside of autocast"
    if max(*w1.shape, *w2.shape) > WIDEST or not 0 < codes.shape[0] <= MOST_ROWS:
        return f"it takes 1 to {MOST_ROWS} rows of at most {WIDEST} channels"
    if codes.requires_grad:
        return "it has no gradient of its rows"
    return "it has no forward-mode derivative" if in_forward_mode() else None


@opaque("ehnn::two_layers", lambda codes, w1, b1, w2, b2: codes.new_empty(*codes.shape[:2], w2.shape[1]))
def _forward(codes: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    """Each with a dimension for runs, and so are the gradients."""
    from .triton_kernels import forward

    return forward(codes, w1, b1, w2, b2)


@opaque(
    "ehnn::two_layers_backward",
    lambda grad, codes, *params: tuple(
        torch.empty_like(p, memory_format=torch.contiguous_format) for p in (*params, params[1])
    ),
)
def _backward(
    grad: Tensor, codes: Tensor, w1: Tensor, b1: Tensor, w2: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    from .triton_kernels import backward

    of_w1, of_b1, of_w2, of_b2 = backward(grad, codes, w1, b1, w2)
    return of_w1, of_b1, of_w2, of_b2


def _gradients(_: None, kept: Any, grads: Any) -> tuple[Any, ...]:
    return None, *_backward(grads[0], *kept)


_function = differentiable(
    "two_layers", lambda _, *tensors: (_forward(*tensors),), _gradients,
    keep=lambda _, tensors, outputs: tensors[:4],
)  # fmt: skip

TWO_LAYERS = Operation(
    "two_layers",
    Implementation("triton", _declines, lambda *tensors: _function(None, *tensors)[0]),
    definition(_reference),
)
