"""The datasets of labels of incidences, and what models read beside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import svds
from torch import Tensor

import ehnn
from ehnn._utils.atomic import atomic_write
from ehnn._utils.untrusted import read_arrays
from ehnn.datasets.locate import data_folder

RANK = 44
SPLITS = {"shipped": "split", "strict": "split_strict"}
DATASETS = {
    "email-eu": ("shipped",), "stack-biology": ("shipped",), "stack-physics": ("shipped",),
    "outsider-cora": ("shipped", "strict"), "outsider-dblp": ("shipped", "strict"),
    "outsider-pubmed": ("shipped", "strict"),
}  # fmt: skip
"""Names, and the splits that they have."""


@dataclass(frozen=True)
class Labelled:
    """A hypergraph with a label and a part for each incidence.

    Attributes:
        y: ``[num_incidences]``.
        part: ``[num_incidences]``: 0 to train on, 1 to choose by, 2 to test on.
    """

    h: ehnn.Hypergraph
    y: Tensor
    part: Tensor


@lru_cache(maxsize=2)
def load(name: str, split: str, data_dir: str | None) -> Labelled:
    """A dataset of `DATASETS`; of a node that is twice in a hyperedge the first label counts."""
    d = read_arrays(path_of(name, data_dir), "labels of incidences")
    n, m = int(d["num_nodes"]), int(d["num_edges"])
    x = None
    if "x_data" in d:
        x = csr_array((d["x_data"], d["x_indices"], d["x_indptr"]), tuple(d["x_shape"])).toarray()
    h = ehnn.Hypergraph.from_incidence((d["node"], d["edge"]), n, m, x=x)
    key, first = np.unique(d["edge"] * n + d["node"], return_index=True)
    node, edge = h.index.numpy()
    label = d["label"][first[np.searchsorted(key, edge * n + node)]].astype(np.int64)
    part = torch.from_numpy(d[SPLITS[split]][edge].astype(np.int64))
    return Labelled(h, torch.from_numpy(label), part)


def path_of(name: str, data_dir: str | None) -> Path:
    """The file of a dataset."""
    folder = data_folder(data_dir)
    if folder is None:
        raise ValueError("data are read from a folder: give --data-dir, or set EHNN_DATA")
    return folder / "enc" / f"{name}.npz"


def vectors(h: ehnn.Hypergraph, path: Path) -> Tensor:
    """``[num_nodes, 44]`` standardised left singular vectors of D_v^-½ H D_e^-½, kept in a file."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, "wb") as file:
            np.savez_compressed(file, vectors=_singular(h).astype(np.float16))
    return torch.from_numpy(read_arrays(path, "vectors of nodes")["vectors"].astype(np.float32))


def _singular(h: ehnn.Hypergraph) -> np.ndarray:
    node, edge = h.index.numpy()
    matrix = csr_array((np.ones(len(node)), (node, edge)), (h.num_nodes, h.num_edges))
    of_nodes, of_edges = (diags_array(1 / np.sqrt(np.maximum(t.numpy(), 1))) for t in (h.degrees, h.orders))
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    left = svds(of_nodes @ matrix @ of_edges, RANK, v0=start)[0]
    return (left - left.mean(0)) / (left.std(0) + 1e-9)
