"""The sets of a file, scored by a model that knows which nodes form a set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from ehnn._utils.optional import suggest
from ehnn._utils.validation import short
from ehnn.estimators import HyperedgePredictor
from ehnn.hypergraph import Hypergraph
from ehnn.io._names import factorize
from ehnn.tables.sheet import Sheet
from ehnn.tasks.hyperedges.sets import is_in, keep_edges


def score_candidates(
    estimator: HyperedgePredictor, sheet: Sheet
) -> tuple[Sequence[str], Iterable[Sequence[Any]], list[str]]:
    """Header and rows: each set, its members, whether it was there in training, and how likely it is one.

    A set with a node that was not in the training data has no probability, and there is a remark about it.
    """
    known = estimator.hypergraph_
    asked, new, remarks = _over_nodes_of(known, sheet)
    shares = estimator.predict_proba(asked)[:, 1].round(6).tolist()
    there = ["yes" if value else "no" for value in is_in(asked, known).tolist()]
    found = zip(there, shares, strict=True)
    names = sheet.h.node_names or ()
    members = (";".join(str(names[v]) for v in edge) for edge in sheet.h.edges())
    shown = zip(sheet.h.edge_names or (), members, new.tolist(), strict=True)
    rows = ((name, nodes, *(("no", "") if strange else next(found))) for name, nodes, strange in shown)
    return ["set", "members", "known", "probability"], rows, remarks


def _over_nodes_of(known: Hypergraph, sheet: Sheet) -> tuple[Hypergraph, np.ndarray, list[str]]:
    """The sets of a sheet that have nodes of training alone, which are the others, and a remark on these."""
    number, _ = factorize(sheet.h.node_names or (), known.node_names or ())
    node, edge = sheet.h.index.numpy()
    new = number[node] >= known.num_nodes
    strange = np.bincount(edge[new], minlength=sheet.h.num_edges) > 0
    remarks = []
    if new.any():
        at = int(np.flatnonzero(new)[edge[new].argmin()])
        name = (sheet.h.node_names or ())[node[at]]
        near = suggest(name, (known.node_names or ())[:10_000])
        shown = f"{sheet.line(int(edge[at]))}: node {short(name)} was not in the training data{near}"
        if strange.all():
            raise ValueError(shown)
        remarks = [f"{shown}; sets with such a node: {strange.sum()}, which have no probability"]
    empty = (sheet.h.orders == 0).nonzero()
    if len(empty):
        raise ValueError(f"{sheet.line(int(empty[0]))}: the set has no members")
    asked = keep_edges(sheet.h, torch.from_numpy(~strange))
    node, edge = asked.index.numpy()
    return Hypergraph.from_incidence((number[node], edge), known.num_nodes, asked.num_edges), strange, remarks
