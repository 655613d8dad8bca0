"""The sets of a file, scored by a model that knows which nodes form a set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ehnn.estimators import HyperedgePredictor
from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.validate import short
from ehnn.io._names import factorize
from ehnn.io._support import suggest
from ehnn.tasks.hyperedges import is_in

from .sheets import Sheet


def score_candidates(
    estimator: HyperedgePredictor, sheet: Sheet
) -> tuple[Sequence[str], Iterable[Sequence[Any]], list[str]]:
    """Header and rows: each set, its members, whether it was there in training, and how likely it is one.

    A set with a node that was not there in training has no probability, and there is a remark about it.
    """
    known = estimator.hypergraph_
    asked, new, remarks = _over_nodes_of(known, sheet)
    shares = estimator.predict_proba(asked)[:, 1].round(6).tolist()
    there = ["yes" if value else "no" for value in is_in(asked, known).tolist()]
    names = sheet.h.node_names or ()
    members = (";".join(str(names[v]) for v in edge) for edge in sheet.h.edges())
    told = zip(sheet.h.edge_names or (), members, there, shares, new.tolist(), strict=True)
    rows = ((*row[:2], "no", "") if row[-1] else row[:-1] for row in told)
    return ["set", "members", "known", "probability"], rows, remarks


def _over_nodes_of(known: Hypergraph, sheet: Sheet) -> tuple[Hypergraph, np.ndarray, list[str]]:
    """The sets of a sheet over the nodes of training, which of them have others too, and a remark."""
    number, _ = factorize(sheet.h.node_names or (), known.node_names or ())
    node, edge = sheet.h.index.numpy()
    new = number[node] >= known.num_nodes
    strange = np.bincount(edge[new], minlength=sheet.h.num_edges) > 0
    remarks = []
    if new.any():
        at = int(np.flatnonzero(new)[edge[new].argmin()])
        name = (sheet.h.node_names or ())[node[at]]
        near = suggest(name, (known.node_names or ())[:10_000])
        told = f"{sheet.line(int(edge[at]))}: node {short(name)} was not there in training{near}"
        if strange.all():
            raise ValueError(told)
        remarks = [f"{told}; sets with such a node: {strange.sum()}, which have no probability"]
    empty = (sheet.h.orders == 0).nonzero()
    if len(empty):
        raise ValueError(f"{sheet.line(int(empty[0]))}: the set has no members")
    pairs = np.stack([number[node], edge])[:, ~new]
    alone = np.flatnonzero(strange & (np.bincount(edge[~new], minlength=sheet.h.num_edges) == 0))
    pairs = np.concatenate([pairs, np.stack([np.zeros_like(alone), alone])], 1)  # a set must have a member
    return Hypergraph.from_incidence(pairs, known.num_nodes, sheet.h.num_edges), strange, remarks
