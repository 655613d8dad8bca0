"""Incidences, labels and sparse features in one ``.npz`` file (the extras and the large ones)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from ehnn._utils.untrusted import read_arrays, shortened
from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph
from ehnn.io._support import check_bound

from .labels import as_labels

_SPARSE = ("x_data", "x_indices", "x_indptr", "x_shape")
MIN_CELLS, CELLS_PER_ENTRY = 8_000_000, 200
"""Features are dense: a matrix may have so many cells, and so many for each entry that is stored."""


def read_packed(path: Path) -> Hypergraph:
    """A hypergraph from arrays ``node``, ``edge`` (from 0), ``num_nodes``, ``num_edges``.

    Optional: ``y`` (class numbers, -1 where missing) and a CSR matrix in ``x_data``, ``x_indices``,
    ``x_indptr``, ``x_shape``. Nothing in the file is unpickled.
    """
    arrays = read_arrays(path, "a hypergraph")
    num_nodes, num_edges = (_count(path, arrays, name) for name in ("num_nodes", "num_edges"))
    node = _index(path, arrays, "node", num_nodes)
    edge = _index(path, arrays, "edge", num_edges)
    if node.shape != edge.shape:
        raise ValueError(f"{path}: {node.size} entries in 'node' and {edge.size} in 'edge' do not pair up")
    y = _labels(path, arrays, num_nodes) if "y" in arrays else None
    x = _features(path, arrays, num_nodes) if "x_data" in arrays else None
    incidence = (torch.from_numpy(node), torch.from_numpy(edge))
    return Hypergraph.from_incidence(incidence, num_nodes, num_edges, x=x, y=y)


def _array(path: Path, arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    if name not in arrays:
        raise ValueError(f"{path} has no array {name!r}; it has {short(sorted(arrays), 300)}")
    return arrays[name]


def _count(path: Path, arrays: dict[str, np.ndarray], name: str) -> int:
    value = _array(path, arrays, name)
    if value.size != 1 or value.dtype.kind not in "iu" or int(value.reshape(())) < 0:
        raise ValueError(f"{path}: {name!r} must be one count, got {short(value)}")
    found = int(value.reshape(()))
    entries = _array(path, arrays, "node").size
    check_bound(found - 1, entries, name.removeprefix("num_").removesuffix("s"), lambda: str(path))
    return found


def _index(path: Path, arrays: dict[str, np.ndarray], name: str, size: int) -> np.ndarray:
    value = _array(path, arrays, name)
    if value.ndim != 1 or value.dtype.kind not in "iu":
        raise ValueError(f"{path}: {name!r} must be a vector of integers, got {value.dtype} {value.shape}")
    bad = np.flatnonzero((value < 0) | (value >= size))
    if bad.size:
        raise ValueError(f"{path}: {name!r}[{bad[0]}] must be in [0, {size}), got {value[bad[0]]}")
    return value.astype(np.int64)


def _labels(path: Path, arrays: dict[str, np.ndarray], num_nodes: int) -> Tensor:
    y = arrays["y"]
    if y.shape != (num_nodes,) or y.dtype.kind not in "iu":
        raise ValueError(f"{path}: 'y' must be {num_nodes} integers, got {y.dtype} {y.shape}")
    return as_labels(np.maximum(y.astype(np.int64), -1), path)


def _features(path: Path, arrays: dict[str, np.ndarray], num_nodes: int) -> Tensor:
    data, indices, pointers, shape = (_array(path, arrays, name) for name in _SPARSE)
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or data.dtype.kind not in "iufb":
        raise ValueError(f"{path}: 'x_shape' must be two counts and 'x_data' numbers, got {short(shape)}")
    rows, columns = map(int, shape)
    if rows != num_nodes:
        raise ValueError(f"{path}: x has {rows} rows, expected one per node ({num_nodes})")
    if rows * columns > max(MIN_CELLS, CELLS_PER_ENTRY * data.size):
        raise ValueError(f"{path}: {data.size:,} entries are too few for features of shape {(rows, columns)}")
    try:
        matrix = csr_array((data.astype(np.float32), indices, pointers), shape=(rows, columns))
        matrix.check_format(full_check=True)
        dense = matrix.toarray()
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path}: the arrays {_SPARSE} are not a CSR matrix: {shortened(error)}") from error
    if not np.isfinite(dense).all():
        raise ValueError(f"{path}: 'x_data' holds a number that is not finite")
    return torch.from_numpy(dense)
