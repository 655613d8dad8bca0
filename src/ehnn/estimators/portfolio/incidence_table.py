"""The columns that members read of incidences: a node within a hyperedge."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ehnn.hypergraph import Hypergraph

from .boosting import boosting_seconds
from .fit_nodes import set_hashes
from .incidence_overlaps import Overlaps
from .linear import linear_seconds
from .members import Spec
from .nets import Schedule, mlp_seconds
from .node_table import NodeTable, joined, role_counts
from .outputs import SALT, Output

Array = np.ndarray
_PRIOR = 1.0
"""Labels that the prior counts as in a history."""
_LABELS = ("history", "mates")
"""Blocks of known labels."""
_PARTLY = 0.1
"""Part of the rows to predict from which on the labels of their own hyperedge are worth reading."""
_ALONE = 0.25
"""Part of the hyperedges whose rows learn without the labels of each other; see `IncidenceTable`."""


class IncidenceTable:
    """Blocks of columns, a row for each incidence of ``h`` in the order of ``h.index``.

    ``degree``: degree, order and their ranks within the hyperedge, and roles where there are any. ``x``:
    features of node and hyperedge.
    ``likeness``: how near a node is to the rest of its hyperedge, in features and spectral coordinates.
    ``overlap``: how much the other hyperedges of a node share with this one; nothing where they are too many.
    ``history``: known labels of the node in *other* hyperedges, also in those of the same order and with the
    same members, and how that compares with the other members; also with the labels of the nodes that both
    share.
    ``mates``: known labels of the other members of the same hyperedge, if the table is ``partly`` labelled.
    A quarter of the hyperedges, drawn once, teaches without them, since a new hyperedge has none.

    Args:
        h: on the CPU.
        partly: whether the rows to predict are in hyperedges with known labels; see `partly_labelled`.
        bank: earlier incidences with labels: ``node`` (numbers in ``h``), ``order``, ``set`` and ``values``,
            beside the known labels of ``h`` itself.
        numbers: ``[num_nodes]`` by which the members of a ``set`` are known; None: those in ``h``.
        edges: ``[num_incidences]`` numbers in fit of the hyperedges, by which some are drawn, -1: new;
            None: those in ``h``.
    """

    def __init__(
        self, h: Hypergraph, bank: Mapping[str, Array] | None = None, numbers: Array | None = None,
        partly: bool = False, edges: Array | None = None,
    ) -> None:  # fmt: skip
        self.h, self.rows, self.bank, self.numbers = h, h.num_incidences, bank, numbers
        self.partly, self.edges = partly, edges
        self.nodes = NodeTable(h)
        self.node, self.edge = h.index.numpy()
        self.cache: dict[str, Any] = {}
        self.labels: dict[str, Any] = {}

    def with_known(self, output: Output, target: Array, prior: Array) -> IncidenceTable:
        """The same rows with these known labels."""
        table = IncidenceTable.__new__(IncidenceTable)
        table.__dict__.update(self.__dict__)
        table.labels = {"target": target, "prior": prior.astype(np.float32)}
        table.labels["values"], table.labels["known"] = output.matrix(target)
        return table

    @property
    def relation(self) -> Hypergraph:
        """The hypergraph whose nodes are the rows; see `of_incidences`."""
        if "relation" not in self.cache:
            self.cache["relation"] = of_incidences(self.h)
        return self.cache["relation"]

    @property
    def together(self) -> Array:
        """Rows whose labels are known together: those of one hyperedge; of a ``partly`` labelled table each
        alone, but for the hyperedges that teach without labels of each other."""
        if not self.partly:
            return self.edge
        return np.where(self.alone[self.edge], self.edge, self.h.num_edges + np.arange(self.rows))

    @cached_property
    def alone(self) -> Array:
        """``[num_edges]``: whether the rows of a hyperedge learn without the labels of each other.

        They are drawn by the number in fit. New hyperedges have no labels, so nothing is drawn for them.
        """
        numbers = np.arange(self.h.num_edges)
        if self.edges is not None:
            numbers = np.full(self.h.num_edges, -1)
            numbers[self.edge] = self.edges
        drawn = np.random.default_rng(SALT).random(int(numbers.max(initial=-1)) + 1) < _ALONE
        return np.append(drawn, False)[numbers]

    @property
    def target(self) -> Array:
        """The known labels."""
        return self.labels["target"]

    @property
    def has_features(self) -> bool:
        return self.nodes.has_features

    def matrix(self, blocks: tuple[str, ...]) -> Any:
        """The blocks side by side."""
        for name in blocks:
            kept = self._kept(name)
            if name not in kept:
                kept[name] = np.asarray(getattr(self, f"_{name}")(), np.float32)
        return joined([self._kept(name)[name] for name in blocks], self.rows)

    def _kept(self, block: str) -> dict[str, Any]:
        return self.labels if block in _LABELS else self.cache

    # ------------------------------------------------------------------ blocks without labels

    def _degree(self) -> Array:
        degree, order = self.h.degrees.numpy()[self.node], self.h.orders.numpy()[self.edge]
        own = np.log1p(degree)
        columns = [own, np.log1p(order), order == 1, order == 2, order == 3]
        return np.concatenate([np.stack(columns, 1), self._compared(own[:, None]), self._roles()], 1)

    def _roles(self) -> Array:
        """The role of the node in the hyperedge, and how often each is in the hyperedge and of the node."""
        h = self.h
        if h.roles is None or h.num_roles == 1:
            return np.zeros((self.rows, 0), np.float32)
        own = np.eye(h.num_roles, dtype=np.float32)[h.roles.numpy()]
        of_edges, of_nodes = (
            role_counts(h, owner, count)[owner]
            for owner, count in ((self.edge, h.num_edges), (self.node, h.num_nodes))
        )
        return np.concatenate([own, of_edges, of_nodes], 1)

    def _compared(self, values: Array) -> Array:
        """A row's value less the mean, the largest and the least of the other members, for each column."""
        count = np.maximum(np.bincount(self.edge, minlength=self.h.num_edges), 1)[self.edge]
        found = []
        for column in values.T:
            total = np.bincount(self.edge, column, self.h.num_edges)[self.edge]
            others = (total - column) / np.maximum(count - 1, 1)
            top, low = (
                _others_extreme(column, self.edge, self.h.num_edges),
                -_others_extreme(-column, self.edge, self.h.num_edges),
            )
            alone = count == 1
            found += [np.where(alone, 0, column - v) for v in (others, top, low)]
        return np.stack(found, 1)

    def _x(self) -> Array:
        parts = [np.zeros((self.rows, 0), np.float32)]
        small = self.nodes.block("small") if self.h.x is not None else None
        parts += [] if small is None else [small[self.node], self._others_mean(small, self._sums(small))]
        parts += [] if self.h.edge_x is None else [self.h.edge_x.numpy()[self.edge]]
        return np.concatenate(parts, 1)

    def _likeness(self) -> Array:
        found = []
        for name in ("wide", "spectral") if self.h.x is not None else ("spectral",):
            rows = np.asarray(self.nodes.block(name), np.float32)
            rows = rows - rows.mean(0)
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
            sums = self._sums(rows)
            dot = np.concatenate([
                (rows[self.node[i : i + 65536]] * self._others_mean(rows, sums, slice(i, i + 65536))).sum(1)
                for i in range(0, max(self.rows, 1), 65536)
            ])  # fmt: skip
            found.append(np.concatenate([dot[:, None], self._compared(dot[:, None])], 1))
        return np.concatenate(found, 1)

    @cached_property
    def overlaps(self) -> Overlaps | None:
        """The other hyperedges of each node, unless there are too many."""
        if "overlaps" not in self.cache:
            self.cache["overlaps"] = Overlaps.of(self.h)
        return self.cache["overlaps"]

    def _overlap(self) -> Array:
        if self.overlaps is None:
            return np.zeros((self.rows, 0), np.float32)
        columns = self.overlaps.columns()
        return np.concatenate([columns, self._compared(columns[:, 4:6])], 1)

    def _spectral(self) -> Array:
        return self.nodes.block("spectral")[self.node]

    def _sums(self, rows: Array) -> Array:
        """``[hyperedges, d]``: sums of the rows of the members."""
        return np.asarray((self.nodes.incidence != 0).astype(np.float32).T @ rows)

    def _others_mean(self, rows: Array, sums: Array, part: slice = slice(None)) -> Array:
        """``[incidences, d]``: the mean of the other members' rows; ``sums`` are those of `_sums`."""
        node, edge = self.node[part], self.edge[part]
        order = self.h.orders.numpy()[edge][:, None]
        return (sums[edge] - rows[node]) / np.maximum(order - 1, 1)

    # ------------------------------------------------------------------ known labels

    def _history(self) -> Array:
        order, sets = self.h.orders.numpy()[self.edge], set_hashes(self.h, self.numbers)[self.edge]
        width = self.labels["values"].shape[1]
        whole, count = self._shares((self.node,), ("node",))
        parts = [whole, np.log1p(count)]
        for keys, names in (((self.node, order), ("node", "order")), ((self.node, sets), ("node", "set"))):
            share, number = self._shares(keys, names, whole)
            parts += [share, np.log1p(number)]
        parts.append(self._compared(whole[:, : width if width > 2 else 1]))
        if self.overlaps is not None:
            shared = self.overlaps.labels(self.labels["values"] * self.labels["known"])
            parts += [shared, self._compared(shared)]
        return np.concatenate(parts, 1)

    def _mates(self) -> Array:
        if not self.partly:
            return np.zeros((self.rows, 0), np.float32)
        values, known = self.labels["values"] * self.labels["known"], self.labels["known"]
        count = self._others_sum(values)
        number = self._others_sum(known[:, :1])
        lone = known.any(1) & self.alone[self.edge]
        count[lone], number[lone] = 0, 0
        share = (np.maximum(count, 0) + _PRIOR * self.labels["prior"]) / (number + _PRIOR)
        unknown = self.h.orders.numpy()[self.edge][:, None] - 1 - number
        return np.concatenate([share, count > 0.5, np.log1p(number), np.log1p(unknown), number > 0], 1)

    def _others_sum(self, values: Array) -> Array:
        """``[rows, columns]``: sums over the other members of the hyperedge."""
        total = [np.bincount(self.edge, column, self.h.num_edges) for column in values.T]
        return np.stack(total, 1)[self.edge] - values

    def _shares(
        self, keys: tuple[Array, ...], names: tuple[str, ...], prior: Array | None = None
    ) -> tuple[Array, Array]:
        """Shares of the known labels of rows with the same keys, without the row itself, and their number."""
        values, known = self.labels["values"] * self.labels["known"], self.labels["known"]
        prior = self.labels["prior"] if prior is None else prior
        bank = self.bank or {}
        more = [bank[name] for name in names] if bank else [k[:0] for k in keys]
        _, code = np.unique(
            np.stack([np.concatenate(p) for p in zip(keys, more, strict=True)]), axis=1, return_inverse=True
        )
        code = code.ravel()
        old = bank["values"] if bank else values[:0]
        there = np.concatenate([known, bank["known"] if bank else known[:0]])
        full = np.concatenate([values, old])
        size = int(code.max(initial=-1)) + 1
        total = (
            np.stack([np.bincount(code, column, size) for column in full.T], 1)[code[: self.rows]] - values
        )
        number = (
            np.stack([np.bincount(code, column, size) for column in there.T], 1)[code[: self.rows]] - known
        )
        share = (np.maximum(total, 0) + _PRIOR * prior) / (np.maximum(number, 0) + _PRIOR)
        return share.astype(np.float32), np.maximum(number[:, :1], 0).astype(np.float32)


def partly_labelled(h: Hypergraph, known: Array, asked: Array) -> bool:
    """Whether a tenth of the rows ``asked`` are in hyperedges with a ``known`` label; both ``[rows]``."""
    edge = h.index[1].numpy()
    there = np.bincount(edge[known], minlength=h.num_edges) > 0
    return bool(asked.any()) and bool(there[edge[asked]].mean() > _PARTLY)


def of_incidences(h: Hypergraph) -> Hypergraph:
    """A node for each incidence (v, e) of ``h``, which is in two hyperedges: all of e, and all of v.

    Hyperedges of ``h`` come first and have role 0 (or the role of v in e), nodes have the last role.
    """
    node, edge = h.index
    rows = torch.arange(h.num_incidences)
    first = torch.zeros_like(rows) if h.roles is None else h.roles
    weight = h.incidence_weight
    if h.edge_weight is not None:
        weight = h.edge_weight[edge] if weight is None else weight * h.edge_weight[edge]
    return Hypergraph.from_incidence(
        (rows.repeat(2), torch.cat([edge, node + h.num_edges])), h.num_incidences, h.num_edges + h.num_nodes,
        roles=torch.cat([first, torch.full_like(rows, h.num_roles)]),
        incidence_weight=None if weight is None else weight.repeat(2),
    )  # fmt: skip


def _others_extreme(values: Array, group: Array, groups: int) -> Array:
    """The largest value of the other rows of a group: the largest, or the second for the row that has it."""
    order = np.lexsort((values, group))
    last = np.r_[group[order][1:] != group[order][:-1], True] if len(order) else np.zeros(0, bool)
    first = np.full(groups, -np.inf)
    first[group[order][last]] = values[order][last]
    second = np.full(groups, -np.inf)
    before = np.flatnonzero(last) - 1
    fits = (before >= 0) & (group[order][np.maximum(before, 0)] == group[order][last])
    second[group[order][last][fits]] = values[order][before[fits]]
    top = np.zeros(len(values), bool)
    top[order[last]] = True
    found = np.where(top, second[group], first[group])
    return np.where(np.isfinite(found), found, values)


def incidence_members(
    table: IncidenceTable, output: Output, labelled: int, plan: dict[str, Any], share: float, on_gpu: bool
) -> list[Spec]:
    """What is tried on incidences; ``plan`` and ``share`` as in `node_members`."""
    own = ("x",) if table.has_features else ()
    every = (*own, "degree", "likeness", "overlap", "spectral", "history")
    mates = ("mates",) if table.partly else ()
    known = ("history", *mates)
    every = (*every, *mates)
    epochs = int(min(60, max(4, 6e5 // max(1, labelled))))
    schedule = {"epochs": epochs, "batch": 2048}
    of_labels = 3 * (output.width + 1) + 3 * (output.width if output.width > 2 else 1)
    of_labels += (2 * output.width + 3) * len(mates)

    def columns(blocks: tuple[str, ...]) -> float:
        plain = [b for b in blocks if b not in _LABELS]
        return table.matrix(tuple(plain)).shape[1] + (of_labels if "history" in blocks else 0)

    def linear(name: str, *blocks: str, new: bool = False, always: bool = True) -> Spec:
        seconds = linear_seconds(labelled, columns(blocks), output.width)
        return Spec(f"linear: {name}", "linear", blocks, (), new, seconds, always)

    def boosting(name: str, blocks: tuple[str, ...], leaves: int, new: bool) -> Spec:
        seconds = leaves / 15 * boosting_seconds(labelled, columns(blocks), output)
        return Spec(name, "boosting", blocks, (("leaves", leaves),), new, seconds)

    fit = mlp_seconds(labelled, columns(every), Schedule(**schedule))
    return [
        Spec("majority", "prior", new_rows=True, always=True),
        *([linear("features", "x", new=True)] if own else []),
        linear("degrees", "degree", new=True),
        Spec("vote: history", "shares", ("history",), always=True),
        linear("degrees, history", "degree", *known),
        linear("all", *every, always=False),
        boosting("boosting: new nodes", (*own, "degree", "likeness", "overlap"), 15, True),
        boosting("boosting", (*own, "degree", "likeness", "overlap", *known), 31, False),
        Spec("MLP", "mlp", every, (("schedule", schedule),), False, fit),
        *_network(table, every, plan, share, on_gpu),
    ]


def _network(
    table: IncidenceTable, blocks: tuple[str, ...], plan: dict[str, Any], share: float, on_gpu: bool
) -> list[Spec]:
    """EHNN on the hypergraph of incidences, if there is time to train it."""
    size = table.rows + table.h.num_nodes + table.h.num_edges
    fixed, each = (5e-3, 1e-7) if on_gpu else (5e-3, 8e-6)
    step = fixed + each * size * max(plan["width"] / 64, 0.1)
    steps = int(min(plan["epochs"], 300 if on_gpu else 100, max(60, share / step)))
    if steps * step > share:  # fewer steps do not train it
        return []
    inner = {k: plan[k] for k in ("width", "dropout", "options")} | {"model": "ehnn-mlp", "residual": True}
    options = (("plan", inner), ("schedule", {"epochs": steps, "lr": 5e-3}))
    return [Spec("EHNN-MLP", "ehnn", blocks, options, False, steps * step)]
