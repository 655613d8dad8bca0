"""ScHoLP archives: ``NAME-nverts.txt`` (orders) and ``NAME-simplices.txt`` (nodes, from 1)."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch

from ehnn.hypergraph import Hypergraph
from ehnn.io._support import BOUND_PER_ENTRY, MIN_BOUND

from .archive import extract
from .text import as_integers, read_table


def read_simplices_archive(archive: Path, name: str) -> Hypergraph:
    """The unlabelled hypergraph in ``NAME.tar.gz``, unpacked into a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="ehnn-") as folder:
        root = extract(archive, Path(folder))
        found = [sorted(root.rglob(f"{name}-{part}.txt")) for part in ("nverts", "simplices")]
        if not all(found):
            raise ValueError(f"{archive} must hold {name}-nverts.txt and {name}-simplices.txt")
        try:
            return read_simplices(found[0][0], found[1][0])
        except ValueError as error:  # of a file that is gone by now
            raise ValueError(str(error).replace(folder, str(archive))) from error


def read_simplices(orders: Path, nodes: Path) -> Hypergraph:
    """One hyperedge for each line of ``orders``, of that many consecutive lines of ``nodes``."""
    listed = read_table(nodes)[:, 0]
    lengths = as_integers(orders, read_table(orders)[:, 0], "the number of nodes", 0, high=listed.size)
    most = max(MIN_BOUND, BOUND_PER_ENTRY * listed.size)
    node = as_integers(nodes, listed, "the node", 1, high=most) - 1
    if lengths.sum() != node.size:
        raise ValueError(
            f"{nodes} has {node.size} lines, expected {lengths.sum()} as {orders.name} adds up to"
        )
    edge = np.repeat(np.arange(lengths.size), lengths)
    incidence = (torch.from_numpy(node), torch.from_numpy(edge))
    # The collection numbers its nodes from 1 to the last, and states their number nowhere else.
    return Hypergraph.from_incidence(incidence, int(node.max()) + 1 if node.size else 0, lengths.size)
