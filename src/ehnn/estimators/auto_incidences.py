"""``model="auto"`` for incidences: a portfolio, and the labelled incidences of fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph

from .auto import check_widths, widths_of, with_roles
from .features import feature_shifts, shifted_features
from .labels import plain
from .portfolio.budget import clock_of
from .portfolio.fit_nodes import FitNodes, set_hashes
from .portfolio.folds import fold_count
from .portfolio.incidence_table import IncidenceTable, incidence_members, partly_labelled
from .portfolio.outputs import Output
from .portfolio.portfolio import Portfolio
from .portfolio.stored import portfolio_about, portfolio_arrays, portfolio_from
from .storage import plain_name

Array = np.ndarray
_BANK = ("node", "order", "set", "target")


@dataclass(frozen=True)
class MatchedIncidences:
    """What is known of a hypergraph from fit.

    Attributes:
        nodes: ``[num_nodes]`` numbers in fit, -1: new.
        numbers: the same, with numbers of their own for new nodes.
        edges: ``[num_incidences]`` the number in fit of the hyperedge of each, -1: new.
        target: ``[num_incidences]`` known labels (encoded).
        bank: labelled incidences of fit that are not in the hypergraph, of nodes that are; see
            `IncidenceTable`. Its ``same``, the incidence of the hypergraph that each one is, is -1.
    """

    nodes: Array
    numbers: Array
    edges: Array
    target: Array
    bank: dict[str, Array] | None

    def copies(
        self, nodes: Array, incidences: Sequence[Array], dropped: Sequence[Array] = ()
    ) -> MatchedIncidences:
        """Of a batch of parts with the same ``nodes``.

        ``incidences`` are the numbers of those in each part; the labels of those ``dropped`` go with them.
        """
        count, size = len(incidences), len(nodes)
        own, numbers = (np.tile(a[nodes], count) for a in (self.nodes, self.numbers))
        edges, target = (a[np.concatenate(incidences)] for a in (self.edges, self.target))
        if self.bank is None:
            return MatchedIncidences(own, numbers, edges, target, None)
        place = np.minimum(np.searchsorted(nodes, self.bank["node"]), size - 1)
        rows = np.flatnonzero(nodes[place] == self.bank["node"])
        bank = {k: np.concatenate([v[rows]] * count) for k, v in self.bank.items()}
        bank["node"] = (size * np.arange(count)[:, None] + place[rows]).ravel()
        return MatchedIncidences(own, numbers, edges, target, bank)


@dataclass
class AutoIncidences:
    """A fitted portfolio for incidences.

    Attributes:
        fit_nodes: the nodes of fit and their spectral coordinates, and the names of its hyperedges.
        bank: of the incidences of fit: node, hyperedge, its order and hash, and encoded label.
        widths: channels of x and edge_x in fit.
        roles: how many there were in fit.
        partly: whether members read labels of the same hyperedge; see `partly_labelled`.
        keys: ``[hyperedges of fit]`` from `role_hashes`; None: there are no roles, or an older file.
        shifts: of the features, before they are rounded to single precision; empty in an older file.
        directions: arrays that reduce wide features; empty in an older file.
    """

    portfolio: Portfolio
    fit_nodes: FitNodes
    bank: dict[str, Array]
    widths: tuple[int, int]
    roles: int = 1
    partly: bool = False
    keys: Array | None = None
    shifts: dict[str, Array] = field(default_factory=dict)
    directions: dict[str, Array] = field(default_factory=dict)

    @classmethod
    def fit(
        cls, h: Hypergraph, output: Output, target: Array, weight: Array | None, settings: Mapping[str, Any],
        judging: Array | None = None,
    ) -> AutoIncidences:  # fmt: skip
        """Learn from the encoded ``target`` ``[num_incidences]``; ``settings`` as in `AutoNodes.fit`.

        ``judging [num_incidences]``: labels that judge the members, and are not trained on.
        """
        clock = clock_of(settings["budget"], h.num_nodes, h.num_incidences)
        known = output.labelled(target)
        taught, asked = (known, ~known) if judging is None else (known & ~judging, known & judging)
        shifts = feature_shifts(h)
        table = IncidenceTable(shifted_features(h, shifts), partly=partly_labelled(h, taught, asked))
        labelled = int(known.sum())
        share = 0.5 * clock.seconds / (1 if judging is not None else fold_count(labelled))
        on_gpu = settings["device"].startswith("cuda")
        specs = incidence_members(table, output, labelled, dict(settings["network"]), share, on_gpu)
        portfolio = Portfolio(output, settings["device"], settings["seed"])
        portfolio.fit(
            table, specs, target, weight=weight, clock=clock, groups=None if table.partly else table.edge,
            judging=judging, label=settings["label"], quiet=settings["quiet"],
        )  # fmt: skip
        node, edge = h.index.numpy()
        target = target if judging is None else output.hide(target, ~judging)
        bank = {"node": node, "edge": edge, "order": h.orders.numpy()[edge], "set": set_hashes(h)[edge]}
        bank["target"] = target
        nothing = (
            np.full(h.num_nodes, -1)
            if output.kind == "classes"
            else np.full((h.num_nodes, output.width), np.nan)
        )
        fit_nodes = _without_truths(FitNodes.of(h, nothing, table.nodes.block("spectral")))
        keys = role_hashes(h, np.arange(h.num_nodes)) if h.num_roles > 1 else None
        directions = {k: v for k, v in table.nodes.cache.items() if k.startswith("directions.")}
        return cls(
            portfolio, fit_nodes, bank, widths_of(h), h.num_roles, table.partly, keys, shifts, directions
        )

    def matched(self, h: Hypergraph) -> MatchedIncidences:
        """The nodes of ``h`` that were there in fit, and the known labels."""
        h = with_roles(h, self.roles)
        place = self.fit_nodes.places(h)
        numbers = np.where(place >= 0, place, len(self.fit_nodes.target) + np.arange(h.num_nodes))
        node, edge = h.index.numpy()
        edges = self.edge_places(h, numbers)[edge]
        same = _matched((place[node], edges), (self.bank["node"], self.bank["edge"]))
        target = self.portfolio.output.hide(self.bank["target"][np.maximum(same, 0)], same >= 0)
        return MatchedIncidences(place, numbers, edges, target, self._elsewhere(place, same))

    def edge_places(self, h: Hypergraph, numbers: Array) -> Array:
        """``[num_edges]``: the number in fit of each hyperedge of ``h``, -1: new; no number comes twice.

        They are found by name where both hypergraphs have names. Otherwise the first of several copies, with
        the same members in the same roles, is the first in fit, the second is the second, and so on.
        ``numbers [num_nodes]`` are those in fit, and others for new nodes.
        """
        names = h.edge_names
        if self.fit_nodes.groups is not None and names is not None and len(set(names)) == len(names):
            return self.fit_nodes.group_places(h)
        mine = self.fit_nodes.sets if self.keys is None else self.keys
        keys = set_hashes(h, numbers) if self.keys is None else role_hashes(h, numbers)
        return _matched((keys, _copy_numbers(keys)), (mine, _copy_numbers(mine)))

    def logits(self, h: Hypergraph, matched: MatchedIncidences | None = None) -> Tensor:
        """``[num_incidences, outputs]``: log-probabilities."""
        check_widths(self.widths, h)
        h = with_roles(h, self.roles)
        output = self.portfolio.output
        matched = self.matched(h) if matched is None else matched
        features = shifted_features(h, self.shifts)
        table = IncidenceTable(features, matched.bank, matched.numbers, self.partly, matched.edges)
        unknown = self.fit_nodes.labels(matched.nodes, output)
        learned, _ = self.fit_nodes.join(matched.nodes, unknown, output, table.nodes.incidence)
        table.nodes.given.update(self.directions | learned)
        table = table.with_known(output, matched.target, self.portfolio.prior)
        scores = self.portfolio.scores(table)
        there = matched.nodes[h.index[0].numpy()] >= 0
        if not there.all():
            scores = np.where(there[:, None], scores, self.portfolio.scores(table, new=True))
        return torch.from_numpy(scores)

    def _elsewhere(self, place: Array, same: Array) -> dict[str, Array] | None:
        """The labelled incidences of fit that are not in another hypergraph, of nodes that are; or None.

        ``place [num_nodes]`` and ``same [num_incidences]`` are the numbers in fit of those in it.
        """
        number = np.full(len(self.fit_nodes.target), -1)
        number[place[place >= 0]] = np.flatnonzero(place >= 0)
        node = number[self.bank["node"]]
        values, known = self.portfolio.output.matrix(self.bank["target"])
        rows = (node >= 0) & known.any(1) & ~np.isin(np.arange(len(node)), same)
        if not rows.any():
            return None
        kept = {"order": self.bank["order"], "set": self.bank["set"], "node": node}
        kept |= {"values": values * known, "known": known, "same": np.full(len(node), -1)}
        return {name: column[rows] for name, column in kept.items()}

    def about(self) -> dict[str, Any]:
        """What goes to JSON."""
        names, groups = (
            None if found is None else [plain_name(name) for name in found]
            for found in (self.fit_nodes.names, self.fit_nodes.groups)
        )
        return portfolio_about(self.portfolio) | {
            "names": names, "groups": groups, "widths": list(self.widths), "roles": self.roles,
            "partly": self.partly,
        }  # fmt: skip

    def tensors(self) -> dict[str, Tensor]:
        """What goes to the tensors."""
        arrays = portfolio_arrays(self.portfolio) | {f"bank.{k}": v for k, v in self.bank.items()}
        arrays |= {f"company.{k}": v for k, v in self.fit_nodes.arrays().items()}
        arrays |= {} if self.keys is None else {"keys": self.keys}
        arrays |= self.directions | {f"shift.{k}": v for k, v in self.shifts.items()}
        return {f"auto.{k}": torch.from_numpy(np.array(v)) for k, v in arrays.items()}

    @classmethod
    def restore(cls, about: Mapping[str, Any], tensors: Mapping[str, Tensor], device: str) -> AutoIncidences:
        """Inverse of `about` and `tensors`."""
        arrays = {k[5:]: v.numpy() for k, v in tensors.items() if k.startswith("auto.")}
        fit_nodes = {k[8:]: v for k, v in arrays.items() if k.startswith("company.")}
        directions = {k: v for k, v in arrays.items() if k.startswith("directions.")}
        shifts = {k[6:]: v for k, v in arrays.items() if k.startswith("shift.")}
        bank = {k: arrays[f"bank.{k}"] for k in _BANK}
        kept = arrays.get("bank.edge")  # not in older files
        bank["edge"] = _edge_numbers(bank, fit_nodes["sets"]) if kept is None else kept
        first, second = about["widths"]
        groups = _names_of(about.get("groups"), len(fit_nodes["sets"]))
        return cls(
            portfolio_from(about, arrays, device), FitNodes.restore(about["names"], fit_nodes, groups), bank,
            (int(first), int(second)), int(about.get("roles", 1)),
            bool(about.get("partly", False)), arrays.get("keys"), shifts, directions,
        )  # fmt: skip


def role_hashes(h: Hypergraph, numbers: Array) -> Array:
    """``[num_edges]`` int64: equal for equal sets of (number of the node, role); see `set_hashes`."""
    node, edge = h.index.numpy()
    role = 0 if h.roles is None else h.roles.numpy()
    size = h.num_nodes * h.num_roles
    marked = Hypergraph.from_incidence((node * h.num_roles + role, edge), size, h.num_edges)
    return set_hashes(marked, (numbers[:, None] * h.num_roles + np.arange(h.num_roles)).ravel())


def _copy_numbers(keys: Array) -> Array:
    """``[keys]``: how many equal ones are before each.

    >>> _copy_numbers(np.array([5, 3, 5, 5])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(keys, kind="stable")
    found = np.empty_like(order)
    found[order] = np.arange(len(keys)) - np.searchsorted(keys[order], keys[order])
    return found


def _matched(wanted: tuple[Array, Array], there: tuple[Array, Array]) -> Array:
    """``[wanted]``: the place of each pair among those ``there``, -1 where it is not.

    >>> _matched((np.array([7, 7]), np.array([0, 1])), (np.array([2, 7]), np.array([0, 0]))).tolist()
    [1, -1]
    """
    size = len(there[0])
    first, second = (
        np.unique(np.concatenate(p), return_inverse=True)[1].ravel() for p in zip(there, wanted, strict=True)
    )
    code = first * (int(second.max(initial=0)) + 1) + second
    known, place = np.unique(code[:size], return_index=True)
    if not size:
        return np.full(len(code), -1)
    found = np.minimum(np.searchsorted(known, code[size:]), len(known) - 1)
    return np.where(known[found] == code[size:], place[found], -1)


def _edge_numbers(bank: Mapping[str, Array], sets: Array) -> Array:
    """``[incidences]``: the hyperedges of a ``bank`` without them; its rows are sorted by hyperedge.

    One ends where its members are complete, also if a copy follows. Empty ones are those with the hash 0.
    """
    rows, changed = np.arange(len(bank["set"])), np.diff(bank["set"], prepend=bank["set"][:1]) != 0
    start = np.maximum.accumulate(np.where(changed, rows, 0))
    begins = (rows - start) % np.maximum(bank["order"], 1) == 0
    return np.flatnonzero(sets)[np.cumsum(begins) - 1]


def _without_truths(fit_nodes: FitNodes) -> FitNodes:
    """``fit_nodes`` without names of hyperedges where some are True or False, which cannot be saved."""
    truths = any(isinstance(plain(name), bool) for name in fit_nodes.groups or ())
    return replace(fit_nodes, groups=None) if truths else fit_nodes


def _names_of(groups: Any, count: int) -> Any:
    """Saved names of ``count`` hyperedges, or None; a ValueError where they are something else."""
    right = isinstance(groups, list) and len(groups) == count
    if groups is not None and not (right and all(isinstance(name, (str, int)) for name in groups)):
        raise ValueError(f"the names of {count} hyperedges must be as many texts or integers")
    return groups
