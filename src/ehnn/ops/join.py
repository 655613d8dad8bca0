r"""The end of a φ: what came out of its products, its input, and a shift by a number that each row has.

.. math:: y_r = z_r + x_r + t_{o(r)}
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import Pairs

from .backend import apply, backend_of, opaque
from .dropout import along_runs
from .segment_sum import spread, structure
from .shifted_relu import by_order


def join(z: Tensor, x: Tensor, table: Tensor, pairs: Pairs | None) -> Tensor:
    """``[rows, d]`` twice with ``table [numbers, d]`` → ``[rows, d]``.

    Args:
        z: overwritten where that saves a copy.
        x: the same shape.
        table: a shift for each number; one row serves all.
        pairs: rows × numbers, one each; None if one row serves all.
    """
    one = pairs is None or table.shape[0] == 1
    if backend_of(z) == "triton" and z.numel():
        places = [None] * 8 if pairs is None or one else structure(pairs, z)
        return apply(_Join, z.unsqueeze(0), x.unsqueeze(0), table.unsqueeze(0), *places).squeeze(0)
    shift = table if pairs is None or one else spread(table, pairs)
    if torch._C._are_functorch_transforms_active():  # z may have fewer runs than what is added to it
        return z + x + shift
    return z.add_(x).add_(shift)


class _Join(torch.autograd.Function):
    """``[runs, rows, d]`` twice, ``[runs, numbers, d]``; then `structure`, the same for all runs."""

    @staticmethod
    def forward(
        z: Tensor, x: Tensor, table: Tensor, ptr: Any, index: Any, chunk_ptr: Any, row_ptr: Any, t0: Any,
        t1: Any, t2: Any, t3: Any,
    ) -> Tensor:  # fmt: skip
        return _fused(z, x, table, index)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[3:])
        ctx.dtypes = [t.dtype for t in inputs[:3]]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grads = grad, grad, by_order(grad, ctx.saved_tensors)
        return *(g.to(t) for g, t in zip(grads, ctx.dtypes, strict=True)), *[None] * 8

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Tensor, int]:
        values = [along_runs(t, d, info.batch_size) for t, d in zip(args[:3], in_dims, strict=False)]
        return apply(_Join, *values, *args[3:]).unsqueeze(1), 0


@opaque("ehnn::join")
def _fused(z: Tensor, x: Tensor, table: Tensor, index: Tensor | None) -> Tensor:
    from .triton_elementwise import join

    return join(z, x, table, index)


@_fused.register_fake
def _(z: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(z)
