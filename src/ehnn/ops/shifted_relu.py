r"""What stands between the products of a φ: a shift by the order of each row, ReLU and dropout.

.. math:: y_r = \mathrm{dropout}(\mathrm{relu}(z_r + t_{o(r)}))

As one pass it reads and writes the rows once. Its gradient needs y alone: an element that ReLU or dropout
set to zero is zero in y.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import Pairs

from .backend import apply, backend_of, opaque
from .dropout import Mask, along_runs, check_rows, fused_mask, seeded_dropout
from .segment_sum import _SegmentSum, spread, structure


def shifted_relu(z: Tensor, table: Tensor, pairs: Pairs | None, mask: Mask | None = None) -> Tensor:
    """``[rows, d]`` with ``table [orders, d]`` → ``[rows, d]``.

    Args:
        z: overwritten where that saves a copy.
        table: a shift for each distinct order; one row serves all.
        pairs: rows × orders, one each; None if one row serves all.
        mask: of dropout.
    """
    check_rows(z, mask)
    one = pairs is None or table.shape[0] == 1
    if backend_of(z) == "triton" and z.numel():
        places = [None] * 8 if pairs is None or one else structure(pairs, z)
        return apply(_ShiftedRelu, z.unsqueeze(0), table.unsqueeze(0), *fused_mask(mask), *places).squeeze(0)
    shift = table if pairs is None or one else spread(table, pairs)
    # Under a transform, z may have fewer runs than what is added to it.
    y = (z + shift if torch._C._are_functorch_transforms_active() else z.add_(shift)).relu_()
    return y if mask is None else seeded_dropout(y, mask)


class _ShiftedRelu(torch.autograd.Function):
    """``[runs, rows, d]``, ``[runs, orders, d]``; the last eight are `structure`, shared by the runs."""

    @staticmethod
    def forward(
        z: Tensor, table: Tensor, seed: Any, p: float, rows: Any, whole: Any, ptr: Any, index: Any,
        chunk_ptr: Any, row_ptr: Any, t0: Any, t1: Any, t2: Any, t3: Any,
    ) -> Tensor:  # fmt: skip
        return _fused(z, table, index, seed, p, rows, whole)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(output, *inputs[6:])
        ctx.scale, ctx.dtype = 1 / (1 - inputs[3]), inputs[1].dtype

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        y, *places = ctx.saved_tensors
        dz, total = apply(_Gate, grad, y, ctx.scale, places[0] is None)
        return dz, (total if places[0] is None else by_order(dz, places)).to(ctx.dtype), *[None] * 12

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Tensor, int]:
        z, table, seed, *rest = args
        z, table = (along_runs(t, d, info.batch_size) for t, d in zip((z, table), in_dims, strict=False))
        seed = None if seed is None else along_runs(seed, in_dims[2], info.batch_size)
        return apply(_ShiftedRelu, z, table, seed, *rest).unsqueeze(1), 0


def by_order(dz: Tensor, places: Sequence[Any]) -> Tensor:
    """``[runs, rows, d] → [runs, orders, d]``: the rows of each order, added up."""
    if places[0] is None:
        return dz.sum(1, keepdim=True)
    flat = dz[0] if dz.shape[0] == 1 else dz.movedim(0, 1).flatten(1)
    total = apply(_SegmentSum, flat, *places[4:], *places[:4], None, None)
    return total.reshape(total.shape[0], dz.shape[0], -1).movedim(1, 0)


class _Gate(torch.autograd.Function):
    """``scale · grad`` where y is above 0, and the sum of that over the rows; linear in grad."""

    @staticmethod
    def forward(grad: Tensor, y: Tensor, scale: float, total: bool) -> tuple[Tensor, Tensor]:
        return _gate(grad, y, scale, total)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(inputs[1])
        ctx.scale, ctx.total = inputs[2], inputs[3]

    @staticmethod
    def backward(ctx: Any, grad: Tensor, total: Tensor) -> tuple[Tensor | None, ...]:
        grad = grad + total if ctx.total else grad
        return apply(_Gate, grad, *ctx.saved_tensors, ctx.scale, False)[0], None, None, None


@opaque("ehnn::shifted_relu")
def _fused(
    z: Tensor, table: Tensor, index: Tensor | None, seed: Tensor | None, p: float, rows: Tensor | None,
    whole: int | None,
) -> Tensor:  # fmt: skip
    from .triton_elementwise import forward

    return forward(z, table, index, seed, p, rows, whole)


@_fused.register_fake
def _(z: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(z)


@opaque("ehnn::gate")
def _gate(grad: Tensor, y: Tensor, scale: float, total: bool) -> tuple[Tensor, Tensor]:
    from .triton_elementwise import gate

    return gate(grad, y, scale, total)


@_gate.register_fake
def _(grad: Tensor, y: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    wide = torch.promote_types(y.dtype, torch.float32)
    return torch.empty_like(y), y.new_empty(y.shape[0], 1, y.shape[2], dtype=wide)
