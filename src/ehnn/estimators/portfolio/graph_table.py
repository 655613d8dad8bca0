"""The columns that members read of whole hypergraphs: sizes, degrees, orders, overlaps, features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ehnn.hypergraph import Hypergraph

from .members import Spec
from .node_table import joined
from .outputs import Output

Array = np.ndarray
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
_PAIRS = 1_000_000
"""Pairs that are counted at most; a hypergraph with more has zeros."""
_SMALL = 8
"""Orders and degrees that are counted one by one."""


class GraphTable:
    """Blocks of columns, a row for each hypergraph: ``sizes`` (a few numbers), ``statistics`` (the
    distributions of degrees, orders and co-members) and ``x`` (means and deviations of features).

    Args:
        members: the hypergraphs, on the CPU, with features alone.
    """

    def __init__(self, members: Sequence[Hypergraph]) -> None:
        self.members, self.rows = list(members), len(members)
        self.cache: dict[str, Array] = {}
        self.target = np.zeros(0)

    def with_known(self, output: Output, target: Array, prior: Array) -> GraphTable:
        """The same rows with these labels: no block reads labels of other rows."""
        table = GraphTable(self.members)
        table.cache, table.target = self.cache, target
        return table

    def matrix(self, blocks: tuple[str, ...]) -> Any:
        """The blocks side by side."""
        for name in blocks:
            if name not in self.cache:
                rows = [getattr(self, f"_{name}")(h) for h in self.members]
                self.cache[name] = np.stack(rows).astype(np.float32) if rows else np.zeros((0, 0), np.float32)
        return joined([self.cache[name] for name in blocks], self.rows)

    @property
    def has_features(self) -> bool:
        return any(h.x is not None or h.edge_x is not None for h in self.members[:1])

    def _sizes(self, h: Hypergraph) -> Array:
        n, m, nnz = h.num_nodes, h.num_edges, h.num_incidences
        degree, order = h.degrees.numpy(), h.orders.numpy()
        means = [nnz / max(n, 1), nnz / max(m, 1), degree.max(initial=0), order.max(initial=0), m / max(n, 1)]
        return np.log1p(np.array([n, m, nnz, *means], np.float64))

    def _statistics(self, h: Hypergraph) -> Array:
        node, edge = h.index.numpy()
        degree, order = h.degrees.numpy(), h.orders.numpy()
        total = np.bincount(node, order[edge], h.num_nodes)
        near = np.bincount(edge, degree[node], h.num_edges) / np.maximum(order, 1)
        parts: list[Any] = [self._sizes(h)]
        for values in (degree, order, total, near):
            kept = values if len(values) else np.zeros(1)
            parts += [np.log1p(np.quantile(kept, QUANTILES)), [np.log1p(kept.std())]]
        for counts in (degree, order):
            found = np.bincount(np.minimum(counts, _SMALL).astype(np.int64), minlength=_SMALL + 1)
            parts += [np.log1p(found), found / max(len(counts), 1)]
        _, copies = np.unique(_set_numbers(node, edge, h.num_edges), return_counts=True)
        parts.append([np.log1p(len(copies)), len(copies) / max(h.num_edges, 1)])
        return np.concatenate([*parts, *_meetings(h)])

    def _x(self, h: Hypergraph) -> Array:
        parts = []
        for x in (h.x, h.edge_x):
            if x is not None:
                rows = x.numpy() if len(x) else np.zeros((1, x.shape[1]), np.float32)
                parts += [rows.mean(0), rows.std(0), rows.max(0)]
        return np.concatenate(parts) if parts else np.zeros(0)


def _meetings(h: Hypergraph) -> list[Array]:
    """How many pairs of hyperedges share 1, 2, 3, 4 or more nodes, and pairs of nodes as many hyperedges."""
    node, edge = h.index.numpy()
    matrix = csr_matrix((np.ones(len(node), np.int32), (node, edge)), (h.num_nodes, h.num_edges))
    parts = []
    for degrees, side in ((h.degrees, matrix.T), (h.orders, matrix)):
        if int(degrees.square().sum()) > _PAIRS:
            parts.append(np.zeros(8))
            continue
        product = (side @ side.T).tocoo()
        shared = np.minimum(product.data[product.row < product.col], 4)
        found = np.bincount(shared, minlength=5)[1:]
        parts += [np.log1p(found), found / max(found.sum(), 1)]
    return parts


def _set_numbers(node: Array, edge: Array, edges: int) -> Array:
    """A number for each hyperedge, equal for equal sets (but for rare collisions)."""
    random = np.random.default_rng(0).random(int(node.max(initial=0)) + 1)
    return np.round(np.bincount(edge, random[node], edges), 9)


def graph_members(
    table: GraphTable, output: Output, labelled: int, plan: dict[str, Any], share: float
) -> list[Spec]:
    """What is tried on whole hypergraphs; ``share`` are the seconds that one fit of the network may take."""
    own = ("x",) if table.has_features else ()
    epochs = int(min(100, max(20, 3e5 // max(1, labelled))))
    specs = [
        Spec("majority" if output.kind != "numbers" else "mean", "prior", new_rows=True),
        Spec("linear: sizes", "linear", ("sizes",), new_rows=True),
        *([Spec("linear: features", "linear", ("x",), new_rows=True)] if own else []),
        Spec("linear: statistics", "linear", (*own, "statistics"), new_rows=True),
        Spec("boosting", "boosting", (*own, "statistics"), (), True, 0.3 + 1e-4 * labelled * output.width),
        Spec(
            "MLP",
            "mlp",
            (*own, "statistics"),
            (("schedule", {"epochs": epochs}),),
            True,
            0.5 + 1e-3 * labelled,
        ),
    ]
    most, batch = plan.pop("epochs"), int(plan.pop("batch_size"))
    size = sum(h.num_nodes + h.num_edges for h in table.members) / max(1, table.rows)
    each = 0.03 * plan["width"] / 64 + 4e-5 * batch * size * plan["width"] / 64
    epoch = each * max(1, labelled // batch)
    steps = int(min(most, 40, max(8, share / epoch)))
    options = (("plan", plan), ("schedule", {"epochs": steps, "lr": 3e-3, "batch": batch}))
    return [
        *specs,
        Spec("EHNN-MLP", "graph", (*own, "statistics"), options, True, epoch * steps),
    ]
