"""The pair ``NAME.content`` and ``NAME.edges`` (Zoo, 20Newsgroups, Mushroom, NTU2012, ModelNet40)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from ehnn.hypergraph import Hypergraph

from .labels import as_labels, number_classes
from .text import as_integers, check_rows, read_table


def read_content_edges(content: Path, edges: Path) -> Hypergraph:
    """A labelled hypergraph from ``content`` (id, features…, label) and ``edges`` (node id, hyperedge id).

    Both kinds of things share one range of ids, the nodes' below the hyperedges'. Rows of ``content`` whose
    id is not below the smallest hyperedge id describe hyperedges (or nothing at all) and are left out.
    Nodes are numbered in the order of their rows, hyperedges in the order of their ids.
    """
    node_id, edge_id = _read_edges(edges)
    table = read_table(content, label=True)
    if table.shape[1] < 2:
        raise ValueError(f"{content}: every line must hold an id, features and a label, got one column")
    row_id = as_integers(content, table[:, 0], "the id", 0)
    _check_unique(content, row_id)
    rows = np.flatnonzero(row_id < edge_id.min())
    node = _rank(edges, node_id, row_id[rows], content)
    edge_names, edge = np.unique(edge_id, return_inverse=True)
    y = as_labels(number_classes(table[rows, -1]), content)
    x = torch.from_numpy(table[rows, 1:-1].astype(np.float32))
    return Hypergraph.from_incidence(
        (torch.from_numpy(node), torch.from_numpy(edge)), len(rows), len(edge_names), x=x, y=y
    )


def _read_edges(path: Path) -> tuple[np.ndarray, np.ndarray]:
    table = read_table(path)
    if table.shape[1] != 2:
        raise ValueError(f"{path}, line 1: {table.shape[1]} columns, expected a node id and a hyperedge id")
    node, edge = (as_integers(path, table[:, i], ("the node id", "the hyperedge id")[i], 0) for i in range(2))
    check_rows(
        path, node < edge.min(), f"a node id must be below the hyperedge ids, which begin at {edge.min()}"
    )
    return node, edge


def _check_unique(path: Path, ids: np.ndarray) -> None:
    first = np.zeros(ids.size, dtype=bool)
    first[np.unique(ids, return_index=True)[1]] = True
    check_rows(path, first, "its id was given before")


def _rank(path: Path, wanted: np.ndarray, ids: np.ndarray, content: Path) -> np.ndarray:
    """The place in ``ids`` of each wanted id."""
    order = np.argsort(ids)
    place = np.searchsorted(ids, wanted, sorter=order)
    safe = order[np.minimum(place, max(ids.size - 1, 0))] if ids.size else np.zeros_like(wanted)
    found = ids[safe] == wanted if ids.size else np.zeros(wanted.size, dtype=bool)
    check_rows(path, found, f"its node id is not in {content.name}")
    return safe
