"""The datasets of the benchmark, each with features for every node."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_array

from ehnn._utils.untrusted import read_arrays
from ehnn.datasets import load, loading
from ehnn.datasets.edge_lines import noisy_labels
from ehnn.datasets.packed import read_packed
from ehnn.estimators.features import structural_features
from ehnn.hypergraph import Hypergraph
from ehnn.tasks.hyperedges.sets import keep_edges
from ehnn_paper.digest import digest

NOT_RANKED = ("zoo",)
"""Hyperedges of Zoo are its classes, so it does not count in ranks."""
FILES = {
    "contact-primary-school": "nodes/contact-primary-school.npz",
    "debian-packages": "scale/debian-packages.npz",
    "pubmed-structure": "nodes/pubmed-cocitation.npz",
    "dblp-structure": "nodes/dblp-coauthorship.npz",
}
DATASETS = (
    "cora-cocitation", "cora-coauthorship", "house-1", "ntu2012", "contact-primary-school", "zoo", "20news",
    "pubmed-structure", "dblp-structure", "congress-bills", "mushroom", "walmart-1", "debian-packages",
)  # fmt: skip
"""Those that take longest last."""
FIRST = DATASETS[:7]
"""What is run unless told otherwise."""


@cache
def labelled(name: str, data_dir: str) -> Hypergraph:
    """A dataset with ``x`` and ``y``.

    Congress has features like House's (the label and noise of standard deviation 1, one draw) and no
    hyperedges of one member, as in ED-HNN's protocol. Nodes of the primary school are told apart by their
    number alone; Pubmed and DBLP, whose features were not to be had, have degrees and orders. Debian's
    packages have words and sizes, see `packages`.
    """
    if name == "debian-packages":
        return packages(Path(data_dir) / FILES[name])
    if name == "congress-bills":
        h = load(name, data_dir)
        assert h.y is not None
        return keep_edges(h, h.orders > 1).replace(x=noisy_labels(h.y, 1.0, 0), y=h.y)
    if name not in FILES:
        return load(name, data_dir)
    h = read_packed(Path(data_dir) / FILES[name])
    x = torch.eye(h.num_nodes) if name == "contact-primary-school" else structural_features(h)
    return h.replace(x=x)


def digest_of(data_dir: str, name: str) -> str:
    """Eight digits that other files of a dataset would change."""
    return digest(Path(data_dir) / FILES[name] if name in FILES else loading.digest(name, data_dir))


_TAGS = 6


def packages(path: Path) -> Hypergraph:
    """Debian's packages (their sections are the classes) and what they depend on, come from and provide.

    Names that are no package, which have no section, are left out, and so are tags: people gave them who
    knew the section. Features are words of the description, sizes, architecture and priority.
    """
    d = read_arrays(path, "Debian packages")
    words = csr_array((d["x_data"], d["x_indices"], d["x_indptr"]), tuple(d["x_shape"]))
    is_package = d["y"] >= 0
    x = np.concatenate([words[is_package].toarray(), d["num_x"][is_package]], 1)
    chosen = d["kind"][d["edge"]] != _TAGS
    pairs, y = (d["node"][chosen], d["edge"][chosen]), torch.from_numpy(d["y"].astype(np.int64))
    h = Hypergraph.from_incidence(pairs, len(y), int(d["num_edges"]), y=y)
    h = h.subhypergraph(torch.from_numpy(is_package.nonzero()[0]))
    return keep_edges(h, h.orders > 1).replace(x=torch.from_numpy(x).float(), y=h.y)
