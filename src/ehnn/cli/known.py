"""New sets beside those of training, among which a model of sets knows its way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.io._names import factorize

SHARE, PASSES = 100, 1000
"""New nodes are added a few at a time, one for so many that are known, but in no more than so many parts."""


def beside(
    known: Hypergraph, new: Hypergraph, chosen: np.ndarray
) -> Iterator[tuple[Hypergraph, Tensor, Tensor]]:
    """``chosen`` nodes of ``new`` among those of ``known``, a few at a time; hyperedges of one name are one.

    How often a member occurs, and so what a model sees of it, is nearly what it was in training, however many
    or few sets are asked about. A node of ``new`` with the name, the hyperedges and the features of one of
    ``known`` is that one.

    Yields:
        a hypergraph with features, ``[n]`` nodes of it, and ``[n]`` the nodes of ``new`` that they are; each
        chosen one comes once.
    """
    edges, names = factorize(_names(new.edge_names), _names(known.edge_names))
    nodes, _ = factorize(_names(new.node_names), _names(known.node_names))
    node, edge = new.index[0].numpy(), edges[new.index[1].numpy()]
    same = chosen & _same(known, new, nodes, node, edge, len(names))
    if same.any():
        old = np.flatnonzero(same)
        yield known, torch.from_numpy(nodes[old]), torch.from_numpy(old)
    others = np.flatnonzero(chosen & ~same)
    size = max(known.num_nodes // SHARE, -(-len(others) // PASSES), 1)
    for start in range(0, len(others), size):
        chunk = others[start : start + size]
        place = np.full(new.num_nodes, -1)
        place[chunk] = known.num_nodes + np.arange(len(chunk))
        kept = place[node] >= 0
        index = torch.from_numpy(np.stack([place[node[kept]], edge[kept]]))
        rows = torch.from_numpy(chunk)
        joined = Hypergraph.from_incidence(
            torch.cat([known.index, index], 1),
            known.num_nodes + len(chunk),
            len(names),
            x=None if known.x is None or new.x is None else torch.cat([known.x, new.x[rows]]),
        )
        yield joined, torch.from_numpy(place[chunk]), rows


def mostly_of(known: Hypergraph, new: Hypergraph) -> np.ndarray:
    """``[new.num_nodes]``: whether at least half of the hyperedges of a node are known by name."""
    edges, _ = factorize(_names(new.edge_names), _names(known.edge_names))
    node, edge = new.index.numpy()
    there = np.bincount(node[edges[edge] < known.num_edges], minlength=new.num_nodes)
    return 2 * there >= new.degrees.numpy()


def _names(names: Sequence[object] | None) -> list[str]:
    return [] if names is None else list(map(str, names))


def _same(
    known: Hypergraph, new: Hypergraph, nodes: np.ndarray, node: np.ndarray, edge: np.ndarray, width: int
) -> np.ndarray:
    """``[new.num_nodes]``: whether a node has the hyperedges and features of the known one of its name."""
    named = nodes < known.num_nodes
    place = np.where(named, nodes, 0)
    there = known.index[0].numpy() * width + known.index[1].numpy()
    shared = np.bincount(node[np.isin(place[node] * width + edge, there)], minlength=new.num_nodes)
    degrees = new.degrees.numpy()
    same = named & (shared == degrees) & (known.degrees.numpy()[place] == degrees)
    if known.x is None or new.x is None or not known.num_nodes:
        return same
    alike = torch.isclose(known.x[torch.from_numpy(place)], new.x, rtol=1e-4, atol=1e-6)
    return same & alike.all(1).numpy()
