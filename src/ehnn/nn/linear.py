"""The EHNN layer itself (Eq. 6): a matrix for every (k, l, 𝓘), applied sparsely."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import torch
from torch import Tensor

from ehnn._utils.validation import as_count
from ehnn.ops import broadcast_rows, grouped_matmul, members_to_targets, segment_mean, segment_sum
from ehnn.ops.memory import checkpointed
from ehnn.overlap import Overlap
from ehnn.overlap.relation import Order

from .layer import AGGREGATIONS, Layer, check_choice
from .order import OrderEncoding
from .role_weights import Matrix, RoleLookupWeights, as_counts, as_matrix
from .weights import HyperWeights, LookupWeights

WEIGHTS = ("lookup", "hypernetwork")
_CHUNK = 2**23
"""Entries of weight matrices in memory at a time (32 MiB in float32)."""


class EHNNLinear(Layer):
    r"""The maximally expressive equivariant linear layer for hypergraphs (Kim et al., ECCV 2022, Eq. 6).

    .. math::
        y_j = \sum_{k} \sum_{\mathcal I \ge 1} \sum_{i : |i \cap j| = \mathcal I}
        x_i\, \mathcal W(k, l, \mathcal I) + \sum_k \sum_i x_i\, \mathcal W(k, l, 0) + \mathcal B(l)

    Here i runs over *hyperedges*. Eq. 6 runs over multi-indices, where a hyperedge of order k occurs
    k! times; that factor is part of our matrices: ``weight(k, l, i)`` = k! · 𝓦(k, l, 𝓘) of the paper.

    Between hyperedges with roles, k and l are the role counts and 𝓘 is the matrix M[r, s] = |i_r ∩ j_s|: one
    weight for each orbit of pairs, which is maximally expressive again (see `ehnn.algebra.role_layer`).

    Args:
        d_in, d_out: widths.
        weights: ``"lookup"`` holds a free matrix per triplet for the given orders; ``"hypernetwork"``
            makes them from (k, l, 𝓘) by an MLP, for any order.
        source_orders, target_orders: the orders in the lookup table (lookup only): integers, or tuples of
            role counts.
        hidden: width of the hypernetwork (default ``d_out``).
        aggregation: ``"sum"`` as in Eq. 6, or ``"mean"`` over the sources of a group and of the pool.
        global_interaction: False drops 𝓘 = 0.

    Memory: there is a matrix for each distinct triplet, not for each hyperedge, and at most 32 MiB of them
    at a time (if there are more, they are recomputed in the backward pass).

    >>> import ehnn
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2], [2, 3]])
    >>> EHNNLinear(4, 8)(torch.ones(4, 4), h.overlap("nodes", "edges")).shape
    torch.Size([2, 8])

    Shapes: ``x [num_sources, d_in]`` → ``[num_targets, d_out]``.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        *,
        weights: str = "hypernetwork",
        source_orders: Iterable[Order] | None = None,
        target_orders: Iterable[Order] | None = None,
        hidden: int | None = None,
        aggregation: str = "sum",
        global_interaction: bool = True,
    ) -> None:
        super().__init__(d_in, d_out)
        check_choice("weights", weights, WEIGHTS)
        self.aggregation = check_choice("aggregation", aggregation, AGGREGATIONS)
        self.global_interaction = global_interaction
        self.weights: LookupWeights | RoleLookupWeights | HyperWeights
        if weights == "lookup":
            if source_orders is None or target_orders is None:
                raise ValueError("weights='lookup' needs source_orders and target_orders, the orders to hold")
            self.weights = _table(d_in, d_out, source_orders, target_orders)
        else:
            self.weights = HyperWeights(
                d_in,
                d_out,
                OrderEncoding("sinusoidal", d_out),
                as_count(d_out if hidden is None else hidden, "hidden", 1),
            )

    def weight(self, k: Order, l: Order, m: Matrix) -> Tensor:
        """``[d_in, d_out]``: the matrix from sources of order k to targets of order l that share m nodes.

        With roles k and l are tuples of role counts, and m is the overlap matrix as nested tuples.

        >>> EHNNLinear(2, 3).weight((2, 1), (1, 1), ((1, 0), (0, 0))).shape
        torch.Size([2, 3])
        """
        self.weights.check([k], [l])
        if isinstance(k, int) and isinstance(l, int) and isinstance(m, int) and not 0 <= m <= min(k, l):
            raise ValueError(f"the overlap of orders {k} and {l} must be from 0 to {min(k, l)}, got {m}")
        k, l = as_counts(k, "k"), as_counts(l, "l")
        asked = torch.tensor([[*k, *l, *as_matrix(m, k, l)]], device=self._device())
        return self.weights(asked, (len(k), len(l)))[0]

    def bias(self, l: Order) -> Tensor:
        """``[d_out]``: the bias of targets of order l, with roles a tuple of role counts."""
        self.weights.check([], [l])
        return self.weights.bias(torch.tensor([l], device=self._device()))[0]

    def _device(self) -> torch.device:
        return next(self.parameters()).device

    def forward(self, x: Tensor, overlap: Overlap) -> Tensor:
        self.check(x, overlap)
        if not isinstance(self.weights, HyperWeights):
            self.weights.check(overlap.distinct_source_orders, overlap.distinct_target_orders)
        y = self._local(x, overlap) + broadcast_rows(
            self.weights.bias(overlap.target_orders.values), overlap.target_orders.pairs
        )
        return y + self._global(x, overlap) if self.global_interaction else y

    def _local(self, x: Tensor, overlap: Overlap) -> Tensor:
        """``[num_targets, d_out]``: the terms of 𝓘 ≥ 1."""
        fine = overlap.weight_groups  # groups refined by source order, sorted by (k, l, 𝓘)
        reduce = segment_mean if self.aggregation == "mean" else segment_sum
        groups = reduce(x, fine.local)
        spans, roles = self._spans(fine.values.shape[0]), overlap.num_roles
        if len(spans) == 1:  # without the Python integers, for which a compiled layer would be made again
            return segment_sum(self._multiply(roles, groups, fine.values, fine.ptr), fine.gather)
        out = []
        for a, b in spans:
            rows = groups[fine.ends[a] : fine.ends[b]]
            part = (rows, fine.values[a:b], fine.ptr[a : b + 1] - fine.ptr[a])
            out.append(checkpointed(partial(self._multiply, roles), *part))
        return segment_sum(torch.cat(out), fine.gather)

    def _multiply(self, roles: tuple[int, int], x: Tensor, triplets: Tensor, ptr: Tensor) -> Tensor:
        """``[rows, d_in] → [rows, d_out]``: rows ``ptr[t]`` to ``ptr[t + 1]`` by the t-th matrix."""
        return grouped_matmul(x, self.weights(triplets, roles).to(x.dtype), ptr)

    def _global(self, x: Tensor, overlap: Overlap) -> Tensor:
        """``[num_targets, d_out]``, or ``[1, d_out]`` where all have the same: the term of 𝓘 = 0."""
        k, l = overlap.source_orders.table, overlap.target_orders.table
        reduce = segment_mean if self.aggregation == "mean" else segment_sum
        pooled = reduce(x, overlap.weight_groups.pool).reshape(overlap.num_members, k.shape[0], self.d_in)
        spans = self._spans(l.shape[0], per_item=max(k.shape[0], 1))
        mix = partial(checkpointed, self._mix) if len(spans) > 1 else self._mix
        table = torch.cat([mix(pooled, k, l[a:b]) for a, b in spans], 1)
        if table.shape[1] == 1:
            return members_to_targets(table[:, 0], overlap)
        place = overlap.target_batch * table.shape[1] + overlap.target_orders.index
        return table.flatten(0, 1).index_select(0, place)

    def _mix(self, pooled: Tensor, k: Tensor, l: Tensor) -> Tensor:
        """``[members, source orders, d_in] → [members, target orders, d_out]``."""
        (K, R), (L, S) = k.shape, l.shape
        parts = k.unsqueeze(1).expand(K, L, R), l.expand(K, L, S), l.new_zeros(()).expand(K, L, R * S)
        triplets = torch.cat(parts, -1).flatten(0, 1)
        matrices = self.weights(triplets, (R, S)).reshape(k.shape[0], l.shape[0], self.d_in, self.d_out)
        return torch.einsum("bki,klio->blo", pooled, matrices.to(pooled.dtype))

    def _spans(self, items: int, per_item: int = 1) -> list[tuple[int, int]]:
        """Ranges of items whose matrices stay under the memory bound."""
        step = max(_CHUNK // (per_item * self.d_in * self.d_out), 1)
        if items <= step:
            return [(0, items)]
        return [(a, min(a + step, items)) for a in range(0, items, step)]

    def extra_repr(self) -> str:
        shown = f"aggregation={self.aggregation!r}, global={self.global_interaction}"
        return f"{super().extra_repr()}, {shown}"


def _table(
    d_in: int, d_out: int, source_orders: Iterable[Order], target_orders: Iterable[Order]
) -> LookupWeights | RoleLookupWeights:
    orders = [o if isinstance(o, Tensor) else list(o) for o in (source_orders, target_orders)]
    with_roles = any(isinstance(order, tuple) for given in orders for order in given)
    return (RoleLookupWeights if with_roles else LookupWeights)(d_in, d_out, *orders)
