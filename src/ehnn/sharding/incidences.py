"""Incidences as numbers, sorted by hyperedge and by node, in ranges of rows that fit in a worker."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .attributes import once, pair_attributes
from .numbering import numbers_of
from .steps import Folder, Item, Steps

CELLS = 4096
"""Cells of the histograms from which ranges are chosen."""


def histogram(numbers: np.ndarray, total: int) -> list[int]:
    """Rows in each of `CELLS` equal stretches of ``0 … total − 1``."""
    return np.bincount(numbers * CELLS // max(total, 1), minlength=CELLS).tolist()


def ranges(counts: Sequence[int], total: int, rows: int) -> list[list[int]]:
    """Stretches ``[begin, end]`` of ``0 … total − 1`` with about ``rows`` rows each."""
    before = np.cumsum(counts) - np.asarray(counts)
    group = before // max(rows, 1)
    first = np.flatnonzero(np.diff(group, prepend=-1) > 0)
    bounds = sorted({0, *(-(-first * total // CELLS)).tolist(), total})
    return [list(pair) for pair in pairwise(bounds)] or [[0, 0]]


def save_pairs(folder: Folder, item: Item) -> dict[str, Any]:
    """The (hyperedge, node) numbers of a piece, sorted by hyperedge, and histograms of both."""
    piece, n, m = item["piece"], item["node_starts"][-1], item["edge_starts"][-1]
    node = numbers_of(folder, "node", f"node-{piece}", item["node_starts"])
    edge = numbers_of(folder, "edge", f"edge-{piece}", item["edge_starts"])
    order = np.argsort(edge, kind="stable")
    folder.save(f"pairs-{piece}.npy", np.stack([edge[order], node[order]]))
    pair_attributes(folder, item, order)
    return {"edges": histogram(edge, m), "nodes": histogram(node, n), "rows": len(node)}


def save_edge_range(folder: Folder, item: Item) -> dict[str, Any]:
    """The members of the hyperedges of a range, each once; and the same pairs sorted by node."""
    (begin, end), name = item["range"], item["name"]
    edge, node, *more = _stretches(folder, item["pairs"], begin, end, item["attributes"])
    rows = len(edge)
    order = np.lexsort((node, edge))
    edge, node = edge[order], node[order]
    fresh = np.ones(len(edge), dtype=bool)
    fresh[1:] = (edge[1:] != edge[:-1]) | (node[1:] != node[:-1])
    roles = 1
    for kind, values in zip(item["attributes"], more, strict=True):
        kept = once(kind, values[order], fresh, item["sides"])
        folder.save(f"edge-{kind}-{name}.npy", kept)
        roles = int(kept.max(initial=0)) + 1 if kind == "role" else roles
    edge, node = edge[fresh], node[fresh]
    orders = np.bincount(edge - begin, minlength=end - begin)
    folder.save(f"edge-orders-{name}.npy", orders)
    folder.save(f"edge-nodes-{name}.npy", node)
    by_node = np.argsort(node, kind="stable")
    folder.save(f"by-node-{name}.npy", np.stack([node[by_node], edge[by_node]]))
    return {
        "incidences": len(node), "repeated": rows - len(node), "largest": int(orders.max(initial=0)),
        "roles": roles,
    }  # fmt: skip


def save_node_range(folder: Folder, item: Item) -> dict[str, Any]:
    """The hyperedges of the nodes of a range."""
    (begin, end), name = item["range"], item["name"]
    node, edge = _stretches(folder, item["by_node"], begin, end)[:2]
    order = np.argsort(node, kind="stable")
    degrees = np.bincount(node - begin, minlength=end - begin)
    folder.save(f"node-degrees-{name}.npy", degrees)
    folder.save(f"node-edges-{name}.npy", edge[order])
    return {"incidences": len(node), "largest": int(degrees.max(initial=0))}


def _stretches(
    folder: Folder, names: Sequence[str], begin: int, end: int, attributes: Sequence[str] = ()
) -> tuple[np.ndarray, ...]:
    """The pairs from ``begin`` to ``end`` of files that are sorted by the first number of a pair.

    Then the same pairs of the files of ``attributes``.
    """
    parts: list[list[np.ndarray]] = [[] for _ in range(1 + len(attributes))]
    for name in names:
        pairs = folder.load(name)
        low, high = np.searchsorted(pairs[0], [begin, end])
        parts[0].append(pairs[:, low:high])
        for own, kind in zip(parts[1:], attributes, strict=True):
            own.append(folder.load(name.replace("pairs-", f"pair-{kind}-"))[low:high])
    first, second = np.concatenate(parts[0], 1)
    return first, second, *(np.concatenate(own) for own in parts[1:])


def join(steps: Steps, name: str, ranges_: Sequence[str]) -> str:
    """One file from the files ``name-RANGE`` of all ranges; returns its name."""
    steps.run(f"join-{name}", _join, [{"name": name, "ranges": list(ranges_)}])
    return f"{name}.npy"


def _join(folder: Folder, item: Item) -> int:
    from ehnn._utils.atomic import atomic_write

    parts = [folder.load(f"{item['name']}-{r}.npy") for r in item["ranges"]]
    rows = sum(len(part) for part in parts)
    target = f"{item['name']}.npy"
    with atomic_write(folder.path / target, "wb") as file:
        np.lib.format.write_array_header_2_0(
            file,
            {"descr": np.lib.format.dtype_to_descr(parts[0].dtype), "fortran_order": False,
             "shape": (rows, *parts[0].shape[1:])},
        )  # fmt: skip
        for part in parts:
            file.write(np.ascontiguousarray(part).data)
    folder.wrote(target)
    return rows
