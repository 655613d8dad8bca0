"""Incidences, labels and sparse features in one ``.npz`` file (the extras and the large ones)."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from ehnn.hypergraph import Hypergraph

from .labels import as_labels

_SPARSE = ("x_data", "x_indices", "x_indptr", "x_shape")


def read_packed(path: Path) -> Hypergraph:
    """A hypergraph from arrays ``node``, ``edge`` (from 0), ``num_nodes``, ``num_edges``.

    Optional: ``y`` (class numbers, -1 where missing) and a CSR matrix in ``x_data``, ``x_indices``,
    ``x_indptr``, ``x_shape``. Nothing in the file is unpickled.
    """
    arrays = _open(path)
    num_nodes, num_edges = (_count(path, arrays, name) for name in ("num_nodes", "num_edges"))
    node = _index(path, arrays, "node", num_nodes)
    edge = _index(path, arrays, "edge", num_edges)
    if node.shape != edge.shape:
        raise ValueError(f"{path}: {node.size} entries in 'node' and {edge.size} in 'edge' do not pair up")
    y = _labels(path, arrays, num_nodes) if "y" in arrays else None
    x = _features(path, arrays, num_nodes) if "x_data" in arrays else None
    incidence = (torch.from_numpy(node), torch.from_numpy(edge))
    return Hypergraph.from_incidence(incidence, num_nodes, num_edges, x=x, y=y)


def _open(path: Path) -> dict[str, np.ndarray]:
    try:  # the file is opened here because numpy leaves it open when it is not a whole archive
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path} is not a readable .npz file of plain arrays: {error}") from error


def _array(path: Path, arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    if name not in arrays:
        raise ValueError(f"{path} has no array {name!r}; it has {sorted(arrays)}")
    return arrays[name]


def _count(path: Path, arrays: dict[str, np.ndarray], name: str) -> int:
    value = _array(path, arrays, name)
    if value.size != 1 or value.dtype.kind not in "iu" or int(value.reshape(())) < 0:
        raise ValueError(f"{path}: {name!r} must be one count, got {value!r}")
    return int(value.reshape(()))


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
    try:
        matrix = csr_array((data, indices, pointers), shape=tuple(int(n) for n in shape))
        matrix.check_format(full_check=True)
        dense = matrix.toarray().astype(np.float32)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path}: the arrays {_SPARSE} are not a CSR matrix: {error}") from error
    if dense.shape[0] != num_nodes:
        raise ValueError(f"{path}: x has {dense.shape[0]} rows, expected one per node ({num_nodes})")
    if not np.isfinite(dense).all():
        raise ValueError(f"{path}: 'x_data' holds a number that is not finite")
    return torch.from_numpy(dense)
