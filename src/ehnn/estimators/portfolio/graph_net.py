"""EHNN on whole hypergraphs as a member, beside columns of each hypergraph."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph, batch
from ehnn.nn.dropout import Dropout
from ehnn.training.randomness import OwnRandom

from ..features import structural_features
from ..models import NetworkSpec
from .nets import Schedule, loss_of, restored, standard, tensors_of, train
from .outputs import SALT, Output

Array = np.ndarray


class GraphModel(nn.Module):
    """A stack from nodes to hypergraphs, joined with columns of each hypergraph.

    Shapes: hypergraphs in a batch, columns ``[num_members, d]`` → ``[num_members, outputs]``.
    """

    def __init__(self, plan: NetworkSpec, channels: int, columns: int, outputs: int) -> None:
        super().__init__()
        width = plan.width
        self.first = nn.Linear(channels, width)
        self.inner = plan.hypergraphs(width, width, False, None)
        self.columns = nn.Linear(columns, width)
        self.norm, self.drop = nn.LayerNorm(2 * width), Dropout(0.3)
        self.head = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, outputs))

    def forward(self, h: Hypergraph, columns: Tensor) -> Tensor:
        inner = self.inner(h.replace(x=self.first(h.features("nodes")).relu()))
        return self.head(self.drop(self.norm(torch.cat([inner, self.columns(columns)], 1)).relu()))


@dataclass
class GraphNet:
    """`GraphModel` on the hypergraphs of a `GraphTable`; see `MLP` for the interface."""

    output: Output
    plan: NetworkSpec
    schedule: Schedule = field(default_factory=Schedule)
    device: str = "cpu"
    arrays: dict[str, Array] = field(default_factory=dict)

    def fit(
        self, table: Any, x: Array, target: Array, rows: Array, weight: Array | None, seed: int
    ) -> GraphNet:
        """Learn from the hypergraphs ``rows`` (numbers)."""
        inputs = np.concatenate([_channels(table.members[i]) for i in rows])
        self.arrays = standard(x[rows]) | {f"node_{k}": v for k, v in standard(inputs).items()}
        goal, given = tensors_of(target[rows], None if weight is None else weight[rows], self.device)
        generator = np.random.default_rng([SALT, seed])
        size = max(1, min(self.schedule.batch, len(rows) // 2))
        parts = np.array_split(generator.permutation(len(rows)), math.ceil(len(rows) / size))
        batches = [self._batch(table, x, rows[p]) for p in parts]
        with OwnRandom(seed):
            model = self._make(inputs.shape[1], x.shape[1]).to(self.device)
        order: list[int] = []

        def step_loss(step: int) -> Tensor:
            if step % len(parts) == 0:
                order[:] = generator.permutation(len(parts)).tolist()
            i = order[step % len(parts)]
            where = torch.from_numpy(parts[i]).to(self.device)
            return loss_of(
                self.output, model(*batches[i]), goal[where], None if given is None else given[where]
            )

        train(model, self.schedule, self.schedule.epochs * len(parts), step_loss, seed)
        self.arrays |= {f"net.{k}": v.cpu().numpy() for k, v in model.state_dict().items()}
        return self

    @torch.no_grad()
    def scores(self, table: Any, x: Array, rows: Array) -> Array:
        """``[len(rows), width]``."""
        channels = len(self.arrays["node_scale"])
        model = restored(lambda: self._make(channels, x.shape[1]), self.arrays, self.device)
        found = [
            model(*self._batch(table, x, part)).cpu()
            for part in np.array_split(rows, len(rows) // 64 + 1)
            if len(part)
        ]
        logits = torch.cat(found) if found else torch.zeros(0, self.output.width)
        return self.output.clean(logits.double().numpy())

    def _make(self, channels: int, columns: int) -> GraphModel:
        return GraphModel(self.plan, channels, columns, self.output.width)

    def _batch(self, table: Any, x: Array, rows: Array) -> tuple[Hypergraph, Tensor]:
        members = [table.members[i] for i in rows]
        a = self.arrays
        ready = [
            h.replace(
                x=torch.from_numpy(((_channels(h) - a["node_center"]) * a["node_scale"]).clip(-8, 8)),
                edge_x=None,
            )
            for h in members
        ]
        columns = torch.from_numpy(((x[rows] - a["center"]) * a["scale"]).clip(-8, 8))
        return self.plan.prepare(batch(ready)).to(self.device), columns.to(self.device)


def _channels(h: Hypergraph) -> Array:
    """``[num_nodes, d]``: features of the nodes and structural ones."""
    found = structural_features(h).float()
    return (found if h.x is None else torch.cat([found, h.x.float()], 1)).numpy()
