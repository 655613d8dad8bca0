"""Roles and weights of nodes in hyperedges, from columns of the table of incidences.

They go with the pairs (hyperedge, node) from file to file: `save_attributes` keeps those of a piece,
`pair_attributes` puts them in the order of its pairs, and `once` leaves one for each distinct pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ehnn.hypergraph.roles import MAX_ROLES

from .steps import Folder, Item

KINDS = ("role", "weight")
_SIDES = {"tail": 0, "head": 1}
_BOTH = 2
"""The role of a node that is in the tail and in the head."""


def save_attributes(folder: Folder, item: Item, table: Any) -> dict[str, Any]:
    """Keep the roles and weights of a piece of the table; returns the distinct roles in it.

    ``item["attributes"]`` maps `KINDS` to columns.
    """
    found: dict[str, Any] = {}
    for kind, name in item["attributes"].items():
        column = table[name]
        if item["types"][item["columns"][0]].startswith("list"):
            raise ValueError(f"column {name!r} of {item['source']}: a {kind} is for a row per member")
        if column.null_count:
            raise ValueError(f"column {name!r} of {item['source']} has {column.null_count} empty cells")
        if kind == "role":
            found["roles"] = _save_roles(folder, item, column, name)
        else:
            _save_weights(folder, item, column, name)
    return found


def _save_roles(folder: Folder, item: Item, column: Any, name: str) -> list[Any]:
    if item["types"][name] not in ("integer", "text"):
        raise ValueError(f"column {name!r} of {item['source']} must have words or integers as roles")
    encoded = column.combine_chunks().dictionary_encode()
    words = encoded.dictionary.to_pylist()
    if len(words) > MAX_ROLES:
        raise ValueError(f"column {name!r} of {item['source']} has more than {MAX_ROLES} roles")
    folder.save(f"codes-role-{item['piece']}.npy", encoded.indices.to_numpy().astype(np.int8))
    return words


def _save_weights(folder: Folder, item: Item, column: Any, name: str) -> None:
    if item["types"][name] not in ("integer", "number"):
        raise ValueError(f"column {name!r} of {item['source']} must have numbers as weights")
    weights = column.to_numpy().astype(np.float32)
    if not np.isfinite(weights).all():
        raise ValueError(f"column {name!r} of {item['source']} has weights that are not finite")
    folder.save(f"codes-weight-{item['piece']}.npy", weights)


def numbered(words: Sequence[Any]) -> dict[Any, int]:
    """The number of each role: integers are their own, ``tail`` and ``head`` are 0, 1, others are sorted."""
    distinct = sorted(set(words))
    if not distinct:
        return {}
    if len(distinct) > MAX_ROLES:
        raise ValueError(f"there must be at most {MAX_ROLES} roles, got {len(distinct)}")
    if not isinstance(distinct[0], str):
        if distinct[0] < 0 or distinct[-1] >= MAX_ROLES:
            wrong = distinct[0] if distinct[0] < 0 else distinct[-1]
            raise ValueError(f"roles must be from 0 to {MAX_ROLES - 1}, got {wrong}")
        return {word: int(word) for word in distinct}
    return _SIDES if set(distinct) <= set(_SIDES) else {word: i for i, word in enumerate(distinct)}


def pair_attributes(folder: Folder, item: Item, order: np.ndarray) -> None:
    """Write the attributes of a piece in the ``order`` of its pairs, with the numbers of all roles."""
    piece = item["piece"]
    for kind in item["attributes"]:
        values = folder.load(f"codes-{kind}-{piece}.npy")
        if kind == "role":
            values = np.array([item["numbers"][str(word)] for word in item["words"]], dtype=np.int8)[values]
        folder.save(f"pair-{kind}-{piece}.npy", values[order])


def once(kind: str, values: np.ndarray, fresh: np.ndarray, sides: bool) -> np.ndarray:
    """One value for each distinct pair; ``values`` are sorted by pair, and ``fresh`` marks the first of each.

    A node with two weights or two roles in a hyperedge is an error, but for ``sides``: it is in both.
    """
    first = np.flatnonzero(fresh)
    if not len(first):
        return values[first]
    low, high = np.minimum.reduceat(values, first), np.maximum.reduceat(values, first)
    apart = np.flatnonzero(low != high)
    if not len(apart):
        return low
    some = f"{low[apart[0]]:g} and {high[apart[0]]:g}"
    if kind == "weight":
        raise ValueError(f"{len(apart)} nodes have two weights in one set, such as {some}: give each once")
    if not sides:
        raise ValueError(
            f"{len(apart)} nodes have two roles in one set, such as the roles with numbers {some}: give the "
            "combination a word of its own"
        )
    return np.where(low != high, _BOTH, low).astype(values.dtype)
