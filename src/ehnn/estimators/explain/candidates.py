"""The hyperedges, co-members and features whose effect on a prediction is tried."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ehnn.hypergraph import Hypergraph
from ehnn.tables.columns import Category, Feature

from ..targets import Classes, Numbers, Targets
from .near import Near
from .occlusion import Change

Array = np.ndarray
_ROUNDED = 1e-6
"""Numbers below this share of their deviation are 0: labels are kept in single precision."""


@dataclass(frozen=True)
class Known:
    """Labels that the model may read, encoded as in ``targets``; see `Output`.

    Attributes:
        target: ``[rows]`` or ``[rows, outputs]``; None: the model reads none.
    """

    targets: Targets
    target: Array | None

    def there(self, rows: Array) -> Array:
        """``[rows]`` bool: whether the label is known."""
        if self.target is None:
            return np.zeros(len(rows), bool)
        found = self.target[rows]
        return found >= 0 if found.ndim == 1 else ~np.isnan(found).all(1)

    def text(self, row: int) -> str:
        """The label of one row."""
        if self.target is None or not self.there(np.array([row]))[0]:
            return ""
        if isinstance(self.targets, Classes):
            return _word(self.targets.classes[int(self.target[row])])
        values = self.target[row]
        if isinstance(self.targets, Numbers):
            scale = np.array(self.targets.scale)
            values = values * scale + np.array(self.targets.mean)
            values = np.where(np.abs(values) < _ROUNDED * scale, 0.0, values)
        return ", ".join("?" if np.isnan(v) else f"{v:.4g}" for v in values[:5].tolist())

    def summary(self, rows: Array, column: int) -> str:
        """How many of ``rows`` with known labels have that of ``column``."""
        rows = rows[self.there(rows)]
        if not len(rows) or not isinstance(self.targets, Classes):
            return ""
        assert self.target is not None
        same = int((self.target[rows] == column).sum())
        return f"{same} of {len(rows)} known are {_word(self.targets.classes[column])}"


def hyperedge_changes(
    near: Near, node: int, kind: str, names: Sequence[Hashable] | None, most: int, known: Known, column: int,
    but: int | None = None,
) -> tuple[list[Change], int]:  # fmt: skip
    """The row leaves one of its hyperedges (of the neighbourhood), the small ones first.

    Returns the changes, and how many of its hyperedges were not tried. ``but``: a hyperedge that is never
    removed.
    """
    nodes, edges = near.h.index.numpy()
    own = np.flatnonzero((nodes == node) & (edges != (-1 if but is None else but)))
    order = near.h.orders.numpy()[edges[own]]
    own = own[np.argsort(order, kind="stable")]
    changes = []
    for place in own[:most].tolist():
        members = np.flatnonzero(edges == edges[place])
        others = near.nodes[nodes[members[members != place]]]
        size = f"in {len(members)} hyperedges" if kind == "member" else f"{len(members)} members"
        told = [size, known.summary(others, column)]
        name = named(names, int(near.edges[edges[place]]))
        changes.append(Change(kind, name, ", ".join(filter(None, told)), np.array([place])))
    return changes, len(own) - len(changes)


def member_changes(
    near: Near, node: int, kind: str, names: Sequence[Hashable] | None, most: int, known: Known,
    within: int | None = None,
) -> tuple[list[Change], int]:  # fmt: skip
    """A co-member leaves the hyperedges that it shares with the row.

    Those with known labels come first, then those that share most: the sum of 1 / (order − 1) over the shared
    hyperedges. ``within``: of this hyperedge alone.
    """
    nodes, edges = near.h.index.numpy()
    shared = np.zeros(near.h.num_edges, bool)
    shared[edges[nodes == node] if within is None else within] = True
    places = np.flatnonzero(shared[edges] & (nodes != node))
    closeness = np.bincount(
        nodes[places], 1 / np.maximum(near.h.orders.numpy()[edges[places]] - 1, 1), near.h.num_nodes
    )
    found = np.flatnonzero(closeness)
    there = known.there(near.nodes[found])
    found = found[np.lexsort((found, -closeness[found], ~there))]
    changes = []
    for other in found[:most].tolist():
        dropped = places[nodes[places] == other]
        row = int(near.nodes[other])
        shared_by = f"shares {len(dropped)} {'members' if kind == 'hyperedge' else 'hyperedges'}"
        detail = ", ".join(filter(None, [known.text(row), shared_by if len(dropped) > 1 else ""]))
        changes.append(Change(kind, named(names, row), detail, dropped))
    return changes, len(found) - len(changes)


@dataclass(frozen=True)
class Columns:
    """Mean and standard deviation of each feature over all rows, and which columns are one feature."""

    mean: Array
    deviation: Array
    features: Sequence[Feature] | None = None

    @classmethod
    def of(cls, h: Hypergraph, features: Sequence[Feature] | None = None) -> Columns:
        parts = () if h.x is None else h.x.split(8192)  # in double precision, a part at a time
        width = 0 if h.x is None else h.x.shape[1]
        count = max(1, h.num_nodes)
        mean = sum((part.double().sum(0) for part in parts), torch.zeros(width).double()) / count
        square = sum(((part.double() - mean).square().sum(0) for part in parts), torch.zeros_like(mean))
        return cls(mean.numpy(), (square / count).sqrt().numpy(), features)


def feature_changes(h: Hypergraph, row: int, columns: Columns, most: int) -> tuple[list[Change], int]:
    """A feature of the row takes its mean over all rows, those furthest from it (in deviations) first.

    The columns of one text column of a table are one feature.
    """
    if h.x is None or not h.x.shape[1]:
        return [], 0
    x, mean = h.x[row].double().numpy(), columns.mean
    gap = np.abs(x - mean) / np.where(columns.deviation > 0, columns.deviation, 1.0)
    groups = _groups(len(x), columns.features)
    size = np.array([gap[group].max(initial=0.0) for _, group, _ in groups])
    found = np.argsort(-size, kind="stable")
    found = found[size[found] > 0]
    changes = []
    for i in found[:most].tolist():
        name, group, told = groups[i]
        detail = f"{x[group[0]]:.4g}, mean {mean[group[0]]:.4g}" if told is None else told(x[group])
        changes.append(Change("feature", name, detail, columns=group, values=mean[group]))
    return changes, len(found) - len(changes)


def _groups(
    width: int, features: Sequence[Feature] | None
) -> list[tuple[Any, Array, Callable[[Array], str] | None]]:
    """Name, columns and how to tell the value of each feature."""
    if not features:
        return [(i, np.array([i]), None) for i in range(width)]
    found: list[tuple[Any, Array, Callable[[Array], str] | None]] = []
    start = 0
    for feature in features:
        if isinstance(feature, Category):
            size, tell = len(feature.values), _teller(feature)
            found.append((feature.column, np.arange(start, start + size), tell))
        else:
            size = 1
            found.append((feature.column, np.array([start]), None))
        start += size
    return found


def _teller(feature: Category) -> Callable[[Array], str]:
    return lambda values: feature.values[int(values.argmax())] if values.any() else "none"


def _word(name: Any) -> str:
    """A class that fits into a line."""
    text = str(name)
    return text if len(text) <= 40 else f"{text[:39]}…"


def named(names: Sequence[Hashable] | None, number: int) -> Any:
    return number if names is None else names[number]
