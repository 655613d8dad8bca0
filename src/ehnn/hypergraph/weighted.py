"""A pattern whose pairs have weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ehnn._utils.cached import cached_tensors

from .pairs import SparsePattern, with_short


@dataclass(frozen=True, eq=False, repr=False)
class WeightedPattern(SparsePattern):
    """A `SparsePattern` of a matrix with other entries than 1: sums over it weigh each pair.

    Attributes:
        weights: ``[pairs]`` in row order.
    """

    weights: Tensor

    @cached_tensors
    def columns(self) -> SparsePattern:
        """``SparsePattern`` of pairs × columns: the column of each pair."""
        ends = torch.arange(len(self) + 1, device=self.ptr.device)
        made = SparsePattern.unchecked(
            len(self), self.num_cols, ends, self.index, self.t_ptr, self.t_perm, self.t_perm
        )
        return with_short(made, rows=True)

    @cached_tensors
    def per_row(self) -> SparsePattern:
        """``SparsePattern`` of rows × pairs: the pairs of each row."""
        ends = torch.arange(len(self) + 1, device=self.ptr.device)
        made = SparsePattern.unchecked(
            self.num_rows, len(self), self.ptr, ends[:-1], ends, self.rows, ends[:-1]
        )
        return with_short(made, columns=True)

    def transpose(self) -> WeightedPattern:
        plain = super().transpose()
        return weighted(plain, self.weights[self.t_perm])  # type: ignore[return-value]

    def _map(self, fn: Callable[[Tensor], Tensor]) -> WeightedPattern:
        return weighted(super()._map(fn), fn(self.weights))  # type: ignore[return-value]


def weighted(pairs: SparsePattern, weights: Tensor | None) -> SparsePattern:
    """``pairs`` with ``weights`` (``[pairs]``, row order); the same pairs if there are none."""
    if weights is None:
        return pairs
    parts = pairs.ptr, pairs.index, pairs.t_ptr, pairs.t_index, pairs.t_perm
    made = object.__new__(WeightedPattern)
    names = ("num_rows", "num_cols", "ptr", "index", "t_ptr", "t_index", "t_perm", "weights")
    made.__dict__.update(zip(names, (pairs.num_rows, pairs.num_cols, *parts, weights), strict=True))
    return made


def weights_of(pairs: SparsePattern | None) -> Tensor | None:
    """``[pairs]`` the weights of a pattern; None if it has none."""
    return pairs.weights if isinstance(pairs, WeightedPattern) else None


def product(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """``a · b`` where None is 1."""
    if a is None or b is None:
        return b if a is None else a
    return a * b


def unless_ones(weights: Tensor | None) -> Tensor | None:
    """``weights``, or None if all are 1, so that sums are the same bits as without weights."""
    if weights is None or bool((weights == 1).all()):
        return None
    if weights.requires_grad:
        raise ValueError("weights get no gradient in an overlap, which is made once: detach them")
    return weights


def check_finite(name: str, weights: Tensor | None, place: Callable[[int], str]) -> None:
    """Raise a ValueError for a weight that is NaN or infinite; ``place`` says what the row of it is.

    Weights on a GPU and those that a model has computed are not read: it would wait for the device in each
    step, and cannot be recorded.
    """
    if weights is None or not weights.is_cpu or weights.requires_grad or torch.compiler.is_compiling():
        return
    if bool((finite := weights.isfinite()).all()):
        return
    row = int((~finite).nonzero()[0])
    raise ValueError(f"{name} must be finite, got {weights[row].item()} for {place(row)}")


def refuse_weights(weights: Tensor | None, name: str, what: str) -> None:
    """Raise a ValueError if there are weights called ``name``, which ``what`` would ignore."""
    if unless_ones(weights) is not None:
        raise ValueError(f"{what} does not use {name}; use h.replace({name}=None) to ignore them")
