"""Sets for `defaults.py` that are not in the data folder: small, noisy or lopsided ones.

    python paper/experiments/defaults.py --data-dir DATA --datasets unseen --threads 1

Tables of scikit-learn become hypergraphs: a hyperedge for each row with its five nearest rows (``…-near``),
or for each fifth of the values of each column (``…-bins``); ``…-noisy`` are ``…-near`` with 100 columns of
noise more. Graphs of NetworkX have a hyperedge for each closed neighbourhood. Of sets called ``…-few`` three
labels of each class are known. Made sets have labels, features or hyperedges that say nothing, a huge class,
or few rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import defaults_data as sets
import networkx
import numpy as np
import torch

import ehnn

Array = np.ndarray


def near(x: Array, y: Array) -> sets.Data:
    """A hyperedge for each row and its five nearest."""
    from sklearn.neighbors import NearestNeighbors

    scaled = (x - x.mean(0)) / np.maximum(x.std(0), 1e-9)
    return _data(NearestNeighbors(n_neighbors=6).fit(scaled).kneighbors(scaled)[1].tolist(), x, y)


def bins(x: Array, y: Array) -> sets.Data:
    """A hyperedge for each fifth of the values of each column."""
    place = np.stack([np.searchsorted(np.quantile(c, (0.2, 0.4, 0.6, 0.8)), c) for c in x.T], 1)
    edges = [np.flatnonzero(c == k).tolist() for c in place.T for k in range(5)]
    return _data([e for e in edges if e], x, y)


def noisy(x: Array, y: Array) -> sets.Data:
    """`near`, and 100 columns of noise among the features."""
    data = near(x, y)
    noise = torch.from_numpy(np.random.default_rng(12).standard_normal((len(y), 100))).float()
    return replace(data, h=data.h.replace(x=torch.cat([data.h.x, noise], 1)))


def _data(edges: list[list[int]], x: Array | None, y: Array) -> sets.Data:
    given = None if x is None else torch.from_numpy(np.asarray(x)).float()
    return sets.Data("nodes", ehnn.Hypergraph.from_edges(edges, len(y), x=given), y)


def _table(name: str, shape: Callable[[Array, Array], sets.Data], few: bool = False) -> sets.Data:
    from sklearn import datasets

    return replace(shape(*getattr(datasets, f"load_{name}")(return_X_y=True)), few=few)


def _graph(graph: networkx.Graph, y: Array) -> sets.Data:
    place = {node: i for i, node in enumerate(graph)}
    return _data([[place[v] for v in (node, *graph[node])] for node in graph], None, y)


def _karate() -> sets.Data:
    graph = networkx.karate_club_graph()
    return _graph(graph, np.array([int(graph.nodes[v]["club"] == "Officer") for v in graph]))


def _miserables() -> sets.Data:
    graph = networkx.les_miserables_graph()
    groups = networkx.community.greedy_modularity_communities(graph)
    return _graph(graph, np.array([next(i for i, g in enumerate(groups) if v in g) for v in graph]))


def _davis() -> sets.Data:
    """Women and the events that they came to; the two groups of Davis, Gardner and Gardner (1941)."""
    graph = networkx.davis_southern_women_graph()
    women = graph.graph["top"]
    place = {v: i for i, v in enumerate(women)}
    edges = [[place[v] for v in graph[e]] for e in graph.graph["bottom"]]
    return _data(edges, None, (np.arange(len(women)) >= 9).astype(np.int64))


def made(rows: int, classes: int, x: float, company: float, share: float | None = None) -> sets.Data:
    """``rows`` nodes, 6 noisy features that tell the class by ``x``, and hyperedges of 4 nodes.

    ``company`` is the share of hyperedges within one class, ``share`` that of the first class (None: all
    classes are alike).
    """
    random = np.random.default_rng(11)
    y = random.integers(0, classes, rows)
    if share is not None:
        y = np.where(random.random(rows) < share, 0, random.integers(1, classes, rows))
    features = random.standard_normal((rows, 6)) + x * random.standard_normal((classes, 6))[y]
    edges = []
    for _ in range(rows):
        of_one = np.flatnonzero(y == random.choice(y))
        from_all = random.random() >= company or len(of_one) < 4
        edges.append(random.choice(rows if from_all else of_one, 4, replace=False).tolist())
    return _data(edges, features, y)


SETS: dict[str, Callable[[], sets.Data]] = {
    "karate": _karate,
    "davis": _davis,
    "miserables": _miserables,
    **{
        f"{table}-{shape.__name__}": partial(_table, table, shape)
        for table in ("iris", "wine", "breast_cancer", "digits")
        for shape in (near, bins)
    },
    **{f"{table}-noisy": partial(_table, table, noisy) for table in ("iris", "wine", "breast_cancer")},
    "wine-few": partial(_table, "wine", near, True),
    "digits-few": partial(_table, "digits", near, True),
    "tiny": partial(made, 40, 2, x=0.7, company=0.5),
    "noise": partial(made, 300, 3, x=0.0, company=0.0),
    "huge-class": partial(made, 400, 3, x=0.7, company=0.3, share=0.95),
    "features-idle": partial(made, 300, 3, x=0.0, company=0.6),
    "structure-idle": partial(made, 300, 3, x=0.7, company=0.0),
}
