"""Labelled hypergraphs from one ``.npz`` file."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.untrusted import read_arrays
from ehnn.hypergraph import Hypergraph

DATASETS = (
    "imdb-dir-form", "imdb-dir-genre", "imdb-dir-genre-m", "imdb-wri-form", "imdb-wri-genre",
    "imdb-wri-genre-m", "steam-player",
)  # fmt: skip
FOLDS = 5
_KEYS = {"node", "edge", "node_ptr", "edge_ptr", "y"}


@dataclass(frozen=True)
class Labelled:
    """Hypergraphs and their labels.

    Attributes:
        members: the hypergraphs, without features.
        y: ``[members]`` classes, or a 0/1 matrix ``[members, labels]`` where each has several.
    """

    members: list[Hypergraph]
    y: Tensor

    @property
    def num_outputs(self) -> int:
        """Classes, or labels."""
        return self.y.shape[1] if self.y.dim() == 2 else int(self.y.max()) + 1


def read_graphs(path: Path) -> Labelled:
    """The hypergraphs of a file: ``node`` and ``edge`` run through all of them, cut by ``…_ptr``."""
    d = read_arrays(path, "labelled hypergraphs")
    missing = _KEYS - d.keys()
    if missing:
        raise ValueError(f"{path} has no array {sorted(missing)[0]!r}; it has {sorted(d)}")
    order = np.argsort(d["edge"], kind="stable")
    node, edge = d["node"][order], d["edge"][order]
    start = np.searchsorted(edge, d["edge_ptr"])
    cuts = (pairwise(bounds.tolist()) for bounds in (start, d["node_ptr"], d["edge_ptr"]))
    members = [
        Hypergraph.from_incidence((node[a:b] - n, edge[a:b] - e), last - n, end - e)
        for (a, b), (n, last), (e, end) in zip(*cuts, strict=True)
    ]
    y = torch.from_numpy(d["y"].astype(np.int64))
    if len(y) != len(members):
        raise ValueError(f"{path}: {len(members)} hypergraphs have {len(y)} labels")
    return Labelled(members, y)


def parts_of(y: Tensor, seed: int) -> Tensor:
    """``[FOLDS, members]``: 0 training, 1 validation, 2 test of each fold.

    Every hypergraph is tested in one fold. A fifth of the others is for validation. Folds are drawn within
    the classes where a hypergraph has one class.

    >>> parts = parts_of(torch.tensor([0, 1] * 25), seed=0)
    >>> (parts == 2).sum(1).tolist(), (parts == 1).sum(1).tolist()
    ([10, 10, 10, 10, 10], [8, 8, 8, 8, 8])
    """
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(y), generator=generator)
    if y.dim() == 1:
        order = order[torch.sort(y[order], stable=True).indices]
    place = torch.empty(len(y), dtype=torch.int64)
    place[order] = torch.arange(len(y))
    parts = torch.zeros(FOLDS, len(y), dtype=torch.int64)
    for fold in range(FOLDS):
        test = place % FOLDS == fold
        rest = order[~test[order]]
        parts[fold, rest[fold % FOLDS :: FOLDS]] = 1
        parts[fold, test] = 2
    return parts
