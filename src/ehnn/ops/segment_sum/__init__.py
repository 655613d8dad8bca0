r"""Sums over the rows of a pattern: the product of a sparse 0/1 matrix with a dense one.

.. math:: y_r = \sum_{c \,:\, (r, c) \in \text{pairs}} x_c

The gradient is the same operation on the transposed pattern, which `SparsePattern` stores, so nothing of size
pairs × channels is ever made, forward or backward, and every derivative exists.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import OwnSums
from ehnn.hypergraph.weighted import WeightedPattern

from ..dispatch import Implementation, Operation, backend_of, definition, only_for, transformed
from . import cpu, triton, weighted
from .naive import reference_sum, scaled

SMALL = 2**17
"""Elements up to which, on a CPU, a gather is faster than a sum for its lower overhead."""


def segment_sum(
    x: Tensor, pairs: SparsePattern, of_rows: Tensor | None = None, of_cols: Tensor | None = None
) -> Tensor:
    """``[num_cols, …] → [num_rows, …]``: the sum of ``x`` over each row of ``pairs``; 0 for empty rows.

    Constant factors ``of_rows [num_rows]`` and ``of_cols [num_cols]`` scale the rows of the result and of
    ``x``, diag(of_rows) A diag(of_cols) x. They get no gradient.

    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1], [1, 2]])
    >>> segment_sum(torch.tensor([[1.0], [2.0], [4.0]]), h.incidence).flatten().tolist()
    [3.0, 6.0]
    """
    check_pattern(pairs)
    if x.shape[0] != pairs.num_cols:
        raise ValueError(f"x must have {pairs.num_cols} rows, one per column of the pairs, got {x.shape[0]}")
    for name, factors, size in (("of_rows", of_rows, pairs.num_rows), ("of_cols", of_cols, pairs.num_cols)):
        if factors is not None and factors.shape != (size,):
            raise ValueError(f"{name} must have shape [{size}], got {list(factors.shape)}")
    return SEGMENT_SUM(x, pairs, of_rows, of_cols)


def segment_mean(x: Tensor, pairs: SparsePattern) -> Tensor:
    """``[num_cols, …] → [num_rows, …]``: the mean of ``x`` over each row of ``pairs``; 0 for empty rows.

    >>> from ehnn import Hypergraph
    >>> h = Hypergraph.from_edges([[0, 1], [1, 2]])
    >>> segment_mean(torch.tensor([[1.0], [2.0], [4.0]]), h.incidence).flatten().tolist()
    [1.5, 3.0]
    """
    check_pattern(pairs)
    return segment_sum(x, pairs, of_rows=pairs.inverse_lengths)


def aggregate(x: Tensor, pairs: SparsePattern, aggregation: str) -> Tensor:
    """`segment_mean` for the ``aggregation`` ``"mean"``, `segment_sum` for ``"sum"``."""
    return segment_mean(x, pairs) if aggregation == "mean" else segment_sum(x, pairs)


def broadcast_rows(table: Tensor, pairs: SparsePattern) -> Tensor:
    """``[num_cols, …] → [num_rows, …]``: the row of ``table`` that each row of ``pairs`` selects.

    Each row of ``pairs`` has one pair, so this is `segment_sum` with faster ways to compute it.

    >>> from ehnn import Hypergraph
    >>> orders = Hypergraph.from_edges([[0, 1], [1, 2, 3], [4, 5]]).overlap("edges", "nodes").source_orders
    >>> broadcast_rows(orders.values.float().unsqueeze(1), orders.pairs).flatten().tolist()
    [2.0, 3.0, 2.0]
    """
    check_pattern(pairs)
    if pairs.num_cols == 1:
        return table.expand(pairs.num_rows, *table.shape[1:])
    return BROADCAST_ROWS(table, pairs)


def check_pattern(pairs: SparsePattern) -> None:
    """Raise a ValueError if ``pairs`` is something else, such as an `Overlap`."""
    if not isinstance(pairs, SparsePattern):
        raise ValueError(
            "pairs must be a SparsePattern, such as h.incidence or overlap.merged, got "
            f"{type(pairs).__name__}"
        )


def _own(x: Tensor, pairs: OwnSums, of_rows: Tensor | None, of_cols: Tensor | None) -> Tensor:
    return scaled(pairs.reduce_sum(scaled(x, of_cols)), of_rows)


def _not_gathered(table: Tensor, pairs: SparsePattern) -> str | None:
    if backend_of(table) != "cpu" or not table.is_cpu or isinstance(pairs, OwnSums):
        return "only for a plain pattern on a CPU"
    if transformed() or torch.compiler.is_compiling():
        return "only outside of torch.func and torch.compile"
    if table.dim() != 2 or pairs.num_rows * table.shape[1] > SMALL:
        return f"more than {SMALL} elements: a sum over the transposed pattern has the faster gradient"
    return None


SEGMENT_SUM = Operation(
    "segment_sum",
    Implementation("own", only_for(OwnSums, 1), _own),
    Implementation("weighted", only_for(WeightedPattern, 1), weighted.run),
    Implementation("triton", triton.supports, triton.run),
    Implementation("cpu", cpu.supports, cpu.run),
    Implementation("embedding_bag", cpu.supports_bag, cpu.run_bag),
    definition(reference_sum),
)
BROADCAST_ROWS = Operation(
    "broadcast_rows",
    Implementation("gather", _not_gathered, lambda table, pairs: F.embedding(pairs.index, table)),
    definition(segment_sum),
)
