"""The columns that members read of whole hypergraphs: sizes, degrees, orders, overlaps, features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ehnn.hypergraph import Hypergraph

from .boosting import boosting_seconds
from .linear import linear_seconds
from .members import Spec
from .nets import Schedule, mlp_seconds
from .node_table import joined
from .outputs import Output

Array = np.ndarray
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
_PAIRS = 1_000_000
"""Pairs that are counted at most; a hypergraph with more has zeros."""
_SMALL = 8
"""Orders and degrees that are counted one by one."""
_PART, _STEPS, _EPOCHS = 0.5, 100, 40
"""Of the network: its part of all time, the steps that it needs, and the epochs that it is given at most."""


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
                rows = x.double().numpy() if len(x) else np.zeros((1, x.shape[1]))  # squares fit in it
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
    """What is tried on whole hypergraphs; ``share``: seconds of one core for each fold."""
    own = ("x",) if table.has_features else ()
    every = (*own, "statistics")
    epochs = int(min(100, max(20, 3e5 // max(1, labelled))))
    columns = table.matrix(every).shape[1]

    def linear(name: str, *blocks: str) -> Spec:
        seconds = linear_seconds(labelled, table.matrix(blocks).shape[1], output.width)
        return Spec(f"linear: {name}", "linear", blocks, (), True, seconds, True)

    def learner(name: str, kind: str, seconds: float, **options: Any) -> Spec:
        return Spec(name, kind, every, tuple(options.items()), True, seconds)

    return [
        Spec("majority" if output.kind != "numbers" else "mean", "prior", new_rows=True, always=True),
        linear("sizes", "sizes"),
        *([linear("features", "x")] if own else []),
        linear("statistics", *every),
        learner("boosting", "boosting", boosting_seconds(labelled, columns, output)),
        learner("MLP", "mlp", mlp_seconds(labelled, columns, Schedule(epochs)), schedule={"epochs": epochs}),
        _network(table, every, labelled, plan, _PART * share),
    ]


def _network(
    table: GraphTable, blocks: tuple[str, ...], labelled: int, plan: dict[str, Any], seconds: float
) -> Spec:
    """The network: half as wide where it would not be trained in time otherwise."""
    most, batch = min(plan.pop("epochs"), _EPOCHS), int(plan.pop("batch_size"))
    size = sum(h.num_nodes + h.num_edges for h in table.members) / max(1, table.rows)
    batches = max(1, -(-labelled // batch))
    least = min(most, max(4, _STEPS // batches))
    epoch, width = batches * (8e-3 + 1.2e-5 * batch * size), plan["width"]
    if least * epoch * width / 64 > seconds:
        width = max(width // 2, min(width, 8))
    epoch *= max(width / 64, 0.1)
    epochs = int(min(most, max(least, seconds / epoch)))
    schedule = {"epochs": epochs, "lr": 3e-3, "batch": batch}
    options = (("plan", {**plan, "width": width}), ("schedule", schedule))
    return Spec("EHNN-MLP", "graph", blocks, options, True, epoch * epochs + 0.1)
