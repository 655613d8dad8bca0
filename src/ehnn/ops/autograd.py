"""One way to make a kernel differentiable: gradient, rule for ``vmap``, error for a second derivative.

A kernel takes one object that holds everything that is constant, then tensors. `differentiable` turns a
kernel and the kernel of its gradient into a function for autograd, `torch.func` and `torch.compile`. `opaque`
hides the code of a kernel from `torch.compile`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import torch
from torch import Tensor, library

from ._native.threads import in_threads
from .dispatch import in_forward_mode, transformed

__all__ = ["differentiable"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
Tensors = Sequence[Any]
"""Tensors, or None in their places."""
Kernel = Callable[..., tuple[Tensor, ...]]

NO_SECOND = "{} has no second derivative; use use_backend('reference')"
"""The error of a kernel that is differentiated twice."""


def differentiable(
    name: str,
    forward: Kernel,
    backward: Callable[..., Tensors],
    *,
    keep: Callable[[Any, Tensors, Tensors], Tensors],
    outputs: int = 1,
    runs: str = "batched",
    twice: bool = False,
    jvp: Callable[..., tuple[Tensor, ...]] | None = None,
    threads: Callable[[Tensors], int] | None = None,
) -> Callable[..., tuple[Tensor, ...]]:
    """Make ``(static, *tensors, depth=0) -> outputs`` of a kernel and the kernel of its gradient.

    Args:
        name: in errors.
        forward: ``(static, *tensors) -> outputs``. Those behind the first ``outputs`` get no gradient.
        backward: ``(static, kept, grads) -> gradients``, one for each tensor or None. With ``twice`` it is
            made of differentiable functions, and also takes ``depth`` and which gradients are needed.
        keep: ``(static, tensors, outputs) ->`` what ``backward`` needs.
        runs: how kernels take the runs of a `torch.vmap`. ``"batched"``: every tensor has a first dimension
            for them, always; ``"looped"``: the kernel is called for each run, on as many threads as
            ``threads`` says for the tensors of one run.
        twice: whether the gradient can be differentiated; otherwise that is an error.
        jvp: ``(static, tensors, tangents, depth) -> tangents``, for forward mode.

    ``depth`` counts the dimensions for runs before the others.

    >>> cube = differentiable(
    ...     "cube",
    ...     lambda scale, x: (scale * x**3,),
    ...     lambda scale, kept, grads: (3 * scale * kept[0] ** 2 * grads[0],),
    ...     keep=lambda scale, tensors, outputs: tensors,
    ... )
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> torch.autograd.grad(cube(5.0, x)[0].sum(), x)
    (tensor([60.]),)
    """

    def run(kernel: Kernel, static: Any, depth: int, tensors: Tensors) -> tuple[Tensor, ...]:
        if runs == "looped":
            return _each_run(kernel, static, depth, tensors, threads)
        return _all_runs(kernel, static, depth, tensors)

    class Base(torch.autograd.Function):
        """The operation. It is called as `Forward`, or as `Tangent` in forward mode."""

        @staticmethod
        def forward(static: Any, depth: int, *tensors: Any) -> tuple[Tensor, ...]:
            return run(forward, static, depth, tensors)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
            ctx.static, ctx.depth = inputs[0], inputs[1]
            ctx.mark_non_differentiable(*output[outputs:])
            ctx.save_for_backward(*keep(inputs[0], inputs[2:], output))
            if len(output) > 1:  # no zeros for what is kept alone
                ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
            if all(grad is None for grad in grads[:outputs]):
                return (None,) * len(ctx.needs_input_grad)
            kept = ctx.saved_tensors  # once: a checkpoint hands them out a single time
            if twice:
                needs = ctx.needs_input_grad[2:]
                found = backward(ctx.static, kept, grads[:outputs], ctx.depth, needs)
            elif transformed() or (torch.is_grad_enabled() and not torch.compiler.is_compiling()):
                found = apply(Backward, ctx.static, ctx.depth, len(kept), *kept, *grads[:outputs])
            else:
                found = gradients(ctx.static, ctx.depth, len(kept), (*kept, *grads[:outputs]))
            return None, None, *found

        @staticmethod
        def vmap(info: Any, in_dims: tuple[Any, ...], static: Any, depth: int, *tensors: Any) -> Any:
            made = function(static, *_leading(tensors, in_dims[2:], info.batch_size), depth=depth + 1)
            return made, (0,) * len(made)

    Forward: Any = type(name, (Base,), {})  # the name is that of the ``grad_fn``

    def gradients(static: Any, depth: int, count: int, tensors: Tensors) -> tuple[Any, ...]:
        def kernel(static: Any, *tensors: Any) -> tuple[Tensor, ...]:
            return tuple(backward(static, tensors[:count], tensors[count:]))

        return run(kernel, static, depth, tensors)

    class Backward(torch.autograd.Function):
        """The gradient as an operation of its own, which has a rule for ``vmap`` and no derivative."""

        @staticmethod
        def forward(static: Any, depth: int, count: int, *tensors: Any) -> tuple[Any, ...]:
            return gradients(static, depth, count, tensors)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            raise RuntimeError(NO_SECOND.format(name))

        @staticmethod
        def vmap(info: Any, in_dims: Any, static: Any, depth: int, count: int, *tensors: Any) -> Any:
            moved = _leading(tensors, in_dims[3:], info.batch_size)
            made = apply(Backward, static, depth + 1, count, *moved)
            return made, tuple(None if t is None else 0 for t in made)

    class Tangent(Base):
        """`torch.compile` traces no function that has a jvp: this one is for forward mode alone."""

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
            Base.setup_context(ctx, inputs, output)
            ctx.tensors = len(inputs) - 2
            ctx.save_for_forward(*inputs[2:])

        @staticmethod
        def jvp(ctx: Any, _: Any, __: Any, *tangents: Any) -> tuple[Tensor, ...]:
            assert jvp is not None
            return jvp(ctx.static, ctx.saved_tensors[: ctx.tensors], tangents, ctx.depth)

    # Dynamo counts the arguments by the signature; it takes the first of too many for a context.
    Base.forward.__signature__ = _with_depth(forward)  # type: ignore[attr-defined]

    def function(static: Any, *tensors: Any, depth: int = 0) -> tuple[Tensor, ...]:
        if jvp is not None and in_forward_mode():
            return apply(Tangent, static, depth, *tensors)
        return apply(Forward, static, depth, *tensors)

    return function


def _with_depth(kernel: Kernel) -> inspect.Signature:
    """The signature of ``kernel`` with a depth behind its first argument."""
    static, *tensors = inspect.signature(kernel).parameters.values()
    depth = inspect.Parameter("depth", static.kind)
    return inspect.Signature([static, depth, *tensors])


def apply(function: type[torch.autograd.Function], *args: Any) -> Any:
    """``function.apply(*args)`` without its search for default arguments, as costly as a small sum."""
    if torch.compiler.is_compiling() or transformed():
        return function.apply(*args)
    return super(torch.autograd.Function, function).apply(*args)  # type: ignore[misc]


def _leading(tensors: Tensors, dims: Sequence[int | None], runs: int) -> list[Any]:
    """The tensors with their dimension for runs before the others."""

    def one(t: Any, dim: int | None) -> Any:
        if t is None:
            return None
        return t.expand(runs, *t.shape) if dim is None else t.movedim(dim, 0)

    return [one(t, dim) for t, dim in zip(tensors, dims, strict=True)]


def _all_runs(kernel: Kernel, static: Any, depth: int, tensors: Tensors) -> tuple[Tensor, ...]:
    """``kernel`` of tensors with exactly one dimension for runs."""
    if depth == 0:
        made = kernel(static, *(None if t is None else t.unsqueeze(0) for t in tensors))
        # A view that a function makes inside may not be overwritten by its caller; this is none.
        return tuple(None if t is None else torch.ops.aten._unsafe_view(t, t.shape[1:]) for t in made)
    if depth == 1:
        return kernel(static, *tensors)
    lead = next(t.shape[:depth] for t in tensors if t is not None)
    made = kernel(static, *(None if t is None else t.flatten(0, depth - 1) for t in tensors))
    return tuple(None if t is None else t.unflatten(0, lead) for t in made)


def _each_run(
    kernel: Kernel, static: Any, depth: int, tensors: Tensors, threads: Callable[[Tensors], int] | None
) -> tuple[Tensor, ...]:
    """``kernel`` of each run, of contiguous tensors where there are several runs, stacked."""
    if depth == 0:
        return kernel(static, *tensors)
    first = next(t for t in tensors if t is not None)

    @torch.no_grad()  # which a thread does not inherit
    def one(r: int) -> tuple[Any, ...]:
        own = [None if t is None else t[r].contiguous() for t in tensors]
        return _each_run(kernel, static, depth - 1, own, threads)

    own = [None if t is None else t[0] for t in tensors]
    count = min(threads(own), len(first)) if threads is not None and depth == 1 else 1
    each = in_threads(count, one, range(len(first)))
    return tuple(None if p[0] is None else torch.stack(p) for p in zip(*each, strict=True))  # type: ignore[misc]


class Opaque(Generic[_P, _R]):
    """A function that `torch.compile` calls without tracing it; see `opaque`."""

    def __init__(self, name: str, function: Callable[_P, _R], fake: Callable[..., _R]) -> None:
        self._function, self.op = function, library.custom_op(name, function, mutates_args=())
        self.op.register_fake(fake)

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack():
            return self.op(*args, **kwargs)
        return self._function(*args, **kwargs)


def opaque(name: str, fake: Callable[..., Any]) -> Callable[[Callable[_P, _R]], Opaque[_P, _R]]:
    """Make a function an operator of PyTorch, for `torch.compile` and modes that watch operators.

    ``fake`` takes the same arguments and returns empty tensors of the shapes that come out. In all other
    calls the function itself is called: the way through PyTorch's dispatcher and its checks of aliases takes
    10 µs a call on a CPU, a plain call 1 µs (``paper/benchmarks/operators.py``). For use inside kernels
    alone, where nothing is differentiated.
    """
    return lambda function: Opaque(name, function, fake)
