r"""Softmax-weighted sums over the rows of a pattern, for logits that belong to the columns.

.. math::
    y_r = \sum_c \alpha_{rc} x_c, \qquad
    \alpha_{rc} = \frac{\exp s_c}{\sum_{c'} \exp s_{c'}} \quad (c, c' \text{ in row } r)

In the paper's attention (Eq. 11) the query does not depend on the target, so the logit s belongs to the
source alone, separately for each head. Then α factors as exp(s_c) / Z_r, and with
:math:`\bar x_c = \sum_r \alpha_{rc} \bar y_r` the gradients are

.. math:: \bar s_c = x_c \cdot \bar x_c - \sum_r \alpha_{rc} (\bar y_r \cdot y_r)

so forward and backward are each one weighted sum: nothing of size pairs × heads × channels is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import OwnSums
from ehnn.hypergraph.weighted import WeightedPattern

from ..autograd import differentiable
from ..dispatch import (
    Implementation,
    Operation,
    backend_of,
    definition,
    in_forward_mode,
    not_on,
    only_for,
    other_backend,
)
from ..segment_sum import broadcast_rows, check_pattern
from ..segment_sum.linear_map import Csr, csr_of
from ..segment_sum.weighted import copies
from . import cpu, triton
from .heads import fold, unfold
from .naive import reference_softmax_sum


def segment_softmax_sum(x: Tensor, logits: Tensor, pairs: SparsePattern) -> Tensor:
    """``x [num_cols, heads, c], logits [num_cols, heads] → [num_rows, heads, c]`` over ``pairs``.

    >>> import torch
    >>> from ehnn import Hypergraph
    >>> x, logits = torch.tensor([1.0, 2.0, 4.0]).reshape(3, 1, 1), torch.zeros(3, 1)
    >>> h = Hypergraph.from_edges([[0, 1], [1, 2]])
    >>> segment_softmax_sum(x, logits, h.incidence).flatten().tolist()  # equal logits: the mean
    [1.5, 3.0]
    """
    check_pattern(pairs)
    if x.shape[0] != pairs.num_cols or logits.shape != x.shape[:2]:
        raise ValueError(
            f"x must be [{pairs.num_cols}, heads, channels] and logits [{pairs.num_cols}, heads], "
            f"got {list(x.shape)} and {list(logits.shape)}"
        )
    if x.dtype != logits.dtype:
        raise ValueError(f"x and logits must have one dtype, got {x.dtype} and {logits.dtype}")
    return SOFTMAX_SUM(x, logits, pairs)


@dataclass(eq=False)
class Softmax:
    """The kernels of a backend and the pattern, row by row and column by column."""

    forward: Callable[..., tuple[Tensor, Tensor]]
    backward: Callable[..., tuple[Tensor, Tensor]]
    rows: Csr
    columns: Csr


def softmax_over(pairs: SparsePattern, x: Tensor) -> Softmax:
    """The sums over a pattern on the backend of ``x``."""
    module, cut = (triton, True) if backend_of(x) == "triton" else (cpu, False)
    return Softmax(module.forward, module.backward, *csr_of(pairs, cut))


def _forward(of: Softmax, x: Tensor, logits: Tensor) -> tuple[Tensor, ...]:
    """Runs side by side are more heads."""
    runs = x.shape[0]
    y, lse = of.forward(fold(x), fold(logits), of.rows)
    return unfold(y, runs), unfold(lse, runs)


def _backward(of: Softmax, kept: Any, grads: Any) -> tuple[Tensor, ...]:
    runs = kept[0].shape[0]
    x, logits, y, lse = map(fold, kept)
    return tuple(unfold(t, runs) for t in of.backward(fold(grads[0]), x, logits, y, lse, of.columns))


_function = differentiable(
    "segment_softmax_sum", _forward, _backward, keep=lambda of, tensors, outputs: (*tensors, *outputs)
)


def _run(x: Tensor, logits: Tensor, pairs: SparsePattern) -> Tensor:
    return _function(softmax_over(pairs, x), x, logits)[0]


def _run_weighted(x: Tensor, logits: Tensor, pairs: WeightedPattern) -> Tensor:
    """Σ α w x: a weight multiplies the term of its pair, not the logit."""
    return segment_softmax_sum(copies(x, pairs), broadcast_rows(logits, pairs.columns), pairs.per_row)


def _declines(backend: str) -> Callable[[Tensor, Tensor, SparsePattern], str | None]:
    def supports(x: Tensor, logits: Tensor, pairs: SparsePattern) -> str | None:
        elsewhere = not_on(x, "triton") if backend == "triton" else other_backend(x, "cpu")
        if elsewhere:
            return elsewhere
        if len(pairs) == 0 or x.numel() == 0:
            return "there is nothing to add up"
        return "it has no forward-mode derivative" if in_forward_mode() else None

    return supports


SOFTMAX_SUM = Operation(
    "segment_softmax_sum",
    Implementation("own", only_for(OwnSums, 2), lambda x, logits, pairs: pairs.reduce_softmax(x, logits)),
    Implementation("weighted", only_for(WeightedPattern, 2), _run_weighted),
    Implementation("triton", _declines("triton"), _run),
    Implementation("cpu", _declines("cpu"), _run),
    definition(reference_softmax_sum),
)


def partial_softmax_sum(x: Tensor, logits: Tensor, pairs: SparsePattern) -> tuple[Tensor, Tensor]:
    """y and the float64 log-sum-exp of rows, from the columns of one rank; not differentiable."""
    of = softmax_over(pairs, x)
    return of.forward(x.contiguous(), logits.contiguous(), of.rows)


def partial_softmax_sum_backward(
    grad: Tensor, x: Tensor, logits: Tensor, y: Tensor, lse: Tensor, pairs: SparsePattern
) -> tuple[Tensor, Tensor]:
    """Gradients of x and of the logits, from y and the log-sum-exp of the whole rows."""
    of = softmax_over(pairs, x)
    return of.backward(*(t.contiguous() for t in (grad, x, logits, y, lse)), of.columns)
