"""EHNN as a member: known labels of other nodes are inputs, hidden in groups while it trains."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph
from ehnn.nn.dropout import Dropout
from ehnn.training.randomness import OwnRandom

from ..models import NetworkSpec
from ..room import within
from .folds import fold_numbers
from .nets import Schedule, loss_of, restored, standard, tensors_of, train
from .outputs import Output

Array = np.ndarray


class LabelledEHNN(nn.Module):
    """Linear maps of the columns and of the visible labels, layers on the hypergraph, and a skip.

    Shapes: columns ``[num_nodes, d]``, labels ``[num_nodes, width + 1]`` → ``[num_nodes, width]``.
    """

    def __init__(self, plan: NetworkSpec, columns: int, outputs: int) -> None:
        super().__init__()
        width = plan.width
        self.columns, self.labels = nn.Linear(columns, width), nn.Linear(outputs + 1, width, bias=False)
        self.inner = plan.nodes(width, width)
        self.norm, self.drop = nn.LayerNorm(2 * width), Dropout(plan.dropout)
        self.head = nn.Linear(2 * width, outputs)

    def forward(self, h: Hypergraph, x: Tensor, labels: Tensor) -> Tensor:
        own = self.columns(self.drop(x))
        inner = self.inner(h.replace(x=(own + self.labels(labels)).relu()))
        return self.head(self.drop(self.norm(torch.cat([own, inner], 1)).relu()))


@dataclass
class EHNN:
    """`LabelledEHNN` on a hypergraph; see `MLP` for the interface.

    The labels of fit are divided into groups. Each step hides one group, from the inputs and from the votes
    among the columns, and predicts it; in prediction all known labels are inputs. Where memory is short, φ
    takes its rows in chunks.
    """

    output: Output
    plan: NetworkSpec
    schedule: Schedule = field(default_factory=Schedule)
    device: str = "cpu"
    groups: int = 5
    arrays: dict[str, Array] = field(default_factory=dict)

    def fit(
        self, table: Any, blocks: tuple[str, ...], target: Array, rows: Array, weight: Array | None, seed: int
    ) -> EHNN:
        """Learn from the ``rows`` (numbers); ``blocks`` are the columns of the nodes of ``table.relation``.

        Rows with the same number in ``table.together`` are hidden together, where it is not None.
        """
        x = table.matrix(blocks)
        self.arrays = standard(x)
        h = self._ready(table.relation)
        goal, given = tensors_of(target, weight, self.device)
        hidden = self._hidden(table, blocks, target, rows, seed)
        with OwnRandom(seed):
            model = LabelledEHNN(self.plan, x.shape[1], self.output.width).to(self.device)

        def step_loss(step: int) -> Tensor:
            data, labels, scored = hidden[step % len(hidden)]
            found = model(h, data, labels)[scored]
            return loss_of(self.output, found, goal[scored], None if given is None else given[scored])

        with within(self.plan.way(h, h.device)):
            train(model, self.schedule, self.schedule.epochs, step_loss, seed)
        self.arrays |= {f"net.{k}": v.cpu().numpy() for k, v in model.state_dict().items()}
        return self

    def _hidden(
        self, table: Any, blocks: tuple[str, ...], target: Array, rows: Array, seed: int
    ) -> list[tuple[Tensor, Tensor, Tensor]]:
        """For each group of labels: the columns and the labels without them, and the rows that have them."""
        together = None if table.together is None else table.together[rows]
        fold = fold_numbers(self.output, target[rows], self.groups, seed, together)
        found = []
        for group in np.unique(fold):
            keep = np.ones(len(target), bool)
            keep[rows[fold == group]] = False
            part = table.with_known(self.output, self.output.hide(target, keep), table.labels["prior"])
            scored = torch.from_numpy(rows[fold == group]).to(self.device)
            found.append((self._tensor(part.matrix(blocks)), self._labels(part.target), scored))
        return found

    @torch.no_grad()
    def scores(self, table: Any, blocks: tuple[str, ...]) -> Array:
        """``[nodes, width]``, with the known labels of ``table``."""
        x = table.matrix(blocks)
        width = self.output.width
        model = restored(lambda: LabelledEHNN(self.plan, x.shape[1], width), self.arrays, self.device)
        h, data = self._ready(table.relation), self._tensor(x)
        with within(self.plan.way(h, h.device)):
            found = model(h, data, self._labels(table.target)).cpu()
        return self.output.clean(found.double().numpy())

    def _labels(self, target: Array) -> Tensor:
        """``[nodes, width + 1]``: the labels, and whether they are known."""
        values, known = self.output.matrix(target)
        return torch.from_numpy(np.concatenate([values, known[:, :1]], 1)).to(self.device)

    def _ready(self, h: Hypergraph) -> Hypergraph:
        unread = () if self.plan.is_ehnn else ("edge_weight", "incidence_weight", "roles")
        nothing = dict.fromkeys(("x", "edge_x", "y", "node_names", "edge_names", *unread))
        return self.plan.prepare(h.replace(**nothing)).to(self.device)

    def _tensor(self, x: Array) -> Tensor:
        return torch.from_numpy(((x - self.arrays["center"]) * self.arrays["scale"]).clip(-8, 8)).to(
            self.device
        )
