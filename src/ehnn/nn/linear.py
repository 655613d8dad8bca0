"""The EHNN layer itself (Eq. 6): a matrix for every (k, l, 𝓘), applied sparsely."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import Tensor

from ehnn._utils.validation import as_count
from ehnn.ops import (
    aggregate,
    broadcast_rows,
    generated_matmul,
    generated_mix,
    members_to_targets,
    segment_sum,
)
from ehnn.overlap import Overlap
from ehnn.overlap.relation import Order

from .layer import AGGREGATIONS, Layer, check_choice
from .order import OrderEncoding
from .role_weights import Matrix, RoleLookupWeights, as_counts, as_matrix
from .weights import HyperWeights, LookupWeights

WEIGHTS = ("lookup", "hypernetwork")


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
        rows, matrices = aggregate(x, fine.source_to_group, self.aggregation), self._matrices(overlap)
        y = generated_matmul(rows, matrices, fine.values, fine.ptr, fine.ends, self.d_out)
        return segment_sum(y, fine.group_to_target)

    def _global(self, x: Tensor, overlap: Overlap) -> Tensor:
        """``[num_targets, d_out]``, or ``[1, d_out]`` where all have the same: the term of 𝓘 = 0."""
        k, l = overlap.source_orders.table, overlap.target_orders.table
        pooled = aggregate(x, overlap.weight_groups.source_to_graph, self.aggregation)
        pooled = pooled.reshape(overlap.num_members, k.shape[0], self.d_in)
        table = generated_mix(pooled, self._matrices(overlap), _without_overlap(k, l), self.d_out)
        if table.shape[1] == 1:
            return members_to_targets(table[:, 0], overlap)
        place = overlap.target_batch * table.shape[1] + overlap.target_orders.index
        return table.flatten(0, 1).index_select(0, place)

    def _matrices(self, overlap: Overlap) -> Callable[[Tensor], Tensor]:
        """(k, l, 𝓘) ``[n, c] → [n, d_in, d_out]``."""
        return partial(self.weights, num_roles=overlap.num_roles)

    def extra_repr(self) -> str:
        shown = f"aggregation={self.aggregation!r}, global={self.global_interaction}"
        return f"{super().extra_repr()}, {shown}"


def _without_overlap(k: Tensor, l: Tensor) -> Tensor:
    """``[K, R], [L, S] → [K, L, R + S + R · S]``: (k, l, 0) of all orders, 0 in the place of 𝓘."""
    (K, R), (L, S) = k.shape, l.shape
    parts = k.unsqueeze(1).expand(K, L, R), l.expand(K, L, S), l.new_zeros(()).expand(K, L, R * S)
    return torch.cat(parts, -1)


def _table(
    d_in: int, d_out: int, source_orders: Iterable[Order], target_orders: Iterable[Order]
) -> LookupWeights | RoleLookupWeights:
    orders = [o if isinstance(o, Tensor) else list(o) for o in (source_orders, target_orders)]
    with_roles = any(isinstance(order, tuple) for given in orders for order in given)
    return (RoleLookupWeights if with_roles else LookupWeights)(d_in, d_out, *orders)
