"""``model="auto"``: a portfolio, and what it needs to know of the data of fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph, batch

from .features import feature_shifts, shifted_features
from .portfolio.budget import clock_of
from .portfolio.fit_nodes import FitNodes
from .portfolio.folds import fit_count
from .portfolio.gate import worth_gating
from .portfolio.graph_table import GraphTable, graph_members
from .portfolio.node_members import node_members
from .portfolio.node_table import NodeTable, passes_of
from .portfolio.outputs import Output
from .portfolio.portfolio import Portfolio
from .portfolio.stored import portfolio_about, portfolio_arrays, portfolio_from

Array = np.ndarray
_LARGE, _LARGEST = 1e12, 1e30
"""Features of hypergraphs: columns with numbers above the first are scaled, since their squares overflow.
In prediction, numbers that are still above the second count as it."""


@dataclass(frozen=True)
class MatchedRows:
    """Which nodes and hyperedges of a hypergraph were there in fit.

    Attributes:
        nodes, edges: ``[num_nodes]``, ``[num_edges]`` numbers in fit, -1: new.
        passes: ``[num_nodes]`` of propagation; see `NodeTable`.
        hidden: nodes whose labels are not to be read.
    """

    nodes: Array
    edges: Array
    passes: Array
    hidden: Array

    @classmethod
    def of(cls, nodes: Array, edges: Array) -> MatchedRows:
        """Nodes and hyperedges with these numbers in fit; no label is hidden."""
        return cls(nodes, edges, passes_of(nodes), np.zeros(0, np.int64))

    def copies(self, nodes: Array, edges: Array, count: int, hidden: Array) -> MatchedRows:
        """Of a batch of ``count`` times the same part of the hypergraph."""
        own, passes = np.tile(self.nodes[nodes], count), np.tile(self.passes[nodes], count)
        return MatchedRows(own, np.tile(self.edges[edges], count), passes, hidden)


@dataclass
class AutoNodes:
    """A fitted portfolio for nodes.

    Attributes:
        widths: channels of x and edge_x in fit.
        roles: how many there were in fit.
        directions: arrays that reduce wide features.
        shifts: of the features, before they are rounded to single precision.
        fit_nodes: labels and coordinates of the nodes of fit.
    """

    portfolio: Portfolio
    fit_nodes: FitNodes
    directions: dict[str, Array]
    shifts: dict[str, Array]
    widths: tuple[int, int]
    roles: int = 1

    @classmethod
    def fit(
        cls, h: Hypergraph, output: Output, target: Array, weight: Array | None, settings: Mapping[str, Any],
        judging: Array | None = None,
    ) -> AutoNodes:  # fmt: skip
        """Learn from the encoded ``target`` ``[num_nodes]``.

        ``settings``: ``budget``, ``device``, ``seed``, ``quiet``, ``label``, ``network`` (arguments of
        `NetworkSpec`, and ``epochs``).
        ``judging [num_nodes]``: labels that judge the members, and are neither trained on nor known later.
        """
        clock = clock_of(settings["budget"], h.num_nodes, h.num_incidences)
        shifts = feature_shifts(h)
        table = NodeTable(shifted_features(h, shifts))
        labelled = int(output.labelled(target).sum())
        share = clock.seconds / (1 if judging is not None else max(1, fit_count(labelled)))
        gated = worth_gating(table.block("x"), target, output)
        specs = node_members(table, output, labelled, dict(settings["network"]), share, gated)
        portfolio = Portfolio(output, settings["device"], settings["seed"])
        portfolio.fit(
            table, specs, target, weight=weight, clock=clock, judging=judging, label=settings["label"],
            quiet=settings["quiet"],
        )  # fmt: skip
        target = target if judging is None else output.hide(target, ~judging)
        used = {block for models in portfolio.members.values() for block in models[0].spec.blocks}
        spectral = table.block("spectral") if "spectral" in used else None
        directions = {k: v for k, v in table.cache.items() if k.startswith("directions.")}
        fit_nodes = FitNodes.of(h, target, spectral)
        return cls(portfolio, fit_nodes, directions, shifts, widths_of(h), h.num_roles)

    def matched(self, h: Hypergraph) -> MatchedRows:
        """Nodes and hyperedges of ``h`` that were there in fit."""
        edges = self.fit_nodes.group_places(h) if self.reads_members else np.full(h.num_edges, -1)
        return MatchedRows.of(self.fit_nodes.places(h), edges)

    def knows_nothing(self, h: Hypergraph) -> bool:
        """Whether no node and no hyperedge of ``h`` was there in fit, and there are no features."""
        if any(self.widths) or not h.num_nodes:
            return False
        fit_nodes = self.fit_nodes
        return not ((fit_nodes.places(h) >= 0).any() or (fit_nodes.group_places(h) >= 0).any())

    def logits(self, h: Hypergraph, matched: MatchedRows | None = None) -> Tensor:
        """``[num_nodes, outputs]``: log-probabilities, log-odds or (standardised) numbers."""
        check_widths(self.widths, h)
        h = with_roles(h, self.roles)
        matched = self.matched(h) if matched is None else matched
        output = self.portfolio.output
        table = NodeTable(shifted_features(h, self.shifts), {**self.directions, "passes": matched.passes})
        target = self.fit_nodes.labels(matched.nodes, output)
        if len(matched.hidden):
            target = output.hide(target, ~np.isin(np.arange(h.num_nodes), matched.hidden))
        learned, known = self.fit_nodes.join(matched.nodes, target, output, table.incidence)
        table.given.update(learned)
        if self.reads_members:
            table.given["members"] = self.fit_nodes.columns(matched.edges, table.by_role)
        table = table.with_known(output, target, self.portfolio.prior)
        if known.all() and len(known):
            return torch.from_numpy(self.portfolio.scores(table))
        scores = self.portfolio.scores(table, new=True)
        if known.any():
            scores = np.where(known[:, None], self.portfolio.scores(table), scores)
        return torch.from_numpy(scores)

    @property
    def reads_members(self) -> bool:
        """Whether a member knows hyperedges by identity."""
        return any("members" in models[0].spec.blocks for models in self.portfolio.members.values())

    def about(self) -> dict[str, Any]:
        """What goes to JSON."""
        from .storage import plain_name

        names = None if self.fit_nodes.names is None else [plain_name(n) for n in self.fit_nodes.names]
        groups = self.fit_nodes.groups if self.reads_members else None
        told = {"groups": None if groups is None else [plain_name(n) for n in groups], "roles": self.roles}
        return portfolio_about(self.portfolio) | {"names": names, "widths": list(self.widths)} | told

    def tensors(self) -> dict[str, Tensor]:
        """What goes to the tensors."""
        arrays = (
            portfolio_arrays(self.portfolio)
            | self.directions
            | {f"shift.{k}": v for k, v in self.shifts.items()}
        )
        arrays |= {f"company.{k}": v for k, v in self.fit_nodes.arrays().items()}
        return {f"auto.{k}": torch.from_numpy(np.array(v)) for k, v in arrays.items()}

    @classmethod
    def restore(cls, about: Mapping[str, Any], tensors: Mapping[str, Tensor], device: str) -> AutoNodes:
        """Inverse of `about` and `tensors`."""
        arrays = {k[5:]: v.numpy() for k, v in tensors.items() if k.startswith("auto.")}
        fit_nodes = {k[8:]: v for k, v in arrays.items() if k.startswith("company.")}
        directions = {k: v for k, v in arrays.items() if k.startswith("directions.")}
        shifts = {k[6:]: v for k, v in arrays.items() if k.startswith("shift.")}
        first, second = about["widths"]
        return cls(
            portfolio_from(about, arrays, device),
            FitNodes.restore(about["names"], fit_nodes, about.get("groups")),
            directions, shifts, (int(first), int(second)), int(about.get("roles", 1)),
        )  # fmt: skip


def widths_of(h: Hypergraph) -> tuple[int, int]:
    """Channels of x and of edge_x; 0 for none."""
    x, edge_x = (0 if v is None else v.shape[1] for v in (h.x, h.edge_x))
    return x, edge_x


@dataclass
class AutoGraphs:
    """A fitted portfolio for whole hypergraphs.

    Attributes:
        widths: channels of x and edge_x in fit.
        shifts: of the features, before they are rounded to single precision; empty in an older file.
        scales: by which they are divided then; empty where none is large.
    """

    portfolio: Portfolio
    widths: tuple[int, int]
    shifts: dict[str, Array] = field(default_factory=dict)
    scales: dict[str, Array] = field(default_factory=dict)

    @classmethod
    def fit(
        cls, members: Sequence[Hypergraph], output: Output, target: Array, weight: Array | None,
        settings: Mapping[str, Any], judging: Array | None = None,
    ) -> AutoGraphs:  # fmt: skip
        """Learn from the encoded ``target`` ``[hypergraphs]``; the rest is as in `AutoNodes.fit`."""
        nodes, incidences = (
            sum(v) for v in zip(*((h.num_nodes, h.num_incidences) for h in members), strict=True)
        )
        clock = clock_of(settings["budget"], nodes, incidences)
        shifts, scales = _graph_scales(members)
        table = GraphTable([_scaled(h, shifts, scales) for h in members])
        labelled = int(output.labelled(target).sum())
        share = clock.seconds / (1 if judging is not None else max(1, fit_count(labelled)))
        specs = graph_members(table, output, labelled, dict(settings["network"]), share)
        portfolio = Portfolio(output, settings["device"], settings["seed"])
        portfolio.fit(
            table, specs, target, weight=weight, clock=clock, judging=judging, label=settings["label"],
            quiet=settings["quiet"],
        )  # fmt: skip
        return cls(portfolio, widths_of(members[0]), shifts, scales)

    def logits(self, members: Sequence[Hypergraph]) -> Tensor:
        """``[hypergraphs, outputs]``."""
        for h in members:
            check_widths(self.widths, h)
        output = self.portfolio.output
        if not members:
            return torch.zeros(0, output.width)
        table = GraphTable([_scaled(h, self.shifts, self.scales) for h in members])
        return torch.from_numpy(self.portfolio.scores(table))

    def about(self) -> dict[str, Any]:
        """What goes to JSON."""
        return portfolio_about(self.portfolio) | {"widths": list(self.widths)}

    def tensors(self) -> dict[str, Tensor]:
        """What goes to the tensors."""
        arrays = portfolio_arrays(self.portfolio) | {f"shift.{k}": v for k, v in self.shifts.items()}
        arrays |= {f"scale.{k}": v for k, v in self.scales.items()}
        return {f"auto.{k}": torch.from_numpy(np.array(v)) for k, v in arrays.items()}

    @classmethod
    def restore(cls, about: Mapping[str, Any], tensors: Mapping[str, Tensor], device: str) -> AutoGraphs:
        """Inverse of `about` and `tensors`."""
        arrays = {k[5:]: v.numpy() for k, v in tensors.items() if k.startswith("auto.")}
        shifts, scales = (
            {k[6:]: v for k, v in arrays.items() if k.startswith(start)} for start in ("shift.", "scale.")
        )
        first, second = about["widths"]
        return cls(portfolio_from(about, arrays, device), (int(first), int(second)), shifts, scales)


def _graph_scales(members: Sequence[Hypergraph]) -> tuple[dict[str, Array], dict[str, Array]]:
    """`feature_shifts` over the rows of all members, and ``[d]`` what large columns are divided by."""
    for h in members:
        shifted_features(h, {})  # an error names the row within its hypergraph
    whole = batch(h.replace(incidence_x=None) for h in members)
    shifts, scales = feature_shifts(whole), {}
    whole = shifted_features(whole, shifts)
    for name, value in (("x", whole.x), ("edge_x", whole.edge_x)):
        if value is not None and value.numel() and float(value.abs().max()) > _LARGE:
            largest = value.abs().amax(0)
            scales[name] = torch.where(largest > _LARGE, largest, 1.0).numpy()
    return shifts, scales


def _scaled(h: Hypergraph, shifts: Mapping[str, Array], scales: Mapping[str, Array]) -> Hypergraph:
    """``h`` with features less ``shifts``, over ``scales``."""
    h = shifted_features(h, shifts)
    changed = {}
    for name, value in (("x", h.x), ("edge_x", h.edge_x)):
        if value is not None:
            value = value / torch.from_numpy(scales[name]) if name in scales else value
            changed[name] = value.clamp(-_LARGEST, _LARGEST)
    return h.replace(**changed)


def with_roles(h: Hypergraph, roles: int) -> Hypergraph:
    """``h`` with as many roles as in fit; a ValueError where it has more, or none and fit had some."""
    if roles == h.num_roles:
        return h
    if h.roles is None or h.num_roles > roles:
        had = f"{roles} roles of nodes within hyperedges" if roles > 1 else "no roles"
        raise ValueError(f"fit had {had}, got {h.num_roles if h.roles is not None else 'none'}: {h}")
    return h.replace(num_roles=roles)


def check_widths(widths: tuple[int, int], h: Hypergraph) -> None:
    """A ValueError where features are not those of fit."""
    for name, wanted, found in zip(("x", "edge_x"), widths, widths_of(h), strict=True):
        if wanted != found:
            raise ValueError(f"{name} must have {wanted} channels as in fit, got {found or f'no {name}'}")
