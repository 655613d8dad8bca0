"""Shards from a partition: every range hands its rows to the ranks, and a rank joins what it was given."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import numpy as np

from ehnn._utils.atomic import atomic_write

from . import kernels
from .nodes import values
from .steps import Folder, Item
from .writing import Streamed, write_tensors


def own_edges(folder: Folder, item: Item) -> list[int]:
    """The owner of each hyperedge of a range: the rank with most of its nodes. Returns counts by rank."""
    (begin, end), name, ranks = item["range"], item["name"], item["ranks"]
    edge = kernels.segment_rows(folder.load(f"edge-orders-{name}.npy"))
    part = folder.load(item["part"])[folder.load(f"edge-nodes-{name}.npy")].astype(np.int64)
    row, rank, count = kernels.runs(edge, part)
    turn = (rank + row + begin) % ranks  # ties go to the ranks in turn
    order = np.lexsort((turn, count, row))
    last = np.ones(len(order), dtype=bool)
    last[:-1] = row[order][1:] != row[order][:-1]
    owner = np.empty(end - begin, dtype=np.int32)
    owner[row[order][last]] = rank[order][last]
    folder.save(f"edge-owner-{name}.npy", owner)
    return np.bincount(owner, minlength=ranks).tolist()


def hand_edges(folder: Folder, item: Item) -> dict[str, Any]:
    """Sort the incidences of a range by the rank of their node; returns figures of the cut.

    ``item["before"]`` counts the hyperedges of each owner in earlier ranges.
    """
    (begin, _), name, ranks = item["range"], item["name"], item["ranks"]
    orders, owner = folder.load(f"edge-orders-{name}.npy"), folder.load(f"edge-owner-{name}.npy")
    node = folder.load(f"edge-nodes-{name}.npy")
    edge, part = kernels.segment_rows(orders), folder.load(item["part"])[node].astype(np.int64)
    place = _place_of_owned(owner, np.asarray(item["before"]))
    rank, touched, count = kernels.runs(part, edge)
    folder.save(
        f"touched-{name}.npy",
        np.stack([touched + begin, count.astype(np.int64), owner[touched], place[touched], orders[touched]]),
    )
    order = np.argsort(part, kind="stable")
    folder.save(f"members-{name}.npy", node[order])
    for kind in item["attributes"]:
        folder.save(f"member-{kind}-{name}.npy", folder.load(f"edge-{kind}-{name}.npy")[order])
    away = owner[touched] != rank
    return {
        "touched": np.bincount(rank, minlength=ranks).tolist(),
        "incidences": np.bincount(part, minlength=ranks).tolist(),
        "ghosts": int(away.sum()), "cut": len(np.unique(touched[away])),
        "away": int(count[away].sum()),
    }  # fmt: skip


def _place_of_owned(owner: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The number of each hyperedge among those of its owner."""
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner, minlength=len(before))
    place = np.empty(len(owner), dtype=np.int64)
    place[order] = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts - before, counts)
    return place


def hand_nodes(folder: Folder, item: Item) -> dict[str, Any]:
    """Sort numbers, ids, features and labels of a range of nodes by rank."""
    (begin, end), name, ranks = item["range"], item["name"], item["ranks"]
    part = folder.load(item["part"])[begin:end]
    x, y, seen = values(folder, item, folder.load(f"node-degrees-{name}.npy"))
    order = np.argsort(part, kind="stable")
    folder.save(f"handed-ids-{name}.npy", order + begin)
    folder.save(f"handed-x-{name}.npy", x[order])
    folder.save(f"handed-y-{name}.npy", y[order])
    folder.save_table(f"handed-names-{name}.arrow", _names(folder, item, begin, end).take(order))
    return {"nodes": np.bincount(part, minlength=ranks).tolist(), "seen": seen}


def _names(folder: Folder, item: Item, begin: int, end: int) -> Any:
    """The ids of the nodes ``begin … end − 1``, from the buckets that they are in."""
    import pyarrow as pa

    starts = item["node_starts"]
    parts = []
    for bucket, (a, b) in enumerate(pairwise(starts)):
        low, high = max(a, begin), min(b, end)
        if low < high:
            parts.append(folder.load_table(f"names-node-{bucket:05d}.arrow").slice(low - a, high - low))
    return pa.concat_tables(parts).combine_chunks()


def write_shard(folder: Folder, item: Item) -> dict[str, Any]:
    """Join what a rank was given, and write its shard and the ids of its nodes; features are streamed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rank = item["rank"]
    node_ids = _given(folder, item, "handed-ids", "nodes")
    edge, count, owner, place, order = _given(folder, item, "touched", "touched", axis=1)
    node = np.searchsorted(node_ids, _given(folder, item, "members", "incidences"))
    rows = np.lexsort((place, owner, owner != rank))  # own, then ghosts by owner and place
    own = int((owner == rank).sum())
    lengths = count[rows]
    start = (np.cumsum(count) - count)[rows]
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    member = np.repeat(start - ptr[:-1], lengths) + np.arange(len(node))
    arrays = {
        "node_ids": node_ids, "edge_ids": edge[rows][:own], "ptr": ptr, "index": node[member],
        "ghost_owner": owner[rows][own:], "ghost_row": place[rows][own:], "touched_orders": order[rows],
        "node_batch": np.zeros(len(node_ids), dtype=np.int64), "edge_batch": np.zeros(own, dtype=np.int64),
        "x": _streamed(folder, item, "handed-x", len(node_ids), item["channels"]),
        "y": _given(folder, item, "handed-y", "nodes"), "num_members": np.array(1),
    }  # fmt: skip
    for kind in item["attributes"]:
        values = _given(folder, item, f"member-{kind}", "incidences")[member]
        arrays |= {"roles": values.astype(np.int64)} if kind == "role" else {"incidence_weight": values}
    if "role" in item["attributes"]:
        arrays["num_roles"] = np.array(item["roles"])
    meta = {"partition": item["partition"], "rank": str(rank), "ranks": str(item["ranks"])}
    entry = write_tensors(item["shard"], arrays, meta)
    names = [
        folder.load_table(f"handed-names-{r['name']}.arrow").slice(*_stretch(r["nodes"], rank))
        for r in item["nodes"]
    ]
    with atomic_write(item["names"], "wb") as file:
        pq.write_table(pa.concat_tables(names), file)
    return entry | {"edges": own, "nodes": len(node_ids)}


def _streamed(folder: Folder, item: Item, what: str, rows: int, channels: int) -> Streamed:
    """This rank's stretch of the float32 files ``what`` of all ranges, which are not joined in memory."""
    files = [(f"{what}-{r['name']}.npy", *_stretch(r["nodes"], item["rank"])) for r in item["nodes"]]
    return Streamed((rows, channels), "float32", chain.from_iterable(folder.blocks(*one) for one in files))


def _given(folder: Folder, item: Item, what: str, counted: str, axis: int = 0) -> np.ndarray:
    """This rank's stretch of the files ``what`` of all ranges."""
    ranges = item["nodes"] if counted == "nodes" else item["edges"]
    parts = []
    for r in ranges:
        begin, count = _stretch(r[counted], item["rank"])
        array = folder.load(f"{what}-{r['name']}.npy")
        parts.append(array[:, begin : begin + count] if axis else array[begin : begin + count])
    return np.concatenate(parts, axis)


def _stretch(counts: list[int], rank: int) -> tuple[int, int]:
    """The first row of a rank, and the number of its rows."""
    return sum(counts[:rank]), counts[rank]
