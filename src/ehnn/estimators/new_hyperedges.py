"""Hyperedges that were not there in fit, predicted together with those that were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph, dual
from ehnn.tables.later import PASSES, SHARE
from ehnn.tables.merged import joined_roles, joined_rows, joined_weights

from .labels import plain
from .portfolio.fit_nodes import set_hashes

Array = np.ndarray


@dataclass(frozen=True)
class NewHyperedges:
    """Hyperedges that are asked about, and those of fit that they are predicted with.

    Both are dual hypergraphs, in which hyperedges are nodes (here: rows), and nodes are groups of rows.

    Attributes:
        known: the rows of fit.
        asked: the rows that are asked about.
        groups: ``[asked.num_edges]`` numbers of its groups, those of fit as they were there.
        places: ``[asked.num_nodes]`` the row of fit that each one is, -1: none.
    """

    known: Hypergraph
    asked: Hypergraph
    groups: Array
    places: Array

    def with_rows(self, rows: Array) -> tuple[Hypergraph, Array, Array]:
        """The rows of fit, then these of ``asked``; and the numbers in fit of rows and groups, -1: new."""
        known, new = self.known, self.asked
        number = np.full(new.num_nodes, -1)
        number[rows] = known.num_nodes + np.arange(len(rows))
        node, group = new.index.numpy()
        kept = number[node] >= 0
        own = np.stack([number[node[kept]], self.groups[group[kept]]])
        count = max(known.num_edges, int(self.groups.max(initial=-1)) + 1)
        both = np.concatenate([np.arange(known.num_incidences), known.num_incidences + np.flatnonzero(kept)])
        total, x = known.num_nodes + len(rows), None if new.x is None else new.x[rows]
        joined = Hypergraph.from_incidence(
            np.concatenate([known.index.numpy(), own], 1), total, count,
            joined_rows(known.x, x, number[rows], total),
            known.edge_x if new.edge_x is None else joined_rows(known.edge_x, new.edge_x, self.groups, count),
            incidence_weight=joined_weights(known, new, both), roles=joined_roles(known, new, both),
            node_names=self._row_names(rows), edge_names=self._group_names(count),
        ).replace(num_roles=known.num_roles)  # fmt: skip
        every = np.arange(total), np.arange(count)
        nodes, groups = (
            np.where(n < k, n, -1) for n, k in zip(every, (known.num_nodes, known.num_edges), strict=True)
        )
        return joined, nodes, groups

    def parts(self) -> list[Array]:
        """The new rows, a few at a time: many at once would change how frequent the groups are."""
        rows = np.flatnonzero(self.places < 0)
        size = max(-(-len(rows) // PASSES), self.known.num_nodes // SHARE, 1)
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    def of_fit(self) -> tuple[Hypergraph, Array, Array]:
        """The rows of fit alone; and the numbers of rows and groups."""
        return self.known, np.arange(self.known.num_nodes), np.arange(self.known.num_edges)

    def of_all(self, logits: Callable[[Hypergraph, Array, Array], Tensor]) -> Tensor:
        """``[asked.num_nodes, outputs]``.

        ``logits`` takes a hypergraph and the numbers in fit of its rows and groups, -1 for new ones.
        """
        parts, same = self.parts(), np.flatnonzero(self.places >= 0)
        found = [logits(*self.with_rows(part))[self.known.num_nodes :] for part in parts]
        if len(same):
            found.append(logits(*self.of_fit())[torch.from_numpy(self.places[same])])
        order = torch.from_numpy(np.concatenate([*parts, same]))
        values = torch.cat(found)
        return torch.empty_like(values).index_copy_(0, order, values)

    def _row_names(self, rows: Array) -> tuple[Any, ...]:
        """Names for people: rows without names are numbers, those of fit with a word that says so."""
        first = self.known.node_names or tuple(f"{row} of fit" for row in range(self.known.num_nodes))
        taken, given = set(first), self.asked.node_names or range(self.asked.num_nodes)
        names = (given[row] for row in rows.tolist())
        return *first, *(f"{name} (new)" if name in taken else name for name in names)

    def _group_names(self, count: int) -> tuple[Any, ...] | None:
        if self.known.edge_names is None:
            return None
        names: list[Any] = [*self.known.edge_names, *[None] * (count - self.known.num_edges)]
        for number, name in zip(self.groups.tolist(), _names(self.asked), strict=True):
            names[number] = name
        return tuple(names)


def new_hyperedges(known: Hypergraph, asked: Hypergraph) -> NewHyperedges | None:
    """Rows that are asked about, with those of fit; None where they are predicted by themselves.

    Groups are found by name, or by number without names. Rows are predicted by themselves where they are
    those of fit (named ones: include them), where no group of theirs is known, where there are none, and
    where they lack features or roles that fit had.
    """
    groups = _numbers_of(_names(asked), _names(known))
    unknown = groups < 0
    if unknown.all() or not known.num_nodes or not asked.num_nodes:
        return None
    if not _same_columns(known, asked, bool(unknown.any())):
        return None
    groups[unknown] = known.num_edges + np.arange(unknown.sum())
    places = _places(known, asked, set_hashes(dual(known)), set_hashes(dual(asked), groups))
    there = len(np.unique(places[places >= 0]))
    named = known.node_names is not None and asked.node_names is not None
    if there == known.num_nodes and (named or there == asked.num_nodes):
        return None
    return NewHyperedges(known, asked, groups, places)


def _places(known: Hypergraph, new: Hypergraph, sets: Array, new_sets: Array) -> Array:
    """``[new.num_nodes]`` the row of the same name (or number) and the same set in ``known``, -1: none."""
    if known.node_names is None or new.node_names is None:
        places = np.arange(new.num_nodes)
    else:
        places = _numbers_of(new.node_names, known.node_names)
    inside = (places >= 0) & (places < known.num_nodes)
    return np.where(inside & (sets[np.where(inside, places, 0)] == new_sets), places, -1)


def _same_columns(known: Hypergraph, new: Hypergraph, unknown: bool) -> bool:
    """Whether the features and roles of ``new`` are those of ``known``.

    Its groups need no features, unless some of them are ``unknown``: those of fit are there.
    """
    both = [(known.x, new.x)]
    if new.edge_x is not None or known.edge_x is None or unknown:
        both.append((known.edge_x, new.edge_x))
    widths = [[0 if x is None else x.shape[1] for x in pair] for pair in both]
    roles = (known.roles is None) == (new.roles is None) and new.num_roles <= known.num_roles
    return roles and all(a == b for a, b in widths)


def _names(h: Hypergraph) -> Sequence[Any]:
    return range(h.num_edges) if h.edge_names is None else h.edge_names


def _numbers_of(names: Sequence[Any], known: Sequence[Any]) -> Array:
    """``[names]``: where each one is among the ``known`` ones, -1: nowhere.

    Where all names are the same, their places are too, also of a name that comes twice.
    """
    if names == known:
        return np.arange(len(names))
    number = {plain(name): i for i, name in enumerate(known)}
    return np.array([number.get(plain(name), -1) for name in names], np.int64)
