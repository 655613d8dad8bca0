"""Metabolic networks: reactions with a consumed and a produced side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_array

from ehnn._utils.untrusted import read_arrays
from ehnn.datasets.locate import data_folder
from ehnn.hypergraph import Hypergraph

FOLDER = "metabolic"
BOTH = 2
"""Role of a metabolite on both sides; 0 is consumed and 1 produced, as in `Hypergraph.from_directed`."""


@dataclass(frozen=True, eq=False)
class Reactions:
    """The reactions of a metabolic network; E reactions, N metabolites.

    Attributes:
        tails, heads: ``[E, N]`` 0/1 matrices: what a reaction consumes and what it produces.
        irreversible: ``[E]`` whether it runs in the stated direction only.
        group: ``[E]`` equal for reactions that differ only in compartment or direction.
        elements: ``[N, d]`` atoms of each element in the formula.
        compartment: ``[N]`` numbers from 0.
    """

    tails: csr_array
    heads: csr_array
    irreversible: np.ndarray
    group: np.ndarray
    elements: np.ndarray
    compartment: np.ndarray

    @property
    def two_sided(self) -> np.ndarray:
        """``[E]`` whether both sides have metabolites."""
        return (np.diff(self.tails.indptr) > 0) & (np.diff(self.heads.indptr) > 0)

    @property
    def asked(self) -> np.ndarray:
        """Numbers of the reactions whose direction is a question: irreversible, with two sides."""
        return np.flatnonzero(self.irreversible & self.two_sided)


def load_reactions(name: str, data_dir: Path | str | None = None) -> Reactions:
    """The network ``metabolic/<name>.npz`` in the folder of the data."""
    return from_arrays(read_network(name, data_dir))


def read_network(name: str, data_dir: Path | str | None = None) -> dict[str, np.ndarray]:
    """The arrays of a network."""
    return read_arrays(path_of(name, data_dir), "reactions")


def path_of(name: str, data_dir: Path | str | None = None) -> Path:
    """The file of a network."""
    folder = data_folder(data_dir)
    if folder is None:
        raise ValueError("metabolic networks are read from a folder: give data_dir, or set EHNN_DATA")
    return folder / FOLDER / f"{name}.npz"


def from_arrays(given: dict[str, np.ndarray]) -> Reactions:
    """Reactions from ``node``, ``edge``, ``side`` (−1 consumed, 1 produced) of each incidence.

    With bounds ``lb`` and ``ub`` of the flux, a reaction that only runs backwards is turned round. Without
    them a reversible reaction is one that is listed both ways.
    """
    node, edge, side = given["node"], given["edge"], given["side"].astype(np.int64)
    shape = int(given["num_edges"]), int(given["num_nodes"])
    if "lb" in given:
        backward = (given["lb"] < 0) & (given["ub"] <= 0)
        side = np.where(backward[edge], -side, side)
    tails, heads = (_matrix(edge[side == s], node[side == s], shape) for s in (-1, 1))
    listed, group = _listed_both_ways(tails, heads)
    if "lb" in given:
        listed, group = (given["lb"] < 0) & (given["ub"] > 0), given["same"]
    compartment = given.get("compartment", np.zeros(shape[1], np.int64))
    return Reactions(tails, heads, ~listed, group, given["x"].astype(np.float64), compartment)


def _matrix(row: np.ndarray, column: np.ndarray, shape: tuple[int, int]) -> csr_array:
    found = csr_array((np.ones(len(row)), (row, column)), shape)
    found.sum_duplicates()
    found.data[:] = 1
    return found


def _listed_both_ways(tails: csr_array, heads: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Whether each reaction is also there the other way round, and a number for its unordered pair of sides.

    A reaction with the same metabolites on both sides, such as a transport where compartments are not told
    apart, is its own reverse. A side is known by the sum of random 62-bit numbers of its metabolites.
    """
    mark = np.random.default_rng(0).integers(2**62, size=tails.shape[1])
    one, other = ((side.astype(np.int64) @ mark) for side in (tails, heads))
    pairs = np.stack([np.minimum(one, other), np.maximum(one, other)], 1)
    _, group = np.unique(pairs, axis=0, return_inverse=True)
    forward = one < other
    seen = np.zeros((group.max(initial=-1) + 1, 2), bool)
    seen[group, forward.astype(int)] = True
    return (seen[:, 0] & seen[:, 1])[group] | (one == other), group


def as_hypergraph(tails: csr_array, heads: csr_array) -> Hypergraph:
    """Directed hyperedges: roles 0 (consumed), 1 (produced) and 2 (on both sides)."""
    sides = (tails + 2 * heads).tocoo()
    role = np.array([0, 0, 1, BOTH])[sides.data.astype(np.int64)]
    index = torch.from_numpy(np.stack([sides.col, sides.row]).astype(np.int64))
    h = Hypergraph.from_incidence(index, tails.shape[1], tails.shape[0], roles=torch.from_numpy(role))
    return h.replace(roles=h.roles, num_roles=BOTH + 1)


def folds(group: np.ndarray, count: int, seed: int) -> np.ndarray:
    """``[n]`` a fold from 0 for each entry; entries of one group share theirs."""
    found, which = np.unique(group, return_inverse=True)
    return (np.random.default_rng(seed).permutation(len(found)) % count)[which]
