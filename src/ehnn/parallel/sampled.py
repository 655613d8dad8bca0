"""A `SparsePattern` of which only some pairs were drawn: sums are estimates, rescaled to be unbiased."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import OwnSums, pairs_from_coo
from ehnn.hypergraph.weighted import weighted
from ehnn.ops import segment_sum
from ehnn.ops.softmax_sum.cpu import narrow


@dataclass(frozen=True, eq=False)
class Part:
    """Drawn pairs: ``scale [num_rows]`` and ``weight [num_cols]`` say how many pairs each represents.

    ``factors [pairs]``, in row order, are weights of hyperedges and incidences: they multiply the terms of a
    sum, and not the denominator of a softmax.
    """

    pairs: SparsePattern
    scale: Tensor | None = None
    weight: Tensor | None = None
    factors: Tensor | None = None

    @cached_property
    def terms(self) -> SparsePattern:
        """The pairs with their factors."""
        return weighted(self.pairs, self.factors)

    def sum(self, x: Tensor, factors: bool = True) -> Tensor:
        if self.weight is not None:
            x = x * _column(self.weight, x)
        y = segment_sum(x, self.terms if factors else self.pairs)
        return y if self.scale is None else y * _column(self.scale, y)


class SampledPairs(OwnSums):
    """A pattern of which some pairs were drawn; `ehnn.ops` estimates sums over all of them.

    ``lengths`` are those of the whole pattern. A sum is unbiased, since a drawn pair has the weight of the
    pairs that it represents. A softmax sum is a ratio of two unbiased sums; its bias falls with more pairs.
    """

    parts: tuple[Part, ...]
    true_lengths: Tensor

    def __init__(self, parts: Sequence[Part], lengths: Tensor) -> None:
        first = parts[0].pairs
        drawn = first if len(parts) == 1 else _union([p.pairs for p in parts])
        super().__init__(
            drawn.num_rows, drawn.num_cols, drawn.ptr, drawn.index, drawn.t_ptr, drawn.t_index, drawn.t_perm
        )
        object.__setattr__(self, "parts", tuple(parts))
        object.__setattr__(self, "true_lengths", lengths)

    @property
    def lengths(self) -> Tensor:
        return self.true_lengths

    @property
    def rows(self) -> Tensor:
        return torch.repeat_interleave(self.ptr.diff())

    def reduce_sum(self, x: Tensor, factors: bool = True) -> Tensor:
        """The estimate of `ehnn.ops.segment_sum`; without ``factors`` that of unweighted pairs."""
        total = self.parts[0].sum(x, factors)
        for part in self.parts[1:]:
            total = total + part.sum(x, factors)
        return total

    def softmax_sums(self, x: Tensor, weight: Tensor) -> Tensor:
        """``[num_rows, heads, c + 1]``: Σ w x with factors, and Σ w without, for ``weight`` w of columns."""
        if all(part.factors is None for part in self.parts):
            return self.reduce_sum(torch.cat([weight * x, weight], -1))
        return torch.cat([self.reduce_sum(weight * x), self.reduce_sum(weight, factors=False)], -1)

    def reduce_softmax(self, x: Tensor, logits: Tensor) -> Tensor:
        """The estimate of `ehnn.ops.segment_softmax_sum`: one shift per head, then two sums.

        If the logits of a head differ so much that the smaller ones would underflow, the shift is the largest
        logit of each row.
        """
        if not x.shape[0]:
            return self.reduce_sum(x)
        top = logits.detach().amax(0)
        if narrow(logits.detach(), top):
            both = self.softmax_sums(x, (logits - top).exp().unsqueeze(-1))
        else:
            both = self._softmax_by_pair(x, logits)
        return both[..., :-1] / both[..., -1:].clamp(min=torch.finfo(x.dtype).tiny)

    def _softmax_by_pair(self, x: Tensor, logits: Tensor) -> Tensor:
        """``[num_rows, heads, c + 1]``: both sums with a weight for each drawn pair."""
        at = [(part, torch.repeat_interleave(part.pairs.ptr.diff()), part.pairs.index) for part in self.parts]
        top = logits.new_full((self.num_rows, logits.shape[1]), -torch.inf)
        for _, rows, index in at:
            found = logits.detach()[index]
            top = top.scatter_reduce(0, rows.unsqueeze(1).expand_as(found), found, "amax")
        both = x.new_zeros(self.num_rows, *x.shape[1:-1], x.shape[-1] + 1)
        for part, rows, index in at:
            weight = (logits[index] - top[rows]).exp().unsqueeze(-1)
            for given, place in ((part.scale, rows), (part.weight, index)):
                weight = weight if given is None else weight * _column(given[place], weight)
            terms = x[index] if part.factors is None else x[index] * _column(part.factors, x)
            both = both.index_add(0, rows, torch.cat([weight * terms, weight], -1).to(both.dtype))
        return both


def _column(values: Tensor, like: Tensor) -> Tensor:
    return values.to(like.dtype).reshape(-1, *[1] * (like.dim() - 1))


def _union(parts: list[SparsePattern]) -> SparsePattern:
    row, col = torch.cat([p.rows for p in parts]), torch.cat([p.index for p in parts])
    return pairs_from_coo(row, col, parts[0].num_rows, parts[0].num_cols)[0]
