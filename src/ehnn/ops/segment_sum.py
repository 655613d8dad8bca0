r"""Sums over the rows of a pattern: the product of a sparse 0/1 matrix with a dense one.

.. math:: y_r = \sum_{c \,:\, (r, c) \in \text{pairs}} x_c

The gradient is the same operation on the transposed pattern, which `Pairs` stores, so nothing of size
pairs × channels is ever made, forward or backward, and every derivative exists.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ehnn.hypergraph import Pairs

from .backend import apply, backend_of, opaque, with_tangent
from .cpu_sum import compiled_sum, has_kernel


def segment_sum(
    x: Tensor, pairs: Pairs, of_rows: Tensor | None = None, of_cols: Tensor | None = None
) -> Tensor:
    """``[num_cols, …] → [num_rows, …]``: the sum of ``x`` over the columns of each row; 0 for empty rows.

    Constant factors ``of_rows [num_rows]`` and ``of_cols [num_cols]`` scale the rows of the result and of
    ``x``, diag(of_rows) A diag(of_cols) x, on a GPU without a pass of their own. They get no gradient.

    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1], [1, 2]])
    >>> segment_sum(torch.tensor([[1.0], [2.0], [4.0]]), h.incidence).flatten().tolist()
    [3.0, 6.0]
    """
    if x.shape[0] != pairs.num_cols:
        raise ValueError(f"x must have {pairs.num_cols} rows, one per column of the pairs, got {x.shape[0]}")
    if hasattr(pairs, "reduce_sum"):  # a pattern that knows its own sum: spread over ranks, or sampled
        return scaled(pairs.reduce_sum(scaled(x, of_cols)), of_rows)
    flat = x.flatten(1) if x.dim() > 1 else x.unsqueeze(1)
    if flat.shape[1] == 0 or len(pairs) == 0:
        # An empty slice keeps the gradient connected; 0 · x would spread a NaN of x.
        y = x.new_zeros(pairs.num_rows, flat.shape[1]) + flat[:0].sum()
    else:
        y = apply(_SegmentSum, flat, *structure(pairs, flat), of_rows, of_cols)
    return y.reshape(y.shape[0], *x.shape[1:])


def scaled(x: Tensor, factors: Tensor | None) -> Tensor:
    """``x [rows, …]`` with row i multiplied by ``factors[i]``."""
    return x if factors is None else x * factors.to(x.dtype).reshape(-1, *[1] * (x.dim() - 1))


def structure(pairs: Pairs, x: Tensor) -> tuple[Tensor | None, ...]:
    """(ptr, index, chunks, rows of chunks) of the rows and then of the columns, for the backend of ``x``."""
    split, t_split = (pairs.split, pairs.t_split) if backend_of(x) == "triton" else (None, None)
    rows = (pairs.ptr, pairs.index, *(split or (None, None)))
    return *rows, pairs.t_ptr, pairs.t_index, *(t_split or (None, None))


def segment_mean(x: Tensor, pairs: Pairs) -> Tensor:
    """``[num_cols, …] → [num_rows, …]``: the mean of ``x`` over the columns of each row; 0 for empty rows."""
    return segment_sum(x, pairs, of_rows=pairs.inverse_lengths)


def spread(table: Tensor, pairs: Pairs) -> Tensor:
    """``[num_cols, …] → [num_rows, …]``: the row of ``table`` for each row of a selection."""
    if pairs.num_cols == 1:
        return table.expand(pairs.num_rows, *table.shape[1:])
    if table.dim() == 2 and pairs.num_rows * table.shape[1] <= SMALL and _is_plain_cpu(table, pairs):
        return torch.nn.functional.embedding(pairs.index, table)
    return segment_sum(table, pairs)


SMALL = 2**17
"""Elements up to which, on a CPU, a gather is faster than a sum for its lower overhead."""


def _is_plain_cpu(table: Tensor, pairs: Pairs) -> bool:
    transformed = torch._C._are_functorch_transforms_active() or torch.compiler.is_compiling()
    return backend_of(table) == "cpu" and not transformed and not hasattr(pairs, "reduce_sum")


class _SegmentSum(torch.autograd.Function):
    """Linear in x; what follows x is `structure`."""

    # Dynamo takes the first of a variable number of arguments for a context: all are named.
    @staticmethod
    def forward(
        x: Tensor, ptr: Any, index: Any, chunk_ptr: Any, row_ptr: Any, t0: Any, t1: Any, t2: Any, t3: Any,
        of_rows: Any, of_cols: Any,
    ) -> Tensor:  # fmt: skip
        return run_sum(x.contiguous(), ptr, index, chunk_ptr, row_ptr, of_rows, of_cols)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors  # once: a checkpoint hands them out a single time
        rows, columns, (of_rows, of_cols) = saved[:4], saved[4:8], saved[8:]
        return apply(_SegmentSum, grad, *columns, *rows, of_cols, of_rows), *[None] * 10

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor, *structure: Tensor) -> tuple[Tensor, int]:
        """Runs side by side are more channels of one sum."""
        if any(d is not None for d in in_dims[1:]):
            raise ValueError("vmap over the structure of a hypergraph is not possible; batch instead")
        x = x.movedim(in_dims[0], 1)  # type: ignore[arg-type]
        y = apply(_SegmentSum, x.flatten(1), *structure)
        return y.reshape(y.shape[0], *x.shape[1:]), 1


@with_tangent(_SegmentSum)
class _SegmentSumForward(_SegmentSum):
    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _SegmentSum.setup_context(ctx, inputs, output)
        ctx.save_for_forward(*inputs[1:])

    @staticmethod
    def jvp(ctx: Any, x: Tensor, *_: Any) -> Tensor:
        return apply(_SegmentSum, x, *ctx.saved_tensors)


def run_sum(
    x: Tensor, ptr: Tensor, index: Tensor, chunk_ptr: Tensor | None = None, row_ptr: Tensor | None = None,
    of_rows: Tensor | None = None, of_cols: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """``[cols, d] → [rows, d]`` on the chosen backend; not differentiable."""
    backend = backend_of(x)
    if backend == "triton":
        return _triton_sum(x, ptr, index, chunk_ptr, row_ptr, of_rows, of_cols)
    if backend == "cpu" and not torch.compiler.is_compiling() and has_kernel(x):
        return compiled_sum(x, ptr, index, of_rows, of_cols)
    y = (cpu_sum if backend == "cpu" else reference_sum)(scaled(x, of_cols), ptr, index)
    if of_rows is None:
        return y
    factor = of_rows.to(y.dtype).unsqueeze(1)
    # PyTorch 2.11 compiles a function that changes its own result into one without a gradient.
    return y * factor if torch.compiler.is_compiling() else y.mul_(factor)


@opaque("ehnn::segment_sum")
def _triton_sum(
    x: Tensor, ptr: Tensor, index: Tensor, chunk_ptr: Tensor | None, row_ptr: Tensor | None,
    of_rows: Tensor | None, of_cols: Tensor | None,
) -> Tensor:  # fmt: skip
    from .triton_kernels import segment_sum

    split = None if chunk_ptr is None or row_ptr is None else (chunk_ptr, row_ptr)
    return segment_sum(x, ptr, index, split, of_rows, of_cols)


@_triton_sum.register_fake
def _(x: Tensor, ptr: Tensor, *_: Any) -> Tensor:
    return x.new_empty(ptr.shape[0] - 1, x.shape[1])


def reference_sum(x: Tensor, ptr: Tensor, index: Tensor) -> Tensor:
    """Plain version: gather pairs × channels, then add them up."""
    rows = torch.repeat_interleave(ptr.diff(), output_size=index.shape[0])
    return x.new_zeros(ptr.shape[0] - 1, x.shape[1]).index_add(0, rows, x[index])


def cpu_sum(x: Tensor, ptr: Tensor, index: Tensor, weight: Tensor | None = None) -> Tensor:
    """One pass without the gather, where there is no compiler; about ten times the plain version."""
    return torch.embedding_bag(x, index, ptr, False, 0, False, weight, True)[0]
