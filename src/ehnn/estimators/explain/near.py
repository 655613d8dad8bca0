"""The neighbourhood of a row: what is left out of it is not left out of all the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.build import rebuild
from ehnn.hypergraph.pairs import pairs_from_coo

Array = np.ndarray
LARGE, _LEVELS = 500, 3
"""Larger hyperedges are represented by so many of their members; steps from the row."""


@dataclass(frozen=True)
class Near:
    """A part of a hypergraph.

    Attributes:
        h: the part, without names and labels.
        nodes, edges, incidences: their numbers in the whole.
        whole: whether it is all of it.
    """

    h: Hypergraph
    nodes: Array
    edges: Array
    incidences: Array
    whole: bool


def neighbourhood(h: Hypergraph, start: Array, most: int, first: Array | None = None) -> Near:
    """At most ``most`` incidences around the nodes ``start``.

    Whole hyperedges are taken, nearest first and among these the small ones first (the hyperedges ``first``
    before all others). Of hyperedges of more than 500 members a fixed random part is taken.
    """
    node, edge = h.index.numpy()
    if len(node) <= most:
        return _part(h, np.arange(len(node)), np.arange(h.num_nodes), np.arange(h.num_edges), True)
    order = h.orders.numpy()
    reached = np.zeros(h.num_nodes, bool)
    reached[start] = True
    share = np.minimum(1.0, LARGE / np.maximum(order, 1))
    drawn = (np.random.default_rng(0).random(len(node)) < share[edge]) | reached[node]
    sizes = np.bincount(edge[drawn], minlength=h.num_edges)
    taken, tried, room = np.zeros(h.num_edges, bool), np.zeros(h.num_edges, bool), most
    if first is not None:
        tried[first] = taken[first] = True
        room -= int(sizes[first].sum())
    for _ in range(_LEVELS):
        found = np.unique(edge[reached[node]])
        found = found[~tried[found]]
        found = found[np.argsort(sizes[found], kind="stable")]
        kept = found[np.cumsum(sizes[found]) <= room]
        tried[found] = taken[kept] = True
        room -= int(sizes[kept].sum())
        reached[node[taken[edge] & drawn]] = True
        if len(kept) < len(found):
            break
    incidences = np.flatnonzero(taken[edge] & drawn)
    return _part(h, incidences, np.flatnonzero(reached), np.flatnonzero(taken), False)


def _part(h: Hypergraph, incidences: Array, nodes: Array, edges: Array, whole: bool) -> Near:
    h = h.replace(y=None, node_names=None, edge_names=None)
    part = h if whole else select(h, incidences, nodes, edges)
    return Near(part, nodes, edges, incidences, whole)


def select(h: Hypergraph, incidences: Array, nodes: Array, edges: Array) -> Hypergraph:
    """``h`` with these incidences, nodes and hyperedges alone (ascending numbers)."""
    node, edge = (v[torch.from_numpy(incidences)] for v in h.index)
    row = torch.from_numpy(np.searchsorted(edges, edge.numpy()))
    col = torch.from_numpy(np.searchsorted(nodes, node.numpy()))
    pairs, order = pairs_from_coo(row, col, len(edges), len(nodes), True)
    places = torch.from_numpy(incidences)
    return rebuild(h, pairs, places if order is None else places[order], _rows(nodes), _rows(edges))


def without(h: Hypergraph, dropped: Array) -> Hypergraph:
    """``h`` without some of its incidences (numbers)."""
    if not len(dropped):
        return h
    kept = np.setdiff1d(np.arange(h.num_incidences), dropped)
    return select(h, kept, np.arange(h.num_nodes), np.arange(h.num_edges))


def _rows(numbers: Array) -> Tensor:
    return torch.from_numpy(numbers)
