"""Permutation-invariant readouts: one row per hypergraph."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn.ops import pool, segment_softmax_sum
from ehnn.overlap import Overlap

from .layer import AGGREGATIONS, Layer, check_choice, check_heads
from .products import check_dtype

READOUTS = (*AGGREGATIONS, "attention")


class Readout(Layer):
    r"""Pool features into one row for each hypergraph of a batch.

    The ``kind`` ``"sum"`` or ``"mean"`` pools the sources; ``"attention"`` takes a mean that is weighted by
    the softmax of a learned logit, for each of ``heads``. A linear map follows. Any EHNN layer with target
    family ``"graph"`` is a readout too, one that also sees orders (the invariant layer, l = 0).

    >>> import ehnn, torch
    >>> pair = ehnn.batch([ehnn.Hypergraph.from_edges([[0, 1]], x=torch.ones(2, 4)) for _ in range(2)])
    >>> Readout(4, 3)(pair.x, pair.overlap("nodes", "graph")).shape
    torch.Size([2, 3])

    Shapes: ``x [num_sources, d_in]`` → ``[num_members, d_out]``. The overlap may have any target family.
    """

    def __init__(self, d_in: int, d_out: int, *, kind: str = "sum", heads: int = 1) -> None:
        super().__init__(d_in, d_out)
        self.kind, self.heads = check_choice("kind", kind, READOUTS), check_heads(heads, d_in, "d_in")
        self.logit = nn.Linear(d_in, heads) if kind == "attention" else None
        self.out = nn.Linear(d_in, d_out)

    def forward(self, x: Tensor, overlap: Overlap) -> Tensor:
        self.check(x, overlap)
        check_dtype(x, next(self.parameters()))
        return self.out(self._attend(x, overlap) if self.logit else pool(x, overlap, self.kind))

    def extra_repr(self) -> str:
        heads = f", heads={self.heads}" if self.kind == "attention" else ""
        return f"{super().extra_repr()}, kind={self.kind!r}{heads}"

    def _attend(self, x: Tensor, overlap: Overlap) -> Tensor:
        assert self.logit is not None
        logits = self.logit(x)
        value = x.unflatten(1, (self.heads, self.d_in // self.heads))
        if overlap.source_to_graph is None:
            return torch.einsum("sh,shc->hc", logits.softmax(0).to(x.dtype), value).reshape(1, -1)
        return segment_softmax_sum(value, logits.to(x.dtype), overlap.source_to_graph).flatten(1)
