"""The labelled sets of `defaults.py`: nodes, hyperedges, incidences and whole hypergraphs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ehnn
from ehnn import datasets

Array = np.ndarray
NODES = {
    "zoo": "zoo", "20news": "20news", "mushroom": "mushroom", "ntu2012": "ntu2012", "house": "house-1",
    "house-1": "house-1", "walmart": "walmart-1",
}  # fmt: skip
BARE = ("house", "walmart")
"""Without the features that the paper's protocol makes from the labels."""
EXTRA = ("cora-cocitation", "cora-coauthorship", "congress-bills")
LABELLED = ("contact-primary-school", "pubmed-cocitation", "dblp-coauthorship", "actor", "twitch")
FILES = {name: f"hypergraphs/extra/{name}" for name in EXTRA} | {name: f"nodes/{name}" for name in LABELLED}
FILES["debian-packages"] = "scale/debian-packages"
EDGES = {name: f"edges/{name}" for name in ("dawn", "mag-10", "walmart-trip-types")}
REACTIONS = {
    name: f"metabolic/{name}" for name in ("iAB_RBC_283", "iAF692", "iHN637", "iJO1366", "yeast-gem")
}
ENZYMES = {"yeast-gem-ec": "metabolic/yeast-gem", "bigg-universe-ec": "metabolic/bigg-universe"}
ROLES = ("stack-biology", "stack-physics", "email-eu", "outsider-cora", "outsider-dblp", "outsider-pubmed")
PARTLY = {f"{name}-partly": name for name in ("stack-biology", "email-eu", "outsider-cora")}
"""The same, with single rows of any hyperedge hidden and not whole hyperedges."""
GRAPHS = (
    "imdb-dir-form", "imdb-dir-genre", "imdb-dir-genre-m", "imdb-wri-form", "imdb-wri-genre",
    "imdb-wri-genre-m", "steam-player",
)  # fmt: skip
_LEAST = 20
"""Reactions that a subsystem must have."""


@dataclass
class Data:
    """A labelled set.

    Attributes:
        task: ``"nodes"``, ``"hyperedges"``, ``"incidences"`` or ``"hypergraphs"``.
        h: the hypergraph, or a list of them.
        y: a label for each row, -1 for none; a 0/1 matrix for several.
        groups: rows of one group are on one side of a split.
        few: whether only three labels of each class are known.
    """

    task: str
    h: Any
    y: Array
    groups: Array | None = None
    few: bool = False

    @property
    def size(self) -> int:
        """Incidences."""
        return sum(h.num_incidences for h in self.h) if isinstance(self.h, list) else self.h.num_incidences


def names() -> list[str]:
    """All sets."""
    return [*NODES, *FILES, *EDGES, *REACTIONS, *ENZYMES, *ROLES, *PARTLY, *GRAPHS]


@cache
def load(name: str, data_dir: str) -> Data:
    """A set by name, once for each process."""
    import defaults_unseen as unseen

    if name in unseen.SETS:
        return unseen.SETS[name]()
    if name in PARTLY:
        return replace(load(PARTLY[name], data_dir), groups=None)
    if name in NODES:
        h = datasets.load(NODES[name], Path(data_dir) / "hypergraphs")
        assert h.y is not None
        return Data("nodes", h.replace(y=None, x=None if name in BARE else h.x), h.y.numpy())
    if name in GRAPHS:
        return _graphs(_arrays(data_dir, f"graphs/{name}"))
    files = FILES | EDGES | REACTIONS | ENZYMES | {r: f"enc/{r}" for r in ROLES}
    d = _arrays(data_dir, files[name])
    h = _hypergraph(d, name)
    if name in FILES:
        return Data("nodes", h, np.asarray(d["y"]).astype(np.int64))
    if name in ROLES:
        return _roles(h, d)
    y = np.asarray(d["ec" if name in ENZYMES else "y"]).astype(np.int64)
    if name in ENZYMES:
        y = np.where(y > 0, y, -1)
    count = np.bincount(y[y >= 0])
    y = np.where((y >= 0) & (count[np.maximum(y, 0)] >= (_LEAST if name not in EDGES else 1)), y, -1)
    return Data("hyperedges", h, y, d.get("same"))


def _arrays(data_dir: str, name: str) -> dict[str, Array]:
    with np.load(Path(data_dir) / f"{name}.npz") as file:
        return {key: file[key] for key in file.files}


def _hypergraph(d: dict[str, Array], name: str) -> ehnn.Hypergraph:
    from scipy.sparse import csr_matrix

    node, edge, n, m = d["node"], d["edge"], int(d["num_nodes"]), int(d["num_edges"])
    parts = []
    if "x_data" in d:
        parts.append(csr_matrix((d["x_data"], d["x_indices"], d["x_indptr"]), d["x_shape"]).toarray())
    elif "x" in d and d["x"].shape[0] == n:
        parts.append(d["x"])
    if "num_x" in d:
        parts.append(d["num_x"])
    if name == "debian-packages":  # tags were given by people who knew the section
        kept = d["kind"][edge] != 6
        node, edge = node[kept], edge[kept]
    rows = [p if len(p) == n else np.concatenate([p, np.zeros((n - len(p), p.shape[1]))]) for p in parts]
    x = torch.from_numpy(np.concatenate(rows, 1)).float() if rows else None
    return ehnn.Hypergraph.from_incidence((node, edge), n, m, x=x)


def _roles(h: ehnn.Hypergraph, d: dict[str, Array]) -> Data:
    """Labels of incidences; of a node that is twice in a hyperedge the first counts."""
    key, first = np.unique(d["edge"].astype(np.int64) * h.num_nodes + d["node"], return_index=True)
    node, edge = h.index.numpy()
    label = d["label"][first[np.searchsorted(key, edge * h.num_nodes + node)]]
    return Data("incidences", h, label.astype(np.int64), d["base"][edge] if "base" in d else edge)


def _graphs(d: dict[str, Array]) -> Data:
    order = np.argsort(d["edge"], kind="stable")
    node, edge = d["node"][order], d["edge"][order]
    start = np.searchsorted(edge, d["edge_ptr"])
    members = []
    for i, (a, b) in enumerate(pairwise(start)):
        first, last = d["node_ptr"][i], d["node_ptr"][i + 1]
        pairs = (node[a:b] - first, edge[a:b] - d["edge_ptr"][i])
        edges = int(d["edge_ptr"][i + 1] - d["edge_ptr"][i])
        members.append(ehnn.Hypergraph.from_incidence(pairs, int(last - first), edges))
    return Data("hypergraphs", members, np.asarray(d["y"]).astype(np.int64))


def split(data: Data, seed: int) -> tuple[Array, Array, Array]:
    """Row numbers of half, a quarter and a quarter of the labelled rows (or of their groups).

    With ``few`` two labels of each class are for training, one for validation, all others for the test.
    """
    rows = np.flatnonzero(data.y >= 0) if data.y.ndim == 1 else np.arange(len(data.y))
    generator = np.random.default_rng([7, seed])
    if data.few:
        order = [generator.permutation(np.flatnonzero(data.y == c)) for c in np.unique(data.y)]
        first, second, rest = (
            np.concatenate([o[a:b] for o in order]) for a, b in ((0, 2), (2, 3), (3, None))
        )
        return first, second, rest
    if data.groups is None:
        order = generator.permutation(rows)
        return (
            order[: len(rows) // 2],
            order[len(rows) // 2 : len(rows) * 3 // 4],
            order[len(rows) * 3 // 4 :],
        )
    found, place = np.unique(data.groups[rows], return_inverse=True)
    part = generator.permutation(np.arange(len(found)) % 4)[place]
    return rows[part < 2], rows[part == 2], rows[part == 3]
