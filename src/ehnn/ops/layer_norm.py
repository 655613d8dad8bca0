"""Layer normalisation: PyTorch's own, and on a GPU one pass each way, for runs side by side too."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .backend import NO_SECOND, apply, backend_of, opaque
from .dropout import along_runs

WIDEST = 1024


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """``[rows, d] → [rows, d]``: rows of mean 0 and deviation 1, times ``weight [d]`` plus ``bias [d]``."""
    return norm_and_skip(x, weight, bias, eps)[0]


def norm_and_skip(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> tuple[Tensor, Tensor]:
    """`layer_norm` of x ``[rows, d]``, and x for a skip connection, both ``[rows, d]``: their two gradients
    are then added in one pass."""
    if backend_of(x) == "triton" and x.numel() and x.shape[1] <= WIDEST:
        values = x.unsqueeze(0), weight.unsqueeze(0), bias.unsqueeze(0)
        y, skip = apply(_LayerNorm, *values, eps)[:2]
        return y.squeeze(0), skip.squeeze(0)
    return F.layer_norm(x, x.shape[1:], weight, bias, eps), x


class _LayerNorm(torch.autograd.Function):
    """``[runs, rows, d]`` with ``[runs, d]`` weights → normalised rows, x, means, 1 / deviations."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, ...]:
        y, mean, rstd = _forward(x, weight, bias, eps)
        return y, x.view_as(x), mean, rstd

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output[2:])
        ctx.save_for_backward(*inputs[:2], *output[2:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, skip: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
        if grad is None:
            return skip, None, None, None
        dx, of_affine = apply(_LayerNormBackward, grad, skip, *ctx.saved_tensors)
        return dx, *of_affine.unbind(1), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[tuple[Tensor, ...], Any]:
        values = [along_runs(t, d, info.batch_size) for t, d in zip(args[:3], in_dims, strict=False)]
        out = apply(_LayerNorm, *values, args[3])
        return tuple(t.unsqueeze(1) for t in out), (0, 0, 0, 0)


class _LayerNormBackward(torch.autograd.Function):
    @staticmethod
    def forward(
        grad: Tensor, skip: Any, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
    ) -> tuple[Tensor, ...]:
        return _backward(grad, skip, x, weight, mean, rstd)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(NO_SECOND.format("layer_norm"))


@opaque("ehnn::layer_norm")
def _forward(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    from .triton_norm import forward

    return forward(x, weight, bias, eps)


@_forward.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    wide = torch.promote_types(x.dtype, torch.float32)
    mean, rstd = (x.new_empty(x.shape[:2], dtype=wide) for _ in range(2))
    return torch.empty_like(x), mean, rstd


@opaque("ehnn::layer_norm_backward")
def _backward(
    grad: Tensor, skip: Tensor | None, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor]:
    from .triton_norm import backward

    return backward(grad, skip, x, weight, mean, rstd)


@_backward.register_fake
def _(grad: Tensor, skip: Any, x: Tensor, weight: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x), weight.new_empty(weight.shape[0], 2, weight.shape[1])
