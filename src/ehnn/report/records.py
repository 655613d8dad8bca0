"""The parts of ``run.json``, computed from a hypergraph and predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph

from .layout import drawable


def data_record(h: Hypergraph) -> dict[str, Any]:
    """``data``: sizes, and how many hyperedges there are of each order and nodes of each degree.

    >>> data_record(Hypergraph.from_edges([[0, 1, 2], [2, 3]], num_nodes=5))
    {'nodes': 5, 'hyperedges': 2, 'incidences': 5, 'orders': {2: 1, 3: 1}, 'degrees': {0: 1, 1: 3, 2: 1}}
    """
    sizes = {"nodes": h.num_nodes, "hyperedges": h.num_edges, "incidences": h.num_incidences}
    return {**sizes, "orders": _counted(h.orders), "degrees": _counted(h.degrees)}


def _counted(values: Tensor) -> dict[int, int]:
    distinct, counts = torch.unique(values, return_counts=True)
    return dict(zip(distinct.tolist(), counts.tolist(), strict=True))


def accuracy_by_order(h: Hypergraph, right: Any, among: Any = None) -> dict[int, list[int]]:
    """``per_order``: right and all nodes in hyperedges of each order.

    A node counts to every order of its hyperedges, once; an isolated node counts to none.

    Args:
        right: ``[num_nodes]``, whether the prediction of a node is right.
        among: ``[num_nodes]``, the nodes that count, for example the test nodes; None: all.

    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3], [0, 3]], num_nodes=5)
    >>> accuracy_by_order(h, [True, False, True, False, True])
    {2: [2, 3], 3: [2, 3]}
    """
    right, counted = _flags(right, "right", h), _flags(among, "among", h)
    node, edge = h.index
    orders, place = torch.unique(h.orders[edge], return_inverse=True)
    base = max(orders.shape[0], 1)
    pairs = torch.unique(node * base + place)
    node, place = torch.div(pairs, base, rounding_mode="floor"), pairs % base
    total = torch.bincount(place[counted[node]], minlength=base)
    good = torch.bincount(place[(counted & right)[node]], minlength=base)
    rows = zip(orders.tolist(), good.tolist(), total.tolist(), strict=False)
    return {order: [hits, count] for order, hits, count in rows if count}


def _flags(values: Any, name: str, h: Hypergraph) -> Tensor:
    if values is None:
        return torch.ones(h.num_nodes, dtype=torch.bool, device=h.device)
    flags = torch.as_tensor(values, dtype=torch.bool, device=h.device)
    if flags.shape != (h.num_nodes,):
        raise ValueError(f"{name} must be [num_nodes] = [{h.num_nodes}], got {list(flags.shape)}")
    return flags


def score_record(
    true: Any, predicted: Any, labels: Sequence[Any], h: Hypergraph | None = None, among: Any = None
) -> dict[str, Any]:
    """``test``: accuracy (a share), confusion, and right and total for each class and each order.

    Args:
        true, predicted: ``[rows]`` numbers of classes; a row with ``true`` below 0 has no label.
        labels: names of the classes.
        h: where the rows are the nodes of a hypergraph, for ``per_order``.
        among: ``[rows]``, the rows that count; None: all that have a label.

    >>> score_record([0, 0, 1], [0, 1, 1], ["edible", "poisonous"])["per_class"]
    {'edible': [1, 2], 'poisonous': [1, 1]}
    """
    true, predicted = np.asarray(true, dtype=np.int64), np.asarray(predicted, dtype=np.int64)
    if true.ndim != 1 or true.shape != predicted.shape:
        raise ValueError(f"true and predicted must be [rows], got {true.shape} and {predicted.shape}")
    chosen = np.ones_like(true, dtype=bool) if among is None else np.asarray(among)
    if chosen.dtype != bool or chosen.shape != true.shape:
        raise ValueError(f"among must be [{len(true)}] of bool, got {chosen.shape} of {chosen.dtype}")
    counted = (true >= 0) & chosen
    if not counted.any():
        raise ValueError("there is nothing to score: no row that counts has a label")
    size = len(labels)
    for name, rows in (("true", true[counted]), ("predicted", predicted[counted])):
        if rows.min() < 0 or rows.max() >= size:
            raise ValueError(
                f"{name} must be below {size}, the number of labels, got {rows.min()} to {rows.max()}"
            )
    cells = np.bincount(true[counted] * size + predicted[counted], minlength=size * size)
    confusion = cells.reshape(size, size)
    found: dict[str, Any] = {
        "accuracy": float(np.trace(confusion) / confusion.sum()),
        "confusion": confusion.tolist(),
        "per_class": {
            str(name): [int(row[i]), int(row.sum())]
            for i, (name, row) in enumerate(zip(labels, confusion, strict=True))
        },
    }
    if h is not None:
        found["per_order"] = accuracy_by_order(h, true == predicted, counted)
    return found


def hypergraph_record(h: Hypergraph, labels: Any = None, predicted: Any = None) -> dict[str, Any] | None:
    """``hypergraph``: the hyperedges of one that is small enough to be drawn, else None.

    Args:
        labels, predicted: a label per node (None: unknown), or None.

    >>> hypergraph_record(Hypergraph.from_edges([[0, 1], [1, 2]]), labels=["a", "b", None])
    {'nodes': 3, 'edges': [[0, 1], [1, 2]], 'labels': ['a', 'b', None]}
    """
    if not drawable(h):
        return None
    found: dict[str, Any] = {"nodes": h.num_nodes, "edges": h.edges()}
    if h.node_names is not None:
        found["names"] = [str(name) for name in h.node_names]
    for key, values in (("labels", labels), ("predicted", predicted)):
        if values is not None:
            found[key] = [None if value is None else str(value) for value in values]
    return found


def as_json(value: Any) -> Any:
    """``value`` as JSON holds it: lists of tensors and arrays, None for NaN and infinity, else its text."""
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(as_json(k)): as_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
