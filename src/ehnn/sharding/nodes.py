"""Labels, splits and features of nodes, from the columns of a table with a row per node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import kernels
from .inputs import read_piece
from .numbering import check_ids, numbers_of, save_ids, twice
from .steps import Folder, Item

PARTS = ("train", "valid", "test")
_SPLITS = {
    "train": 0,
    "training": 0,
    "valid": 1,
    "validation": 1,
    "val": 1,
    "test": 2,
    "0": 0,
    "1": 1,
    "2": 2,
}
MOST_CLASSES = 10_000


@dataclass(frozen=True)
class Columns:
    """Which columns of the table of nodes are read; all their ``names``, in order.

    Attributes:
        id: the node.
        label: its class; an empty cell has none.
        split: ``train``, ``valid`` or ``test`` (or 0, 1, 2); drawn where there is no such column.
        features: numbers.

    >>> Columns("person", label="team", features=("age",)).names
    ('person', 'team', 'age')
    """

    id: str
    label: str | None = None
    split: str | None = None
    features: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        more = [name for name in (self.label, self.split) if name is not None]
        return (self.id, *more, *self.features)


def save_node_ids(folder: Folder, item: Item) -> dict[str, Any]:
    """The ids of a piece, the classes in it, and sums of the features."""
    import pyarrow.compute as pc

    table, columns = read_piece(item), Columns(**item["use"])
    check_ids(item, table, [columns.id])
    found = save_ids(folder, f"table-{item['piece']}", table[columns.id])
    if found["distinct"] < len(table):
        counts = table[columns.id].value_counts()
        repeated = counts.field(0).filter(pc.greater(counts.field(1), 1))
        raise twice(repeated[0].as_py(), len(repeated))
    classes: list[Any] = []
    if columns.label is not None:
        classes = pc.unique(table[columns.label]).drop_null().to_pylist()
        if len(classes) > MOST_CLASSES:
            raise ValueError(f"column {columns.label!r} has more than {MOST_CLASSES} classes")
    x = _numbers(table, columns.features, item)
    return found | {
        "rows": len(table),
        "classes": classes,
        "sums": x.sum(0).tolist(),
        "squares": (x * x).sum(0).tolist(),
    }


def scale_of(found: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Mean and deviation of each feature, from what `save_node_ids` returned."""
    rows = max(sum(f["rows"] for f in found), 1)
    mean = np.sum([f["sums"] for f in found], 0) / rows
    spread = np.sqrt(np.maximum(np.sum([f["squares"] for f in found], 0) / rows - mean**2, 0))
    return {"mean": mean.tolist(), "spread": np.where(spread > 0, spread, 1).tolist()}


def save_values(folder: Folder, item: Item) -> int:
    """The labels, parts and features of a piece, sorted by the number of the node."""
    table, columns, piece = read_piece(item), Columns(**item["use"]), item["piece"]
    number = numbers_of(folder, "node", f"table-{piece}", item["node_starts"])
    order = np.argsort(number, kind="stable")
    y = np.full(len(number), -1, dtype=np.int32)
    if columns.label is not None:
        y = _classes(table[columns.label], item["classes"])
    part = np.full(len(number), -1, dtype=np.int32)
    if columns.split is not None:
        part = _parts(table[columns.split], item)
    x = _numbers(table, columns.features, item)
    x = (x - np.asarray(item["mean"])) / np.asarray(item["spread"])
    folder.save(f"values-number-{piece}.npy", number[order])
    folder.save(f"values-y-{piece}.npy", np.stack([y, part], 1)[order])
    folder.save(f"values-x-{piece}.npy", x.astype(np.float32)[order])
    return len(number)


def values(folder: Folder, item: Item, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """``x [nodes, d]``, ``y [nodes, 3]`` of a range of nodes, and how many of them have a row in the table.

    The channels are the features, 1, and log (1 + degree). A label is in the column of its part.
    """
    begin, end = item["range"]
    x = np.zeros((end - begin, item["features"]), dtype=np.float32)
    y = np.full((end - begin, 2), -1, dtype=np.int32)
    seen = np.zeros(end - begin, dtype=bool)
    for piece in item["pieces"]:
        number = folder.load(f"values-number-{piece}.npy")
        low, high = np.searchsorted(number, [begin, end])
        place = number[low:high] - begin
        x[place] = folder.load(f"values-x-{piece}.npy")[low:high]
        y[place] = folder.load(f"values-y-{piece}.npy")[low:high]
        seen[place] = True
    more = np.stack([np.ones(end - begin), np.log1p(degrees)], 1).astype(np.float32)
    part = y[:, 1] if item["split"] else _drawn(np.arange(begin, end), item)
    labels = np.full((end - begin, len(PARTS)), -1, dtype=np.int64)
    has = (y[:, 0] >= 0) & (part >= 0)
    labels[np.flatnonzero(has), part[has]] = y[has, 0]
    return np.concatenate([x, more], 1), labels, int(seen.sum())


def _drawn(numbers: np.ndarray, item: Item) -> np.ndarray:
    """Parts by a hash of the number of a node: the same on any number of ranks."""
    u = kernels.mixed(numbers, item["seed"]) / 2.0**64
    return np.where(u < item["test"], 2, np.where(u < item["test"] + item["valid"], 1, 0))


def _classes(column: Any, classes: list[Any]) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.compute as pc

    place = pc.index_in(column, value_set=pa.array(classes, column.type))
    return place.fill_null(-1).to_numpy().astype(np.int32)


def _parts(column: Any, item: Item) -> np.ndarray:
    """``[rows]`` 0, 1, 2, or −1 for an empty cell."""
    import pyarrow.compute as pc

    encoded = column.combine_chunks().dictionary_encode()
    known = encoded.dictionary.to_pylist()
    unknown = [v for v in known if str(v) not in _SPLITS]
    if unknown:
        raise ValueError(
            f"the column of splits of {item['source']} must have train, valid or test, got {unknown[0]!r}"
        )
    numbers = np.array([*(_SPLITS[str(v)] for v in known), -1], dtype=np.int32)
    return numbers[pc.fill_null(encoded.indices, len(known)).to_numpy()]


def _numbers(table: Any, names: Sequence[str], item: Item) -> np.ndarray:
    """``[rows, features]`` float64; an empty cell or text is a ValueError."""
    out = np.empty((len(table), len(names)))
    for i, name in enumerate(names):
        if item["types"][name] not in ("integer", "number"):
            raise ValueError(
                f"feature column {name!r} of {item['source']} must have numbers, got {item['types'][name]}"
            )
        if table[name].null_count:
            raise ValueError(
                f"feature column {name!r} of {item['source']} has {table[name].null_count} empty cells"
            )
        out[:, i] = table[name].to_numpy()
    if not np.isfinite(out).all():
        raise ValueError(f"the feature columns of {item['source']} have cells that are not finite")
    return out
