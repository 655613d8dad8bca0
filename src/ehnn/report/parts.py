"""The parts of ``run.json``. Each reader checks its JSON and raises a ValueError that names the problem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ehnn._utils.validation import short

from .history import LARGEST

Tally = dict[str, tuple[int, int]]
"""(right, total) by the name of a class or by an order."""


@dataclass(frozen=True)
class Data:
    """Sizes of a hypergraph; ``orders`` and ``degrees`` count the hyperedges and nodes of each."""

    sizes: dict[str, int]
    orders: dict[int, int]
    degrees: dict[int, int]


@dataclass(frozen=True)
class Scores:
    """Results on test data.

    Attributes:
        accuracy: a share in [0, 1], or None.
        confusion: ``[classes, classes]``, rows are true, columns predicted; or None.
        per_class, per_order: right and total; empty where unknown.
        more: further figures by name.
    """

    accuracy: float | None
    confusion: np.ndarray | None
    per_class: Tally
    per_order: Tally
    more: dict[str, float]


@dataclass(frozen=True)
class Small:
    """A hypergraph that can be drawn.

    Attributes:
        edges: node numbers of each hyperedge.
        num_nodes: how many nodes there are.
        names: of the nodes, or None.
        labels, predicted: a label per node (None: unknown), or None.
    """

    edges: list[list[int]]
    num_nodes: int
    names: list[str] | None
    labels: list[str | None] | None
    predicted: list[str | None] | None


def mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected an object, got {type(value).__name__}")
    return value


def number(value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
        raise ValueError(f"expected a number, got {str(value)[:40]!r}")
    return float(value)


def amount(value: Any) -> float:
    """A number that is not below 0."""
    found = number(value)
    if found < 0:
        raise ValueError(f"expected a number from 0, got {value!r}")
    return found


def count(value: Any) -> int:
    found = number(value)
    if found < 0 or found != math.floor(found):
        raise ValueError(f"expected a count, got {value!r}")
    return int(found)


def counts(value: Any) -> dict[int, int]:
    """``{"2": 17, "3": 4}`` by ascending number, without those that do not occur."""
    found = {count(int(key)): count(entry) for key, entry in mapping(value or {}).items()}
    return {key: found[key] for key in sorted(found) if found[key]}


def names(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list of names, got {type(value).__name__}")
    return [str(entry) for entry in value]


def rows(value: Any) -> list[dict[str, Any]]:
    """A list of records."""
    if not isinstance(value, list):
        raise ValueError(f"expected a list, got {type(value).__name__}")
    return [dict(mapping(row)) for row in value]


def data(value: Any) -> Data:
    found = mapping(value)
    sizes = {key: count(found[key]) for key in ("nodes", "hyperedges", "incidences") if key in found}
    return Data(sizes, counts(found.get("orders")), counts(found.get("degrees")))


def scores(value: Any) -> Scores:
    found = dict(mapping(value))
    confusion = _square(found.pop("confusion", None))
    per_class, per_order = (tally(found.pop(key, None)) for key in ("per_class", "per_order"))
    given = found.pop("accuracy", None)
    accuracy = None if given is None else amount(given)
    if accuracy is not None:
        accuracy = accuracy if accuracy <= 1 else accuracy / 100  # shares, and percentages as in training
    if confusion is not None and confusion.sum():
        accuracy = float(np.trace(confusion) / confusion.sum())
    more = {key: float(v) for key, v in found.items() if isinstance(v, (int, float)) and abs(v) < LARGEST}
    return Scores(accuracy, confusion, per_class, _by_number(per_order), more)


def tally(value: Any) -> Tally:
    """``{"cat": [right, total]}``."""
    found = {}
    for key, entry in mapping(value or {}).items():
        if not isinstance(entry, list) or len(entry) != 2:
            raise ValueError(f"expected [right, total] for {key!r}, got {str(entry)[:40]!r}")
        right, total = map(count, entry)
        if right > total:
            raise ValueError(f"{key!r} has {right} right of {total}")
        found[str(key)] = (right, total)
    return found


def _by_number(found: Tally) -> Tally:
    return {str(key): found[str(key)] for key in sorted(map(int, found))}


def _square(value: Any) -> np.ndarray | None:
    if value is None:
        return None
    if not isinstance(value, list) or any(not isinstance(r, list) or len(r) != len(value) for r in value):
        raise ValueError(f"confusion must be a square matrix, a list of lists, got {short(value)}")
    return np.array([[count(entry) for entry in row] for row in value], dtype=np.int64)


def small(value: Any) -> Small:
    """``{"edges": [[0, 1], …], "labels": […], "predicted": […], "names": […]}``."""
    found = mapping(value)
    if not isinstance(found.get("edges"), list):
        raise ValueError("hypergraph must have edges, lists of node numbers")
    edges = [[count(node) for node in edge] for edge in found["edges"]]
    columns = {key: found.get(key) for key in ("labels", "predicted", "names")}
    lengths = {len(column) for column in columns.values() if isinstance(column, list)}
    least = max((node + 1 for edge in edges for node in edge), default=0)
    num_nodes = count(found.get("nodes", max(lengths, default=least)))
    if lengths - {num_nodes} or least > num_nodes:
        raise ValueError(f"{num_nodes} nodes, but columns of {sorted(lengths)} and node {least - 1}")
    labels, predicted = (_labels(columns[key]) for key in ("labels", "predicted"))
    given = columns["names"]
    return Small(edges, num_nodes, None if given is None else names(given), labels, predicted)


def _labels(value: Any) -> list[str | None] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise ValueError(f"expected a label per node, got {type(value).__name__}")
    return [None if entry is None else str(entry) for entry in value]
