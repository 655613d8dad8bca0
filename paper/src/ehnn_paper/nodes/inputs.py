"""Node classification with features of each run's own: gated by a test on training nodes, and known labels.

Both read the labels of training nodes alone, so each run has its own input, ``run_x [runs, n, d]``, which a
batch carries to the models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.ops import segment_mean
from ehnn.tasks.node_classification import NodeClassification

MOST_IDENTITIES = 4096
"""Hyperedges of which each may be an input channel."""


@dataclass(frozen=True, eq=False, repr=False)
class RunHypergraph(Hypergraph):
    """A hypergraph with features of each run, ``run_x [runs, n, d]``, and labels to learn ``[runs, n]``."""

    run_x: Tensor | None = None
    target: Tensor | None = None


@dataclass(frozen=True, eq=False)
class PreparedNodes(NodeClassification):
    """Node classification whose runs may see gated features and the labels of training nodes.

    Args:
        standardise: features get mean 0 and standard deviation 1 over all nodes.
        gate: 0 leaves the features; c > 0 multiplies each by ``max(0, 1 - c / F)`` with its F statistic
            between the classes of the run's training nodes (about 1 for a feature that is noise).
        hidden: 0 shows no labels. Otherwise training labels are input channels, and each batch hides
            this fraction of them, at random, and learns these; validation and test see all of them.
        identities: a channel for each hyperedge, 1 for its nodes, tells hyperedges apart: the model is of
            this hypergraph alone, as one with a table of embeddings is. Dense, so for at most
            `MOST_IDENTITIES`.
        diffused: steps t; the features are followed by their means over the hyperedges' means of a node, and
            the means of these, t times.
        views: batches with hidden labels that are drawn once and taken in turn, one an epoch.
        smoothing: of the labels that are learned.
    """

    standardise: bool = False
    gate: float = 0.0
    hidden: float = 0.0
    identities: bool = False
    diffused: int = 0
    views: int = 8
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.hidden <= 1:
            raise ValueError(f"hidden must be a fraction in [0, 1], got {self.hidden!r}")
        if self.identities and self.h.num_edges > MOST_IDENTITIES:
            raise ValueError(
                f"identities=True is for at most {MOST_IDENTITIES} hyperedges, got {self.h.num_edges}"
            )
        if self.views < 1 or self.gate < 0 or self.diffused < 0 or not 0 <= self.smoothing < 1:
            raise ValueError(
                "views must be at least 1, gate and diffused not below 0 and smoothing in [0, 1), got "
                f"{self.views!r}, {self.gate!r}, {self.diffused!r}, {self.smoothing!r}"
            )

    @property
    def num_features(self) -> int:
        """Channels of a run's features, those of labels and hyperedges included."""
        more = (self.num_outputs if self.hidden else 0) + (self.h.num_edges if self.identities else 0)
        return super().num_features * (1 + self.diffused) + more

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        """One view of the hypergraph an epoch; each comes back as the same object."""
        yield self._views[epoch % len(self._views)]

    def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
        """``[runs, n, classes] → [runs]``: cross entropy over the nodes whose labels ``h`` hides."""
        assert isinstance(h, RunHypergraph)
        assert h.target is not None
        losses = F.cross_entropy(
            logits.movedim(-1, 1), h.target, ignore_index=-1, reduction="none", label_smoothing=self.smoothing
        )
        return losses.sum(1) / (h.target >= 0).sum(1).clamp(min=1)

    @cached_property
    def evaluated(self) -> RunHypergraph:
        """All training labels are shown, where labels are shown at all."""
        return self._view(self.train, self.train)

    @cached_property
    def _views(self) -> list[RunHypergraph]:
        if not self.hidden:
            return [self.evaluated]
        rows = []
        for seed, nodes in zip(self.seeds, (self.train >= 0).cpu(), strict=True):
            generator = torch.Generator().manual_seed(seed)
            rows.append(_hide(nodes, self.hidden, self.views, generator))
        hidden = torch.stack(rows, 1).to(self.h.device)  # [views, runs, n]
        return [
            self._view(self.train.masked_fill(view, -1), self.train.masked_fill(~view, -1)) for view in hidden
        ]

    def _view(self, shown: Tensor, target: Tensor) -> RunHypergraph:
        """The hypergraph with the labels ``shown [runs, n]`` as input; -1 is not shown."""
        x = self._features
        if self.hidden:
            labels = F.one_hot(shown + 1, self.num_outputs + 1)[..., 1:].to(x.dtype)
            x = torch.cat([x, labels], -1)
        own = {f.name: getattr(self.h, f.name) for f in fields(Hypergraph)}
        return RunHypergraph(**own, run_x=x, target=target)

    @cached_property
    def _features(self) -> Tensor:
        """``[runs, n, d]``."""
        assert self.h.x is not None
        x = diffuse(self.h.x, self.h, self.diffused)
        if self.identities:
            inside = x.new_zeros(self.h.num_nodes, self.h.num_edges)
            inside[self.h.incidence.index, self.h.incidence.rows] = 1
            x = torch.cat([x, inside], 1)
        if self.standardise:
            x = (x - x.mean(0)) / x.std(0, correction=0).clamp(min=1e-6)
        if not self.gate:
            return x.expand(len(self.seeds), -1, -1)
        gates = [f_gates(x, labels, self.num_outputs, self.gate) for labels in self.train]
        return torch.stack(gates).unsqueeze(1) * x


def diffuse(x: Tensor, h: Hypergraph, steps: int) -> Tensor:
    """``[n, d] → [n, (1 + steps) d]``: x, Px, P²x, …; P is the mean over a node's hyperedges of their means.

    >>> h = Hypergraph.from_edges([[0, 1], [1, 2]])
    >>> diffuse(torch.tensor([[0.0], [2.0], [6.0]]), h, 1)
    tensor([[0.0000, 1.0000],
            [2.0000, 2.5000],
            [6.0000, 4.0000]])
    """
    found, stars = [x], h.incidence.transpose()
    for _ in range(steps):
        found.append(segment_mean(segment_mean(found[-1], h.incidence), stars))
    return torch.cat(found, 1)


def f_gates(x: Tensor, labels: Tensor, classes: int, c: float) -> Tensor:
    """``[n, d], [n]`` (-1: no label) → ``[d]``: ``max(0, 1 - c / F)`` of each feature.

    F is the analysis of variance between the classes that occur: mean square between over mean square
    within.

    >>> labels = torch.tensor([0, 0, 1, 1, -1])
    >>> x = torch.tensor([[0.0, 1.0], [0.1, -1.0], [5.0, 1.0], [5.1, -1.0], [9.0, 9.0]])
    >>> f_gates(x, labels, 2, 4.0)
    tensor([0.9992, 0.0000])
    """
    inside = labels >= 0
    x, member = x[inside].double(), F.one_hot(labels[inside], classes).double()
    count = member.sum(0)
    means = (member.T @ x) / count.clamp(min=1).unsqueeze(1)
    between = (count.unsqueeze(1) * (means - x.mean(0)).square()).sum(0)
    within = (x - member @ means).square().sum(0)
    present = int((count > 0).sum())
    between, within = between / max(present - 1, 1), within / max(x.shape[0] - present, 1)
    gates = (1 - c * within / between.clamp(min=1e-300)).clamp(min=0)
    return torch.where(between > 0, gates, 0).to(torch.float32)  # a constant tells nothing


def _hide(nodes: Tensor, fraction: float, views: int, generator: torch.Generator) -> Tensor:
    """``[n]`` bool → ``[views, n]``: a random part of the nodes in each view, at least one."""
    index = nodes.nonzero().squeeze(1)
    count = max(1, round(fraction * index.shape[0]))
    hidden = torch.zeros(views, nodes.shape[0], dtype=torch.bool)
    for view in hidden:
        view[index[torch.randperm(index.shape[0], generator=generator)[:count]]] = True
    return hidden
