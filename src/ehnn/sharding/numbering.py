"""Numbers for ids, in the order of the ids, without a process that holds all of them.

A piece of a table keeps its distinct ids in order, and a code for each row. Splitters cut the order of all
ids into buckets; a bucket reads its stretch of every piece and numbers what it finds. A piece then looks its
codes up in the numbers of its stretches.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .attributes import save_attributes
from .inputs import read_piece
from .steps import Folder, Item, Steps

SAMPLES = 256
"""Ids of a piece from which the splitters are taken."""
TABLE = "table-"
"""What the names of pieces of the table of nodes begin with."""


def number_ids(steps: Steps, kind: str, found: Sequence[Item], rows: int) -> list[int]:
    """Number the ids of one ``kind`` in all pieces; returns where each bucket begins, and the total.

    ``found`` has what `save_ids` returned for the pieces. The numbers are read by `numbers_of`.
    """
    total = sum(piece["distinct"] for piece in found)
    buckets = max(1, -(-total // rows))
    splitters = _splitters([piece["samples"] for piece in found], buckets)
    names = [piece["name"] for piece in found]
    ends = [None, *splitters, None]
    items = [
        {"kind": kind, "pieces": names, "from": a, "to": b, "bucket": i}
        for i, (a, b) in enumerate(pairwise(ends))
    ]
    counts = steps.run(f"number-{kind}", _number_bucket, items)
    return [0, *np.cumsum(counts).tolist()]


def save_ids(folder: Folder, name: str, ids: Any) -> dict[str, Any]:
    """Keep the distinct ids of a piece, in order, and the code of each row among them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = (
        ids.combine_chunks().dictionary_encode()
        if hasattr(ids, "combine_chunks")
        else ids.dictionary_encode()
    )
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    order = pc.sort_indices(encoded.dictionary)
    distinct = encoded.dictionary.take(order)
    place = np.empty(len(order), dtype=np.int32)
    place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    folder.save_table(f"ids-{name}.arrow", pa.table({"id": distinct}))
    folder.save(f"codes-{name}.npy", place[encoded.indices.to_numpy(zero_copy_only=False)])
    every = max(1, len(distinct) // SAMPLES)
    samples = distinct.take(pa.array(np.arange(every // 2, len(distinct), every))).to_pylist()
    return {"name": name, "distinct": len(distinct), "samples": samples}


def numbers_of(folder: Folder, kind: str, name: str, starts: Sequence[int]) -> np.ndarray:
    """``[rows]`` the number of the id of each row of a piece."""
    table = []
    for bucket, start in enumerate(starts[:-1]):
        pieces = folder.load_table(f"found-{kind}-{bucket:05d}.arrow").to_pydict()
        place = pieces["piece"].index(name)
        begin, end = pieces["begin"][place], pieces["begin"][place] + pieces["count"][place]
        table.append(folder.load(f"numbers-{kind}-{bucket:05d}.npy")[begin:end] + start)
    return np.concatenate(table)[folder.load(f"codes-{name}.npy")]


def twice(name: Any, count: int) -> ValueError:
    """The error for nodes with several rows."""
    others = f", and {count - 1} other nodes have" if count > 1 else " has"
    return ValueError(f"the table of nodes must have one row per node; {name!r}{others} several")


def check_ids(item: Item, table: Any, columns: Sequence[str]) -> None:
    """A ValueError names a column with empty cells."""
    for name in columns:
        if missing := table[name].null_count:
            raise ValueError(
                f"column {name!r} of {item['source']} has {missing} empty cells, where ids are expected"
            )


def save_incidence_ids(folder: Folder, item: Item) -> list[dict[str, Any]]:
    """The ids of nodes and of hyperedges in a piece of the table of incidences."""
    table = read_piece(item)
    nodes, edges = item["columns"][:2]
    check_ids(item, table, (nodes, edges))
    node, edge = _unnested(table[nodes], table[edges])
    found = save_attributes(folder, item, table) if len(item["columns"]) > 2 else {}
    return [
        save_ids(folder, f"node-{item['piece']}", node),
        save_ids(folder, f"edge-{item['piece']}", edge) | found,
    ]


def _unnested(node: Any, edge: Any) -> tuple[Any, Any]:
    """A row per incidence, where a row was a list of nodes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_large_list(node.type):
        return node, edge
    node = node.combine_chunks()
    members = pc.list_flatten(node)
    if members.null_count:
        raise ValueError(f"{members.null_count} members of lists are empty, where ids are expected")
    return members, edge.combine_chunks().take(pc.list_parent_indices(node))


def _splitters(samples: list[list[Any]], buckets: int) -> list[Any]:
    """Ids that cut the samples of all pieces evenly; each is the first of its bucket."""
    ordered = sorted(_bytes_first(s) for piece in samples for s in piece)
    cuts = [ordered[len(ordered) * i // buckets][1] for i in range(1, buckets)]
    return list(dict.fromkeys(cuts))


def _bytes_first(value: Any) -> tuple[Any, Any]:
    """Arrow orders text by its UTF-8 bytes."""
    return (value.encode() if isinstance(value, str) else value, value)


def _number_bucket(folder: Folder, item: Item) -> int:
    """Number the ids from ``from`` up to, but without, ``to``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = []
    for name in item["pieces"]:
        ids = folder.load_table(f"ids-{name}.arrow")["id"].combine_chunks()
        begin = 0 if item["from"] is None else _first_at_least(ids, item["from"])
        end = len(ids) if item["to"] is None else _first_at_least(ids, item["to"])
        parts.append(ids.slice(begin, end - begin))
    counts = np.array([len(part) for part in parts], dtype=np.int64)
    encoded = pa.concat_arrays(parts).dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    place = np.empty(len(order), dtype=np.int64)
    place[order.to_numpy()] = np.arange(len(order))
    of_table = np.repeat([name.startswith(TABLE) for name in item["pieces"]], counts)
    repeated = np.flatnonzero(np.bincount(encoded.indices.to_numpy()[of_table]) > 1)
    if len(repeated):
        raise twice(encoded.dictionary[repeated[0]].as_py(), len(repeated))
    kind, bucket = item["kind"], f"{item['bucket']:05d}"
    folder.save_table(f"names-{kind}-{bucket}.arrow", pa.table({"id": encoded.dictionary.take(order)}))
    folder.save(f"numbers-{kind}-{bucket}.npy", place[encoded.indices.to_numpy()])
    begins = np.cumsum(counts) - counts
    found = pa.table({"piece": item["pieces"], "begin": begins, "count": counts})
    folder.save_table(f"found-{kind}-{bucket}.arrow", found)
    return len(order)


def _first_at_least(ids: Any, value: Any) -> int:
    """The place of the first id that is not before ``value``: a binary search, some 30 steps."""
    wanted = _bytes_first(value)[0]
    low, high = 0, len(ids)
    while low < high:
        middle = (low + high) // 2
        if _bytes_first(ids[middle].as_py())[0] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
