"""The EHNN layer itself (Eq. 6): a matrix for every (k, l, 𝓘), applied sparsely."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from ehnn.hypergraph.validate import as_count
from ehnn.ops import grouped_matmul, segment_mean, segment_sum, spread
from ehnn.overlap import Overlap

from .layer import AGGREGATIONS, Layer, check_choice, members_to_targets
from .memory import checkpointed
from .order import OrderEncoding
from .weights import HyperWeights, LookupWeights

WEIGHTS = ("lookup", "hypernetwork")
_CHUNK = 2**23
"""Entries of weight matrices that are alive at once (32 MiB in float32)."""


class EHNNLinear(Layer):
    r"""The maximally expressive equivariant linear layer for hypergraphs (Kim et al., ECCV 2022, Eq. 6).

    .. math::
        y_j = \sum_{k} \sum_{\mathcal I \ge 1} \sum_{i : |i \cap j| = \mathcal I}
        x_i\, \mathcal W(k, l, \mathcal I) + \sum_k \sum_i x_i\, \mathcal W(k, l, 0) + \mathcal B(l)

    Here i runs over *hyperedges*. Eq. 6 runs over multi-indices, where a hyperedge of order k occurs
    k! times; that factor is part of our matrices: ``weight(k, l, i)`` = k! · 𝓦(k, l, 𝓘) of the paper.

    Args:
        d_in, d_out: widths.
        weights: ``"lookup"`` holds a free matrix per triplet for the given orders; ``"hypernetwork"``
            makes them from (k, l, 𝓘) by an MLP, for any order.
        source_orders, target_orders: the orders in the lookup table (lookup only).
        hidden: width of the hypernetwork (default ``d_out``).
        aggregation: ``"sum"`` as in Eq. 6, or ``"mean"`` over the sources of a group and of the pool.
        global_interaction: False drops 𝓘 = 0.

    Memory: no matrix per hyperedge, only per distinct triplet, and of those at most 32 MiB at a time
    (made again in the backward pass if there are more).

    Shapes: ``x [num_sources, d_in]`` → ``[num_targets, d_out]``.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        *,
        weights: str = "hypernetwork",
        source_orders: Iterable[int] | None = None,
        target_orders: Iterable[int] | None = None,
        hidden: int | None = None,
        aggregation: str = "sum",
        global_interaction: bool = True,
    ) -> None:
        super().__init__(d_in, d_out)
        check_choice("weights", weights, WEIGHTS)
        self.aggregation = check_choice("aggregation", aggregation, AGGREGATIONS)
        self.global_interaction = global_interaction
        self.weights: LookupWeights | HyperWeights
        if weights == "lookup":
            if source_orders is None or target_orders is None:
                raise ValueError("weights='lookup' needs source_orders and target_orders, the orders to hold")
            self.weights = LookupWeights(d_in, d_out, source_orders, target_orders)
        else:
            self.weights = HyperWeights(
                d_in,
                d_out,
                OrderEncoding("sinusoidal", d_out),
                as_count(d_out if hidden is None else hidden, "hidden", 1),
            )

    def weight(self, k: int, l: int, i: int) -> Tensor:
        """``[d_in, d_out]``: the matrix from sources of order k to targets of order l that share i nodes."""
        self.weights.check([k], [l])
        if not 0 <= i <= min(k, l):
            raise ValueError(f"the overlap of orders {k} and {l} must be from 0 to {min(k, l)}, got {i}")
        return self.weights(torch.tensor([[k, l, i]], device=self._device()))[0]

    def bias(self, l: int) -> Tensor:
        """``[d_out]``: the bias of targets of order l."""
        self.weights.check([], [l])
        return self.weights.bias(torch.tensor([l], device=self._device()))[0]

    def _device(self) -> torch.device:
        return next(self.parameters()).device

    def forward(self, x: Tensor, overlap: Overlap) -> Tensor:
        self.check(x, overlap)
        if isinstance(self.weights, LookupWeights):
            self.weights.check(overlap.distinct_source_orders, overlap.distinct_target_orders)
        y = self._local(x, overlap) + spread(
            self.weights.bias(overlap.target_orders.values), overlap.target_orders.pairs
        )
        return y + self._global(x, overlap) if self.global_interaction else y

    def _local(self, x: Tensor, overlap: Overlap) -> Tensor:
        triplets = overlap.triplets
        reduce = segment_mean if self.aggregation == "mean" else segment_sum
        groups = reduce(x, triplets.local)
        spans = self._spans(triplets.values.shape[0])
        if len(spans) == 1:  # without the Python integers, for which a compiled layer would be made again
            return segment_sum(self._multiply(groups, triplets.values, triplets.ptr), triplets.gather)
        out = []
        for a, b in spans:
            rows = groups[triplets.ends[a] : triplets.ends[b]]
            part = (rows, triplets.values[a:b], triplets.ptr[a : b + 1] - triplets.ptr[a])
            out.append(_recomputed(self._multiply, True, *part))
        return segment_sum(torch.cat(out), triplets.gather)

    def _multiply(self, x: Tensor, triplets: Tensor, ptr: Tensor) -> Tensor:
        return grouped_matmul(x, self.weights(triplets).to(x.dtype), ptr)

    def _global(self, x: Tensor, overlap: Overlap) -> Tensor:
        k, l = overlap.source_orders.values, overlap.target_orders.values
        reduce = segment_mean if self.aggregation == "mean" else segment_sum
        pooled = reduce(x, overlap.triplets.pool).reshape(overlap.num_members, k.shape[0], self.d_in)
        spans = self._spans(l.shape[0], per_item=max(k.shape[0], 1))
        table = torch.cat([_recomputed(self._mix, len(spans) > 1, pooled, k, l[a:b]) for a, b in spans], 1)
        if table.shape[1] == 1:
            return members_to_targets(table[:, 0], overlap)
        place = overlap.target_batch * table.shape[1] + overlap.target_orders.index
        return table.flatten(0, 1).index_select(0, place)

    def _mix(self, pooled: Tensor, k: Tensor, l: Tensor) -> Tensor:
        """``[members, source orders, d_in] → [members, target orders, d_out]``."""
        every = torch.broadcast_tensors(k.unsqueeze(1), l, l.new_zeros(()))
        triplets = torch.stack(every, -1).flatten(0, 1)
        matrices = self.weights(triplets).reshape(k.shape[0], l.shape[0], self.d_in, self.d_out)
        return torch.einsum("bki,klio->blo", pooled, matrices.to(pooled.dtype))

    def _spans(self, items: int, per_item: int = 1) -> list[tuple[int, int]]:
        """Ranges of items whose matrices stay under the memory bound."""
        step = max(_CHUNK // (per_item * self.d_in * self.d_out), 1)
        if items <= step:
            return [(0, items)]
        return [(a, min(a + step, items)) for a in range(0, items, step)]

    def extra_repr(self) -> str:
        told = f"aggregation={self.aggregation!r}, global={self.global_interaction}"
        return f"{self.d_in}, {self.d_out}, {told}"


def _recomputed(fn: Callable[..., Tensor], again: bool, *args: Tensor) -> Tensor:
    """``fn(*args)``; with ``again`` its intermediates are made again in the backward pass, not kept."""
    return checkpointed(fn, *args) if again else fn(*args)
