r"""An EHNN-MLP layer of few rows on a CPU as one kernel in C (``layer.c``), with a hand-written gradient.

.. math:: y_j = \phi_3\Big(l, \sum_{\mathcal I \ge 0} \phi_2\big(\mathcal I,
    \sum_i B^{\mathcal I}_{ij}\, \phi_1(k, x_i)\big)\Big) + \mathcal B(l)

Each φ is that of `cpu_phi`, and each sum that of `segment_sum`. Of few rows the arithmetic takes less time
than the calls around it: autograd sees one operation instead of about ten, and what the relation says is told
to the kernel once, in a `Plan` that is kept as long as the relation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from ctypes import c_int64
from functools import partial
from itertools import accumulate
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ehnn.hypergraph import Pairs
from ehnn.hypergraph.kept import plain_tensors
from ehnn.overlap import Orders, Overlap

from .backend import NO_SECOND, apply, in_forward_mode
from .compiled import library
from .cpu_phi import FEW, cpu_fits, leading, transformed
from .dropout import Mask
from .layer_calls import Kind, Plan, backward, forward, masks_of
from .phi_calls import ROWS_PER_THREAD

_plans: WeakKeyDictionary[Overlap, dict[Kind, Plan | None]] = WeakKeyDictionary()


def layer_fits(x: Tensor, d_in: int, d_out: int) -> bool:
    """Whether `cpu_layer` may take x: `cpu_fits`, and nothing but one `vmap` transforms the computation."""
    return cpu_fits(x, d_in, d_out) and (not transformed() or in_vmap())


def in_vmap() -> bool:
    """Whether the computation is one for many runs: inside `vmap` and no other transform."""
    if not transformed():
        return False
    stack = torch._C._functorch.get_interpreter_stack() or []
    return [one.key() for one in stack] == [torch._C._functorch.TransformType.Vmap]


def plan_of(overlap: Overlap, kind: Kind, codes: Callable[[Orders], Tensor] | None) -> Plan | None:
    """What the kernel is told of a relation; None if it does not take it.

    ``codes`` makes ``[distinct, c]`` constant vectors of orders; None if the layer sees none.
    """
    plans = _plans.get(overlap)
    if plans is None:
        plans = _plans[overlap] = {}
    if kind not in plans:
        with plain_tensors():
            plans[kind] = _plan(overlap, kind, codes)
    return plans[kind]


def _plan(overlap: Overlap, kind: Kind, codes: Callable[[Orders], Tensor] | None) -> Plan | None:
    """Of relations on a CPU that are here as a whole, with rows, but not so many that threads share them."""
    patterns = [p for p in (overlap.local, overlap.gather, overlap.pool, overlap.spread) if p is not None]
    plain = type(overlap) is Overlap and all(type(p) is Pairs and p.ptr.is_cpu for p in patterns)
    rows = overlap.num_sources, overlap.num_groups, overlap.num_targets
    few = max(rows) + overlap.num_members <= min(FEW // kind.d, 2 * ROWS_PER_THREAD)
    if not plain or not few or not min(rows) or library("layer", kind.dtype) is None:
        return None
    sizes = overlap.sizes_and_pool if kind.pooled else overlap.sizes
    seen = overlap.source_orders, sizes, overlap.target_orders
    return Plan(overlap, kind, None if codes is None else [codes(o) for o in seen])


class Signature:
    """What the parameters of a layer must be like.

    In this order: γ, β (with a norm), first, b₁, W₂, b₂, W₃, b₃ of φ₁, then of φ₂ and φ₃; W₁, b₁, W₂, b₂ of
    the bias, if there is one. A kernel reads memory as it is told to: nothing may be of another kind or size
    than it thinks. What was found to be right is remembered, since to look at so many tensors takes a while.
    """

    def __init__(self, d: int, code: int, norm: bool, bias: bool) -> None:
        vectors, matrices = [(d,)] * norm, [(d, d), (d,)]
        phi = [*2 * vectors, (d, d + code), (d,), *2 * matrices]
        self.shapes = [*3 * phi, *([(d, code), (d,), *matrices] if bias else [])]
        self._matrices = [i for i, shape in enumerate(self.shapes) if len(shape) == 2]
        self.norm, self.total = norm, sum(map(math.prod, self.shapes))
        self._right: tuple[Sequence[Tensor], list[int]] = (), []
        starts = list(accumulate(map(math.prod, self.shapes), initial=0))
        strides = [(s[1], 1) if len(s) == 2 else (1,) for s in self.shapes]
        self._parts = list(zip(self.shapes, strides, starts, strict=False))
        offsets = self._whole(starts[:-1])
        self.offsets = (c_int64 * len(offsets))(*offsets)

    def places(self, given: Sequence[Tensor]) -> list[int]:
        """Where these parameters are, and 0 for those that the layer does not have."""
        return self._whole([p.data_ptr() for p in given])

    def checked(self, given: Sequence[Any], dtype: torch.dtype) -> list[int] | None:
        """Their `places`; None if they are not of these shapes, of this ``dtype``, dense and on a CPU."""
        if len(given) != len(self.shapes) or any(p is None for p in given):
            return None
        at, (right, places) = [p.data_ptr() for p in given], self._right
        same = at == places and given[0].dtype is dtype and all(map(is_, given, right))
        # The ``data`` of a parameter can be turned where it lies.
        if not same or any(given[i].stride(1) != 1 for i in self._matrices):
            for p, shape in zip(given, self.shapes, strict=True):
                if p.shape != shape or p.dtype is not dtype or not (p.is_cpu and p.is_contiguous()):
                    return None
            self._right = given, at
        return self._whole(at)

    def fits(self, given: Sequence[Any], dtype: torch.dtype) -> bool:
        """Whether parameters of many runs at once are, for each run, as the kernel takes them."""
        if len(given) != len(self.shapes) or any(p is None for p in given):
            return False
        pairs = zip(given, self.shapes, strict=True)
        return all(p.shape == shape and p.dtype is dtype and p.is_cpu for p, shape in pairs)

    def _whole(self, at: list[int]) -> list[int]:
        if not self.norm:
            at = [0, 0, *at[:6], 0, 0, *at[6:12], 0, 0, *at[12:]]
        return at if len(at) == 28 else [*at, 0, 0, 0, 0]

    def cut(self, gradients: Tensor) -> list[Tensor]:
        """The gradient of each from ``[total]``."""
        return [gradients.as_strided(*part) for part in self._parts]


def cpu_layer(
    x: Tensor, plan: Plan, signature: Signature, parameters: Sequence[Any], places: list[int],
    masks: Sequence[Mask | None],
) -> Tensor:  # fmt: skip
    """``[num_sources, d] → [num_targets, d]``, if `layer_fits`, `plan_of` and the signature say so.

    ``places`` are those of the parameters. ``masks`` are of the two dropouts of φ₁, φ₂ and φ₃, without
    ``rows``; none if nothing is dropped.
    """
    told = masks_of(plan, masks) if masks else None
    if torch.is_grad_enabled() or in_forward_mode():
        return apply(_CpuLayer, x, places, plan, signature, told, *parameters)
    return forward(plan, told, x.contiguous(), places, gradient=False)[0]


class _CpuLayer(torch.autograd.Function):
    """x, what the kernel is told, and the parameters → y."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, places: Any, plan: Plan, signature: Any, masks: Any, *given: Tensor
    ) -> Tensor:
        x = x.contiguous()
        y, kept = forward(plan, masks, x, places, gradient=True)
        ctx.save_for_backward(kept, x, *given)
        ctx.told = plan, signature, masks
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors  # once: a checkpoint hands them out a single time
        if torch.is_grad_enabled():
            dx, *grads = apply(_CpuLayerBackward, grad, *ctx.told, *saved)
        else:
            dx, *grads = _gradients(grad, *ctx.told, *saved)
        return dx, None, None, None, None, *grads


class _CpuLayerBackward(torch.autograd.Function):
    """The gradient, for those who want to differentiate it and cannot."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, ...]:
        return tuple(_gradients(*args))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(NO_SECOND.format("cpu_layer"))


def _gradients(
    grad: Tensor, plan: Plan, signature: Signature, masks: Any, kept: Tensor, x: Tensor, *given: Tensor
) -> list[Tensor]:
    places, grads = signature.places(given), x.new_empty(signature.total)
    dx = backward(plan, masks, x, kept, places, grad.contiguous(), grads, signature.offsets)
    return [dx, *signature.cut(grads)]


def cpu_layer_of_runs(x: Tensor, plan: Plan, signature: Signature, parameters: Sequence[Any]) -> Tensor:
    """The same inside `vmap`, without dropout: the kernel is called for one run after the other, and autograd
    sees one operation."""
    return apply(_CpuLayerOfRuns, x, plan, signature, *parameters)[0]


class _CpuLayerOfRuns(torch.autograd.Function):
    """x and the parameters, with a dimension for runs before the others → y, and what is kept."""

    @staticmethod
    def forward(x: Tensor, plan: Plan, signature: Signature, *given: Tensor) -> tuple[Tensor, Tensor]:
        each = [
            forward(plan, None, x[r].contiguous(), signature.places([p[r] for p in given]), gradient=True)
            for r in range(x.shape[0])
        ]
        y, kept = zip(*each, strict=True)
        return torch.stack(y), torch.stack(kept)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        x, plan, signature, *given = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1], x, *given)
        ctx.told = plan, signature

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        kept, x, *given = ctx.saved_tensors
        again = partial(apply, _CpuLayerBackward)
        of_run: Callable[..., Any] = again if torch.is_grad_enabled() else _gradients
        each = [
            of_run(grad[r], *ctx.told, None, kept[r], x[r].contiguous(), *(p[r] for p in given))
            for r in range(x.shape[0])
        ]
        dx, *grads = (torch.stack(parts) for parts in zip(*each, strict=True))
        return dx, None, None, *grads

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[tuple[Tensor, ...], Any]:
        x, plan, signature, *given = args
        dims = in_dims[0], *in_dims[3:]
        x, *given = (leading(t, dim, info.batch_size) for t, dim in zip((x, *given), dims, strict=True))
        return apply(_CpuLayerOfRuns, x, plan, signature, *given), (0, 0)
