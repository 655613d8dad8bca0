"""Dropout that does not depend on the number of ranks: rows have the numbers they have in one process."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ehnn._utils.cached import plain_tensors
from ehnn.nn import Layer
from ehnn.nn.dropout import Dropout, Rows

from .families import family
from .relation import ShardedOverlap
from .shards import Shard

Numbers = tuple[Tensor, int]


class Numbering:
    """The hooks that `number_rows` added to a model; `remove` removes them."""

    def __init__(self, handles: list[Any], dropouts: list[Dropout]) -> None:
        self.handles, self.dropouts = handles, dropouts

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()
        for dropout in self.dropouts:
            dropout.rows = None


def number_rows(model: nn.Module) -> Numbering:
    """Tell every seeded `Dropout` of ``model`` which rows of the whole hypergraph it processes on a shard.

    A mask is then the same on any number of ranks and in one process (with roles, and between hyperedges
    whose overlaps have several sizes: on any number of ranks). Inside a `Layer` the rows are those of
    ``layer.rows_seen()``, or its targets. After a layer they are its targets. Before the first layer they are
    the family that the model's ``path`` begins with (nodes, if it has none). On a plain Hypergraph nothing
    changes.

    >>> import ehnn
    >>> model = ehnn.nn.Stack(4, 2, ehnn.nn.EHNNMLP, dropout=0.1)
    >>> handle = number_rows(model)
    """
    layers = {name: m for name, m in model.named_modules() if isinstance(m, Layer)}
    every = {name: m for name, m in model.named_modules() if isinstance(m, Dropout) and m.p > 0}
    outside = [m for name, m in every.items() if not any(name.startswith(f"{at}.") for at in layers)]

    def begin(module: nn.Module, args: tuple[Any, ...]) -> None:
        h = args[0]
        rows = _entering(h, getattr(module, "path", ("nodes",))[0]) if isinstance(h, Shard) else None
        for dropout in every.values():
            dropout.rows = rows

    def enter(layer: Layer, args: tuple[Any, ...]) -> None:
        overlap = args[1]
        if not isinstance(overlap, ShardedOverlap):
            return
        for part, rows in {layer: Rows.TARGETS, **layer.rows_seen()}.items():
            numbers = None
            for module in part.modules():
                if isinstance(module, Dropout) and module.p > 0:
                    numbers = numbers or _numbers(rows, overlap)  # a collective, perhaps: only if asked for
                    module.rows = numbers
        for dropout in outside:
            dropout.rows = overlap.target_numbers

    handles = [layer.register_forward_pre_hook(enter) for layer in layers.values()]
    return Numbering([model.register_forward_pre_hook(begin), *handles], list(every.values()))


def _entering(h: Shard, name: str) -> Numbers:
    """The rows of the family that a model begins with."""
    with plain_tensors():
        found = family(h, name)
    return found.numbers, sum(found.counts)


def _numbers(rows: Rows, overlap: ShardedOverlap) -> Numbers:
    """The rows of a kind, by their numbers in the whole hypergraph."""
    if rows is Rows.SOURCES:
        return overlap.source_numbers
    if rows is Rows.TARGETS:
        return overlap.target_numbers
    if rows is Rows.MEMBERS:
        return _members(overlap), overlap.num_members
    groups, total = overlap.group_numbers
    if rows is Rows.GROUPS:
        return groups, total
    return torch.cat([groups, total + _members(overlap)]), total + overlap.num_members


def _members(overlap: ShardedOverlap) -> Tensor:
    return torch.arange(overlap.num_members, device=overlap.target_batch.device)
