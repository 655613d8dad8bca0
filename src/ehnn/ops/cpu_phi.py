r"""φ on a CPU as one kernel in C (``phi.c``), with a hand-written gradient: the formulas of `small_phi`.

Rows are taken in blocks that stay in the cache. What all rows share is taken together first: the codes e of
the orders, and LayerNorm's γ and β, go into the first layer,

.. math:: W_1 (\gamma \hat x + \beta) + W_e e_o + b_1 = A \hat x + t_o, \quad A = W_1 \mathrm{diag}(\gamma)

so that rows meet them neither forward nor backward. With :math:`M = \sum \bar z_1 \hat x^\top` and
:math:`s = \sum \bar z_1`, sums over the rows that are needed anyway,

.. math:: \bar W_1 = M \mathrm{diag}(\gamma) + s \beta^\top, \quad
    \bar\gamma_c = \textstyle\sum_j W_{1,jc} M_{jc}, \quad \bar\beta = W_1^\top s

The hidden layers of few rows are kept for the gradient; those of many are made again, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import Pairs

from .backend import NO_SECOND, apply, backend_of, in_forward_mode
from .compiled import library
from .dropout import Mask, check_rows
from .phi_calls import ROWS_PER_THREAD, Shared, backward, forward
from .threads import in_threads

WIDEST = 256
"""Beyond, the weights do not stay in the cache and PyTorch's products are faster."""

FEW = 2**18
"""Numbers in the rows up to which the hidden layers are kept for the gradient."""

RUN = 2**15
"""Numbers in the rows of a run from which on, of many runs, each is worth a thread."""

Masks = tuple[Mask | None, Mask | None]


def cpu_fits(x: Tensor, d_in: int, d_out: int) -> bool:
    """Whether `cpu_phi` takes these rows: on a CPU, in float32 or float64, of a width that stays and that
    vectors of 64 bytes divide, where there is a compiler. Compiled code fuses by itself."""
    if d_in != d_out or d_in > WIDEST or (d_in * x.element_size()) % 64 or not x.numel():
        return False
    if backend_of(x) != "cpu" or torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu"):
        return False
    return library("phi", x.dtype) is not None


def cpu_phi(
    x: Tensor, codes: Tensor | None, index: Tensor | None, gamma: Tensor, beta: Tensor, first: Tensor,
    b1: Tensor, w2: Tensor, b2: Tensor, w3: Tensor, b3: Tensor, masks: Masks = (None, None),
    plus: tuple[Tensor, Pairs | None] | None = None, keep: bool = True,
) -> Tensor:  # fmt: skip
    """``[rows, d] → [rows, d]``, if `cpu_fits`.

    Args:
        codes: ``[orders, c]`` constant vectors, one for each distinct order; None if φ sees none.
        index: ``[rows]`` the order of each row.
        gamma, beta: of LayerNorm.
        first: ``[d, d + c]``, the first layer, which reads x and then the code.
        masks: of the two dropouts.
        plus: a table and rows × rows of the table, one each: what is added to each row.
        keep: False makes the hidden layers again for the gradient, even of few rows.
    """
    for mask in masks:
        check_rows(x, mask)
    last, last_index = b3.unsqueeze(0), None
    if plus is not None:
        last, last_index = plus[0] + b3, None if plus[1] is None or len(plus[0]) == 1 else plus[1].index
    if codes is None or len(codes) == 1:
        index = None
    _check((x, gamma, beta, first, b1, w2, b2, w3, last), (index, last_index), codes)
    seed1, seed2 = (None if mask is None else mask.seed for mask in masks)
    shared = Shared(codes, index, last_index, masks, keep and x.numel() <= FEW)
    values = (x, gamma, beta, first, b1, w2, b2, w3, last, seed1, seed2, shared)
    if torch.is_grad_enabled() or transformed() or in_forward_mode():
        return apply(_CpuPhi, *values)[0]
    return forward(values[:9], (seed1, seed2), shared, gradient=False)[0]


def _check(floats: Sequence[Tensor], places: Sequence[Tensor | None], codes: Tensor | None) -> None:
    """A kernel reads memory as it is told to: nothing may be of another kind or size than it thinks."""
    rows, d = floats[0].shape
    code = 0 if codes is None else codes.shape[1]
    kinds = {t.dtype for t in floats} | ({floats[0].dtype} if codes is None else {codes.dtype})
    if len(kinds) > 1:
        raise ValueError(f"x, parameters and codes must be of one dtype, got {sorted(map(str, kinds))}")
    shapes = [tuple(t.shape) for t in floats[1:8]]
    wanted = [(d,), (d,), (d, d + code), (d,), (d, d), (d,), (d, d)]
    if shapes != wanted:
        raise ValueError(f"γ, β, first, b₁, W₂, b₂, W₃ must have shapes {wanted}, got {shapes}")
    for index in places:
        if index is not None and tuple(index.shape) != (rows,):
            raise ValueError(f"each of {rows} rows must have one order, got {list(index.shape)}")


def transformed() -> bool:
    """Whether `torch.func` transforms the computation."""
    return torch._C._are_functorch_transforms_active()


class _CpuPhi(torch.autograd.Function):
    """Nine tensors of floats, two seeds and what all runs share → y, and what is kept for the gradient."""

    @staticmethod
    def forward(
        x: Tensor, gamma: Tensor, beta: Tensor, first: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, w3: Tensor,
        last: Tensor, seed1: Any, seed2: Any, shared: Shared,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        floats = (x, gamma, beta, first, b1, w2, b2, w3, last)
        if x.dim() == 2:
            return forward(floats, (seed1, seed2), shared, gradient=True)
        return _each_run(lambda f, s: forward(f, s, shared, gradient=True), floats, (seed1, seed2))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1], *inputs[:11])
        ctx.shared = inputs[11]
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, _: Any) -> tuple[Tensor | None, ...]:
        if grad is None:
            return (None,) * 12
        kept, *given = ctx.saved_tensors  # once: a checkpoint hands them out a single time
        if not torch.is_grad_enabled() and grad.dim() == 2 and not transformed():
            grads = backward(grad, kept, tuple(given[:9]), tuple(given[9:]), ctx.shared)
        else:
            grads = apply(_CpuPhiBackward, grad, kept, *given, ctx.shared)
        return *grads, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[tuple[Tensor, ...], Any]:
        return apply(_CpuPhi, *_stacked(info.batch_size, in_dims, args)), (0, 0)


class _CpuPhiBackward(torch.autograd.Function):
    """The gradient of y, what was kept, and the inputs → the gradients of the floats."""

    @staticmethod
    def forward(grad: Tensor, kept: Tensor, *args: Any) -> tuple[Tensor, ...]:
        floats, seeds, shared = args[:9], args[9:11], args[11]
        return _each_run(lambda f, s: backward(f[0], f[1], f[2], s, shared), (grad, kept, floats), seeds)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(NO_SECOND.format("cpu_phi"))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[tuple[Tensor, ...], Any]:
        return apply(_CpuPhiBackward, *_stacked(info.batch_size, in_dims, args)), (0,) * 9


def _each_run(
    fn: Callable[[Any, Any], Sequence[Tensor]], floats: tuple[Any, ...], seeds: tuple[Any, ...]
) -> tuple[Any, ...]:
    """``fn(floats, seeds)``; if these have a dimension for runs before the others, of each run, stacked."""
    x = floats[0]
    if x.dim() == 2:
        return tuple(fn(floats, seeds))

    @torch.no_grad()  # which a thread does not inherit
    def one(r: int) -> tuple[Any, ...]:
        return _each_run(fn, _at(floats, r), _at(seeds, r))

    threads = min(torch.get_num_threads(), len(x)) if x.dim() == 3 and _worth_a_thread(x[0]) else 1
    each = in_threads(threads, one, range(len(x)))
    return tuple(torch.stack(parts) for parts in zip(*each, strict=True))


def _worth_a_thread(run: Tensor) -> bool:
    """Whether a run with these rows has much to do, on one thread."""
    return run.numel() >= RUN and run.shape[0] < 2 * ROWS_PER_THREAD


def _at(values: tuple[Any, ...], r: int) -> tuple[Any, ...]:
    return tuple(None if v is None else v[r] if isinstance(v, Tensor) else _at(v, r) for v in values)


def _stacked(runs: int, in_dims: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """``args`` with a dimension for runs before the others, except the last, which all runs share."""

    def one(t: Tensor | None, dim: int | None) -> Tensor | None:
        return None if t is None else leading(t, dim, runs)

    return [*map(one, args[:-1], in_dims[:-1]), args[-1]]


def leading(t: Tensor, dim: int | None, runs: int) -> Tensor:
    """``t`` with its dimension for runs before the others."""
    return t.expand(runs, *t.shape) if dim is None else t.movedim(dim, 0)
