"""Positions of the nodes and hyperedges of a small hypergraph in a drawing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehnn.hypergraph import Hypergraph

MAX_NODES, MAX_EDGES = 60, 40
"""More than these are a tangle: then orders and degrees say more than a drawing."""

_STEPS = 400


@dataclass(frozen=True)
class Drawing:
    """Places in the unit square.

    Attributes:
        nodes: ``[num_nodes, 2]``.
        hubs: ``[num_edges, 2]``, one for each hyperedge, amid its nodes.
        edges: node numbers of each hyperedge.
    """

    nodes: np.ndarray
    hubs: np.ndarray
    edges: list[list[int]]


def drawable(h: Hypergraph) -> bool:
    """Whether `drawing` takes ``h``: at most 60 nodes and 40 hyperedges."""
    return h.num_nodes <= MAX_NODES and h.num_edges <= MAX_EDGES


def drawing(h: Hypergraph) -> Drawing:
    """A layout of a small hypergraph; the same for the same hypergraph.

    Each hyperedge becomes a hub with a spring to each of its nodes, and all repel each other (Fruchterman and
    Reingold, 1991); then nodes that are too close are pushed apart.

    >>> drawing(Hypergraph.from_edges([[0, 1, 2], [2, 3]])).nodes.shape
    (4, 2)
    """
    if not drawable(h):
        raise ValueError(
            f"at most {MAX_NODES} nodes and {MAX_EDGES} hyperedges can be drawn, "
            f"got {h.num_nodes} and {h.num_edges}"
        )
    n, m = h.num_nodes, h.num_edges
    node, edge = h.index.cpu().numpy()
    spring = np.zeros((n + m, n + m))
    spring[node, n + edge] = spring[n + edge, node] = 1
    places = _relax(spring)
    places = _fit(_apart(_fit(places), n))
    return Drawing(places[:n], places[n:], h.edges())


def _relax(spring: np.ndarray) -> np.ndarray:
    """``[points, 2]`` after the forces have been followed with ever smaller steps."""
    count = spring.shape[0]
    # A sunflower: spread evenly, no two alike, and no random numbers.
    turn = np.arange(count) * np.pi * (3 - np.sqrt(5))
    places = np.sqrt(np.arange(count) + 0.5)[:, None] * np.stack([np.cos(turn), np.sin(turn)], 1)
    for step in np.linspace(1.0, 0.01, _STEPS):
        gap = places[:, None] - places[None]
        distance = np.sqrt((gap**2).sum(-1)) + 1e-3
        # Springs pull with d², pairs repel with 1/d² (a short reach), and a pull to the middle keeps separate
        # parts in view.
        force = 1 / distance**2 - spring * distance**2
        push = (gap / distance[..., None] * force[..., None]).sum(1) - 0.12 * places
        length = np.sqrt((push**2).sum(-1, keepdims=True)) + 1e-9
        places = places + push / length * np.minimum(length, step)
    return places


def _apart(places: np.ndarray, nodes: int, least: float = 0.06) -> np.ndarray:
    """Nodes at least about ``least`` from each other."""
    places = places.copy()
    for _ in range(50):
        gap = places[:nodes, None] - places[None, :nodes]
        distance = np.sqrt((gap**2).sum(-1)) + 1e-9
        short = np.clip(least - distance, 0, None)
        np.fill_diagonal(short, 0)
        places[:nodes] += 0.5 * (gap / distance[..., None] * short[..., None]).sum(1)
    return places


def _fit(places: np.ndarray) -> np.ndarray:
    """Into the unit square, with one scale for both directions."""
    if not len(places):
        return places
    low, high = places.min(0), places.max(0)
    size = max((high - low).max(), 1e-9)
    return 0.5 + (places - (low + high) / 2) / size


def hull(points: np.ndarray) -> np.ndarray:
    """``[corners, 2]`` of the convex hull of ``[points, 2]``, in order around it.

    >>> hull(np.array([[0, 0], [2, 0], [1, 1], [1, 0.5], [1, 3]])).tolist()
    [[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]]
    """
    ordered = np.unique(points.astype(float), axis=0)
    if len(ordered) < 3:
        return ordered
    chains = [_chain(ordered), _chain(ordered[::-1])]
    return np.concatenate([chain[:-1] for chain in chains])


def _chain(points: np.ndarray) -> np.ndarray:
    """Left turns only (the lower or upper half of a monotone chain)."""
    kept: list[np.ndarray] = []
    for point in points:
        while len(kept) > 1 and _turn(kept[-2], kept[-1], point) <= 0:
            kept.pop()
        kept.append(point)
    return np.array(kept)


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
