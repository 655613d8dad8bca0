"""The datasets of labels of hyperedges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

import ehnn
from ehnn._utils.untrusted import read_arrays
from ehnn.datasets.locate import data_folder

Array = np.ndarray
DATASETS = {
    "mag-10": ("edges/mag-10", "y"), "walmart-trip-types": ("edges/walmart-trip-types", "y"),
    "iAB_RBC_283": ("metabolic/iAB_RBC_283", "y"), "iAF692": ("metabolic/iAF692", "y"),
    "iHN637": ("metabolic/iHN637", "y"), "iJO1366": ("metabolic/iJO1366", "y"),
    "yeast-gem": ("metabolic/yeast-gem", "y"), "yeast-gem, EC": ("metabolic/yeast-gem", "ec"),
    "bigg-universe, EC": ("metabolic/bigg-universe", "ec"),
}  # fmt: skip
"""File and key of the labels: conferences, kinds of trip, subsystems, EC classes."""
LEAST = 20
"""Reactions that a class must have."""


@dataclass(frozen=True)
class Labelled:
    """A hypergraph with a label and a part for each hyperedge.

    Attributes:
        h: with roles (0 consumed, 1 produced, 2 both) and features of nodes where there are any.
        y: ``[num_edges]``, -1 for none.
        part: ``[num_edges]``: 0 to train on, 1 to choose by, 2 to test on.
    """

    h: ehnn.Hypergraph
    y: Array
    part: Array

    def rows(self, *parts: int) -> Array:
        """The labelled hyperedges of the parts."""
        return np.flatnonzero((self.y >= 0) & np.isin(self.part, parts))


@lru_cache(maxsize=1)
def load(name: str, split: int, data_dir: str | None) -> Labelled:
    """A dataset of `DATASETS` with a split: the shipped one, or the ``split``-th of 60/20/20 by groups.

    Reactions that differ in compartment or direction alone are in one part.
    """
    key = DATASETS[name][1]
    d = read_arrays(path_of(name, data_dir), "labels of hyperedges")
    y = d[key].astype(np.int64)
    if key == "ec":
        y = np.where(y > 0, y, -1)
    if "split" in d:
        return Labelled(_hypergraph(d), y, d["split"].astype(np.int64))
    count = np.bincount(y[y >= 0])
    y = np.where((y >= 0) & (count[np.maximum(y, 0)] >= LEAST), y, -1)
    y[y >= 0] = np.unique(y[y >= 0], return_inverse=True)[1]
    _, group = np.unique(d["same"], return_inverse=True)
    drawn = np.random.default_rng([28, split]).permutation(np.arange(group.max() + 1) % 5)
    return Labelled(_hypergraph(d), y, np.array([0, 0, 0, 1, 2])[drawn][group])


def path_of(name: str, data_dir: str | None) -> Path:
    """The file of a dataset of `DATASETS`."""
    folder = data_folder(data_dir)
    if folder is None:
        raise ValueError("data are read from a folder: give --data-dir, or set EHNN_DATA")
    return folder / f"{DATASETS[name][0]}.npz"


def _hypergraph(d: dict[str, Array]) -> ehnn.Hypergraph:
    node, edge = (d[name].astype(np.int64) for name in ("node", "edge"))
    n, m = int(d["num_nodes"]), int(d["num_edges"])
    if "side" not in d:
        return ehnn.Hypergraph.from_incidence((node, edge), n, m)
    key, pair = np.unique(edge * n + node, return_inverse=True)
    tail, head = (np.bincount(pair, d["side"] == side, len(key)) > 0 for side in (-1, 1))
    roles = np.where(tail & head, 2, np.where(head, 1, 0))
    x = torch.from_numpy(d["x"]).float() if "x" in d and d["x"].shape[0] == n else None
    return ehnn.Hypergraph.from_incidence((key % n, key // n), n, m, x=x, roles=roles)
