"""Calls of the kernel in ``layer.c``."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from ctypes import c_int64, c_void_p
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern
from ehnn.hypergraph.pairs import selection
from ehnn.overlap import Orders, Overlap

from .._native.compiled import library
from ..phi.calls import CMask


class Kind(NamedTuple):
    """The settings on which a `KernelRelation` depends.

    Attributes:
        d: width.
        dtype: of features and parameters.
        encoding: names the codes of orders.
        mean: means, not sums.
        scale: a factor on them.
        pooled: whether there is the term 𝓘 = 0.
        hidden: whether hidden layers are kept for the gradient; else they are recomputed.
    """

    d: int
    dtype: torch.dtype
    encoding: Any
    mean: bool
    scale: float
    pooled: bool
    hidden: bool


class _Pattern(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("ptr", "index", "t_ptr", "t_index", "factors")]


class _Orders(ctypes.Structure):
    _fields_ = [("count", c_int64), ("index", c_void_p), ("codes", c_void_p)]


class _Relation(ctypes.Structure):
    _fields_ = [
        *((name, c_int64) for name in ("d", "code", "sources", "groups", "members", "targets", "hidden")),
        *((name, _Pattern) for name in ("local", "gather", "pool", "spread")),
        *((name, _Orders) for name in ("source_orders", "sizes", "target_orders")),
    ]


class KernelRelation:
    """A relation as the kernel reads it: pointers and sizes, collected once.

    Attributes:
        rows: those of φ₁, φ₂ and φ₃.
    """

    def __init__(self, overlap: Overlap, kind: Kind, codes: Sequence[Tensor] | None) -> None:
        self._alive: list[Tensor] = []
        members = overlap.num_members if kind.pooled else 0
        orders = (
            overlap.source_orders,
            overlap.sizes_and_pool if members else overlap.sizes,
            overlap.target_orders,
        )
        self.rows = tuple(map(len, orders))
        spread = overlap.graph_to_target
        if spread is None:
            spread = selection(torch.zeros_like(overlap.target_batch), 1)
        self.struct = _Relation(
            kind.d, 0 if codes is None else codes[0].shape[1], overlap.num_sources, overlap.num_groups,
            members, overlap.num_targets, kind.hidden,
            self._pattern(overlap.source_to_group, self._factors(overlap.source_to_group, kind)),
            _Pattern() if overlap.group_to_target is None else self._pattern(overlap.group_to_target, None),
            self._pattern(overlap.everything, self._factors(overlap.everything, kind)),
            self._pattern(spread, None),
            *(self._orders(o, None if codes is None else codes[i]) for i, o in enumerate(orders)),
        )  # fmt: skip
        self.place = ctypes.addressof(self.struct)
        made = library("layer", kind.dtype)
        assert made is not None
        made.kept_size.restype = made.scratch_size.restype = c_int64
        made.forward_layer.restype = made.backward_layer.restype = None
        self.forward, self.backward = made.forward_layer, made.backward_layer
        sizes = made.kept_size, made.scratch_size
        self.kept, self.scratch = (size(ctypes.byref(self.struct)) for size in sizes)

    def masks(self, seeds: Sequence[Tensor | None], p: Sequence[float]) -> Any:
        """The two masks of φ₁, φ₂ and φ₃ as the kernel takes them."""
        whole = [rows for rows in self.rows for _ in range(2)]
        return (CMask * 6)(*(
            CMask() if seed is None else CMask(None, 1, int(seed), rows, q)
            for seed, rows, q in zip(seeds, whole, p, strict=True)
        ))  # fmt: skip

    def _pattern(self, pairs: SparsePattern, factors: Tensor | None) -> _Pattern:
        parts = (pairs.ptr, pairs.index, pairs.t_ptr, pairs.t_index, factors)
        return _Pattern(*map(self._at, parts))

    def _factors(self, pairs: SparsePattern, kind: Kind) -> Tensor | None:
        if kind.mean:
            return (kind.scale * pairs.inverse_lengths).to(kind.dtype)
        return None if kind.scale == 1 else torch.full((pairs.num_rows,), kind.scale, dtype=kind.dtype)

    def _orders(self, orders: Orders, codes: Tensor | None) -> _Orders:
        count = 1 if codes is None else codes.shape[0]
        return _Orders(count, self._at(orders.index if count > 1 else None), self._at(codes))

    def _at(self, t: Tensor | None) -> int | None:
        if t is None:
            return None
        self._alive.append(t.contiguous())
        return self._alive[-1].data_ptr()


class _Scratch(threading.local):
    """Memory for what does not outlive a call, of each thread."""

    def __init__(self) -> None:
        self.memory = torch.empty(0, dtype=torch.uint8, device="cpu")

    def at(self, size: int) -> int:
        if self.memory.numel() < size:
            self.memory = torch.empty(size, dtype=torch.uint8, device="cpu")
        return self.memory.data_ptr()


_scratch = _Scratch()
Places = list[int]
"""Addresses of the eight parameters of φ₁, φ₂ and φ₃ and of the four of the bias; 0 for missing ones."""


def forward(
    relation: KernelRelation, masks: Any, x: Tensor, places: Places, gradient: bool
) -> tuple[Tensor, Tensor]:
    """y, and for a ``gradient`` what is kept."""
    size = x.element_size()
    y = x.new_empty(relation.rows[2], x.shape[1])
    if gradient:
        kept = x.new_empty(relation.kept)
        scratch, at = _scratch.at(size * relation.scratch), kept.data_ptr()
    else:
        kept = y
        scratch = _scratch.at(size * (relation.scratch + relation.kept))
        at = scratch + size * relation.scratch
    _call(relation.forward, relation, masks, places, x.data_ptr(), at, scratch, y.data_ptr(), 0, 0, 0, 0)
    return y, kept


def backward(
    relation: KernelRelation,
    masks: Any,
    x: Tensor,
    kept: Tensor,
    places: Places,
    grad: Tensor,
    grads: Tensor,
    offsets: Sequence[int],
) -> Tensor:
    """dx; the gradients of the parameters are written into ``grads``, each from its offset on."""
    dx, scratch = torch.empty_like(x), _scratch.at(x.element_size() * relation.scratch)
    at = (c_int64 * len(offsets))(*offsets)
    _call(
        relation.backward, relation, masks, places, x.data_ptr(), kept.data_ptr(), scratch, 0,
        grad.data_ptr(), dx.data_ptr(), grads.data_ptr(), ctypes.addressof(at),
    )  # fmt: skip
    return dx


def _call(function: Any, relation: KernelRelation, masks: Any, places: Places, *made: int) -> None:
    numbers = (relation.place, 0 if masks is None else ctypes.addressof(masks), *places, *made)
    function((c_int64 * len(numbers))(*numbers))
