"""An EHNN-MLP layer of few rows on a CPU as one kernel in C (``layer.c``), with a hand-written gradient.

Each φ is that of ``phi.c``, and each sum that of ``sums.c``. With few rows, calls take longer than
arithmetic: here autograd sees one operation instead of about ten, and the kernel gets a relation once, as a
`KernelRelation` that lives as long as the relation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ehnn._utils.cached import plain_tensors
from ehnn.hypergraph.weighted import WeightedPattern
from ehnn.overlap import Overlap

from .._native.compiled import missing
from ..autograd import differentiable
from ..dispatch import not_on, transformed
from ..memory import bound
from ..phi.calls import ROWS_PER_THREAD
from ..phi.cpu import FEW, unfit
from ..phi.fusable import Fusable
from .calls import KernelRelation, Kind, backward, forward
from .naive import EhnnMlpParts

_relations: WeakKeyDictionary[Overlap, dict[Kind, KernelRelation]] = WeakKeyDictionary()


def supports(x: Tensor, overlap: Overlap, parts: EhnnMlpParts) -> str | None:
    """Why the C kernel does not take these, or None."""
    elsewhere = not_on(x, "cpu")
    if elsewhere:
        return elsewhere
    for name, module in zip(("phi1", "phi2", "phi3", "bias"), parts.modules, strict=False):
        if not isinstance(module, Fusable):
            return f"{name} is a {type(module).__name__}, which has to be called"
        reason = module.reason_to_call()
        if reason:
            return f"{name} has to be called: {reason}"
    reason = unfit(x, parts.phi3.d_out) or missing("layer", x.dtype) or _unfit_relation(overlap, x.shape[1])
    if reason:
        return reason
    if any(mask is not None and mask.rows is not None for mask in parts.masks):
        return "the dropout masks are those of some rows of a whole"
    return _unfit_weights(x, parts)


def _unfit_relation(overlap: Overlap, d: int) -> str | None:
    """None unless the relation is sharded, sampled, empty or large."""
    if type(overlap) is not Overlap or not overlap.target_batch.is_cpu:
        return "the relation is sharded, sampled or not on a CPU"
    if any(isinstance(p, WeightedPattern) for p in (overlap.source_to_group, overlap.source_to_graph)):
        return "incidences or hyperedges have weights"
    rows = overlap.num_sources, overlap.num_groups, overlap.num_targets
    most = min(FEW // d, 2 * ROWS_PER_THREAD)
    if max(rows) + overlap.num_members > most:
        return f"the relation has more than {most} rows, where separate calls of φ are as fast and threaded"
    return None if min(rows) else "there are no sources, no pairs or no targets"


def _unfit_weights(x: Tensor, parts: EhnnMlpParts) -> str | None:
    """The kernel does not check what it reads: dtypes and shapes must be those that it expects."""
    given, layout, dtype = parts.tensors, _layout_of(x, parts), x.dtype
    if len(given) == len(layout.shapes):
        for p, shape in zip(given, layout.shapes, strict=True):
            if p.shape != shape or p.dtype is not dtype or not p.is_cpu:
                break
        else:
            return None
    return f"the parameters are not of the shapes that the layer has, of {dtype} or on a CPU"


def run(x: Tensor, overlap: Overlap, parts: EhnnMlpParts) -> Tensor:
    """`ehnn_mlp`."""
    given, masks = [p.contiguous() for p in parts.tensors], parts.masks
    relation = relation_of(overlap, x, parts)
    seeds = [None if m is None else m.seed for m in masks] if any(masks) else []
    call = Call(relation, _layout_of(x, parts), [0.0 if m is None else m.p for m in masks], len(seeds))
    if torch.is_grad_enabled() or transformed():
        return _function(call, x, *seeds, *given)[0]
    return forward(relation, call.masks(seeds), x.contiguous(), call.layout.places(given), gradient=False)[0]


def relation_of(overlap: Overlap, x: Tensor, parts: EhnnMlpParts) -> KernelRelation:
    """The relation as the kernel reads it, made once."""
    encoding = parts.phi1.encoding
    rows = overlap.num_sources, overlap.num_groups + overlap.num_members, overlap.num_targets
    again = any(bound(r) is not None for r in rows)
    kind = Kind(
        x.shape[1], x.dtype, (encoding.kind, encoding.dim), parts.aggregation == "mean", parts.scale,
        parts.pooled, not again,
    )  # fmt: skip
    relations = _relations.get(overlap)
    if relations is None:
        relations = _relations[overlap] = {}
    if kind not in relations:
        with plain_tensors():
            sizes = overlap.sizes_and_pool if kind.pooled else overlap.sizes
            seen = overlap.source_orders, sizes, overlap.target_orders
            codes = [encoding.of(o, x.dtype) for o in seen] if encoding.dim else None
            relations[kind] = KernelRelation(overlap, kind, codes)
    return relations[kind]


class Layout:
    """The shapes of the parameters, and the offset of each gradient in one flat tensor."""

    def __init__(self, d: int, code: int, norm: bool, bias: bool) -> None:
        phi = [*[(d,)] * (2 * norm), (d, d + code), (d,), (d, d), (d,), (d, d), (d,)]
        self.shapes = [*3 * phi, *([(d, code), (d,), (d, d), (d,)] if bias else [])]
        self.norm, self.bias = norm, bias
        starts = list(accumulate(map(math.prod, self.shapes), initial=0))
        self.total = starts[-1]
        strides = [(s[1], 1) if len(s) == 2 else (1,) for s in self.shapes]
        self.parts = list(zip(self.shapes, strides, starts, strict=False))
        self.offsets = self.whole(starts[:-1])

    def places(self, given: Sequence[Tensor]) -> list[int]:
        """The address of each parameter; 0 for those that the layer does not have."""
        return self.whole([p.data_ptr() for p in given])

    def whole(self, at: list[int]) -> list[int]:
        """A number for each parameter that a layer may have."""
        if not self.norm:
            at = [0, 0, *at[:6], 0, 0, *at[6:12], 0, 0, *at[12:]]
        return at if self.bias else [*at, 0, 0, 0, 0]

    def cut(self, gradients: Tensor) -> list[Tensor]:
        """The gradient of each from ``[total]``."""
        return [gradients.as_strided(*part) for part in self.parts]


_layout = lru_cache(maxsize=64)(Layout)


def _layout_of(x: Tensor, parts: EhnnMlpParts) -> Layout:
    return _layout(x.shape[1], parts.phi1.encoding.dim, parts.phi1.gamma is not None, parts.bias is not None)


@dataclass(eq=False)
class Call:
    """The constants of a call."""

    relation: KernelRelation
    layout: Layout
    p: list[float]
    seeds: int

    def masks(self, seeds: Sequence[Any]) -> Any:
        """The six masks as the kernel takes them; None if nothing is dropped."""
        return self.relation.masks(seeds, self.p) if seeds else None


def _forward(call: Call, x: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    seeds, given = rest[: call.seeds], rest[call.seeds :]
    places = call.layout.places(given)
    return forward(call.relation, call.masks(seeds), x.contiguous(), places, gradient=True)


def _backward(call: Call, kept: Any, grads: Any) -> tuple[Any, ...]:
    hidden, x, *rest = kept
    seeds, given = rest[: call.seeds], rest[call.seeds :]
    x, layout = x.contiguous(), call.layout
    flat, masks, places = x.new_empty(layout.total), call.masks(seeds), layout.places(given)
    dx = backward(call.relation, masks, x, hidden, places, grads[0].contiguous(), flat, layout.offsets)
    return dx, *[None] * call.seeds, *layout.cut(flat)


_function = differentiable(
    "cpu_layer", _forward, _backward, keep=lambda call, tensors, outputs: (outputs[1], *tensors),
    runs="looped",
)  # fmt: skip
