"""``model="auto"`` for incidences: a portfolio, and the labelled incidences of fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph

from .auto import check_widths, widths_of, with_roles
from .features import shifted_features
from .portfolio.budget import clock_of
from .portfolio.company import Company, set_hashes
from .portfolio.folds import fold_count
from .portfolio.incidence_table import IncidenceTable, incidence_members, partly_labelled
from .portfolio.outputs import Output
from .portfolio.portfolio import Portfolio
from .portfolio.stored import portfolio_about, portfolio_arrays, portfolio_from
from .storage import plain_name

Array = np.ndarray
_BANK = ("node", "order", "set", "target")


@dataclass(frozen=True)
class SeenIncidences:
    """What is known of a hypergraph from fit.

    Attributes:
        nodes: ``[num_nodes]`` numbers in fit, -1: new.
        numbers: the same, with numbers of their own for new nodes.
        target: ``[num_incidences]`` known labels (encoded).
        bank: labelled incidences of fit, where they are not those of the hypergraph; see `IncidenceTable`.
            ``same`` is the incidence of the hypergraph that each one is, -1: none.
    """

    nodes: Array
    numbers: Array
    target: Array
    bank: dict[str, Array] | None

    def copies(self, nodes: Array, incidences: Sequence[Array], dropped: Sequence[Array]) -> SeenIncidences:
        """Of a batch of parts with the same ``nodes``.

        ``incidences`` are the numbers of those in each part, ``dropped`` of those that were left out.
        """
        count, size = len(incidences), len(nodes)
        own, numbers = (np.tile(a[nodes], count) for a in (self.nodes, self.numbers))
        target = self.target[np.concatenate(incidences)]
        if self.bank is None:
            return SeenIncidences(own, numbers, target, None)
        place = np.minimum(np.searchsorted(nodes, self.bank["node"]), size - 1)
        inside = nodes[place] == self.bank["node"]
        rows = [np.flatnonzero(inside & ~np.isin(self.bank["same"], gone)) for gone in dropped]
        bank = {k: np.concatenate([v[r] for r in rows]) for k, v in self.bank.items()}
        bank["node"] = np.concatenate([place[r] + i * size for i, r in enumerate(rows)])
        return SeenIncidences(own, numbers, target, bank)


@dataclass
class AutoIncidences:
    """A fitted portfolio for incidences.

    Attributes:
        company: the nodes of fit and their spectral coordinates.
        bank: of the incidences of fit: node, order, hash of the hyperedge, and encoded label.
        widths: channels of x and edge_x in fit.
        roles: how many there were in fit.
        partly: whether members read labels of the same hyperedge; see `partly_labelled`.
    """

    portfolio: Portfolio
    company: Company
    bank: dict[str, Array]
    widths: tuple[int, int]
    roles: int = 1
    partly: bool = False

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
        table = IncidenceTable(shifted_features(h, {}), partly=partly_labelled(h, taught, asked))
        labelled = int(known.sum())
        share = 0.5 * clock.seconds / (1 if judging is not None else fold_count(labelled))
        on_gpu = settings["device"].startswith("cuda")
        specs = incidence_members(table, output, labelled, dict(settings["plan"]), share, on_gpu)
        portfolio = Portfolio(output, settings["device"], settings["seed"])
        portfolio.fit(
            table, specs, target, weight=weight, clock=clock, groups=None if table.partly else table.edge,
            judging=judging, label=settings["label"], quiet=settings["quiet"],
        )  # fmt: skip
        node, edge = h.index.numpy()
        target = target if judging is None else output.hide(target, ~judging)
        bank = {"node": node, "order": h.orders.numpy()[edge], "set": set_hashes(h)[edge], "target": target}
        nothing = (
            np.full(h.num_nodes, -1)
            if output.kind == "classes"
            else np.full((h.num_nodes, output.width), np.nan)
        )
        company = Company.of(h, nothing, table.nodes.block("spectral"))
        return cls(portfolio, company, bank, widths_of(h), h.num_roles, table.partly)

    def seen(self, h: Hypergraph) -> SeenIncidences:
        """The nodes of ``h`` that were there in fit, and the known labels."""
        place, output = self.company.places(h), self.portfolio.output
        node, edge = h.index.numpy()
        sets = set_hashes(h)[edge]
        same = np.array_equal(place[node], self.bank["node"]) and np.array_equal(sets, self.bank["set"])
        if same:  # the hypergraph of fit: a label is not in its own history
            return SeenIncidences(place, place, self.bank["target"], None)
        known = output.hide(np.repeat(self.bank["target"][:1], len(node), 0), np.zeros(len(node), bool))
        numbers = np.where(place >= 0, place, len(self.company.target) + np.arange(h.num_nodes))
        bank = self._bank_in(place, h, numbers)
        if self.partly:  # labels of hyperedges that are here are read there, and not as a history
            here = bank["same"] >= 0
            known[bank["same"][here]] = bank["target"][here]
            bank = {k: v[~here] for k, v in bank.items()}
        return SeenIncidences(place, numbers, known, bank)

    def logits(self, h: Hypergraph, seen: SeenIncidences | None = None) -> Tensor:
        """``[num_incidences, outputs]``: log-probabilities."""
        check_widths(self.widths, h)
        h = with_roles(h, self.roles)
        output = self.portfolio.output
        seen = self.seen(h) if seen is None else seen
        table = IncidenceTable(shifted_features(h, {}), seen.bank, seen.numbers, self.partly)
        unknown = self.company.labels(seen.nodes, output)
        learned, _ = self.company.join(seen.nodes, unknown, output, table.nodes.incidence)
        table.nodes.given.update(learned)
        table = table.with_known(output, seen.target, self.portfolio.prior)
        scores = self.portfolio.scores(table)
        there = seen.nodes[h.index[0].numpy()] >= 0
        if not there.all():
            scores = np.where(there[:, None], scores, self.portfolio.scores(table, new=True))
        return torch.from_numpy(scores)

    def _bank_in(self, place: Array, h: Hypergraph, numbers: Array) -> dict[str, Array]:
        """The labelled incidences of fit, with the numbers that their nodes have in another hypergraph."""
        number = np.full(len(self.company.target), -1)
        number[place[place >= 0]] = np.flatnonzero(place >= 0)
        values, known = self.portfolio.output.matrix(self.bank["target"])
        rows = (number[self.bank["node"]] >= 0) & known.any(1)
        bank = {k: self.bank[k][rows] for k in ("order", "set", "target")} | {
            "node": number[self.bank["node"]][rows]
        }
        node, edge = h.index.numpy()
        bank["same"] = _matched((bank["node"], bank["set"]), (node, set_hashes(h, numbers)[edge]))
        return bank | {"values": (values * known)[rows], "known": known[rows]}

    def about(self) -> dict[str, Any]:
        """What goes to JSON."""
        names = None if self.company.names is None else [plain_name(n) for n in self.company.names]
        return portfolio_about(self.portfolio) | {
            "names": names, "widths": list(self.widths), "roles": self.roles, "partly": self.partly,
        }  # fmt: skip

    def tensors(self) -> dict[str, Tensor]:
        """What goes to the tensors."""
        arrays = portfolio_arrays(self.portfolio) | {f"bank.{k}": v for k, v in self.bank.items()}
        arrays |= {f"company.{k}": v for k, v in self.company.arrays().items()}
        return {f"auto.{k}": torch.from_numpy(np.array(v)) for k, v in arrays.items()}

    @classmethod
    def restore(cls, about: Mapping[str, Any], tensors: Mapping[str, Tensor], device: str) -> AutoIncidences:
        """Inverse of `about` and `tensors`."""
        arrays = {k[5:]: v.numpy() for k, v in tensors.items() if k.startswith("auto.")}
        company = {k[8:]: v for k, v in arrays.items() if k.startswith("company.")}
        bank = {k: arrays[f"bank.{k}"] for k in _BANK}
        first, second = about["widths"]
        return cls(
            portfolio_from(about, arrays, device), Company.restore(about["names"], company), bank,
            (int(first), int(second)), int(about.get("roles", 1)),
            bool(about.get("partly", False)),
        )  # fmt: skip


def _matched(wanted: tuple[Array, Array], there: tuple[Array, Array]) -> Array:
    """``[wanted]``: the place of each pair among those ``there``, -1 where it is not."""
    size = len(there[0])
    pairs = np.stack([np.concatenate(p) for p in zip(there, wanted, strict=True)])
    _, code = np.unique(pairs, axis=1, return_inverse=True)
    code = code.ravel()
    place = np.full(int(code.max(initial=-1)) + 1, -1)
    place[code[:size]] = np.arange(size)
    return place[code[size:]]
