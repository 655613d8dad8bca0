"""Neural members: an MLP on columns, and EHNN on a hypergraph with known labels as inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ehnn._utils.threads import threads_with_cores
from ehnn.nn.dropout import Dropout
from ehnn.training.randomness import OwnRandom

from .outputs import Output

Array = np.ndarray
_CHUNK = 65536
"""Rows that an MLP predicts at once."""
_PRIME = 1_000_003


@dataclass(frozen=True)
class Schedule:
    """How a member is trained: AdamW with a learning rate that falls to 0 along a cosine."""

    epochs: int = 60
    lr: float = 3e-3
    weight_decay: float = 1e-2
    batch: int = 1024


def loss_of(output: Output, scores: Tensor, target: Tensor, weight: Tensor | None) -> Tensor:
    """The mean loss of rows with labels; see `Output.losses`."""
    if output.kind == "classes":
        each = F.cross_entropy(scores, target, reduction="none", label_smoothing=0.05)
    else:
        known = ~target.isnan()
        value = target.nan_to_num()
        if output.kind == "labels":
            raw = F.binary_cross_entropy_with_logits(scores, value, reduction="none")
        else:
            raw = (scores - value).square()
        each = (raw * known).sum(1) / known.sum(1).clamp(min=1)
    return each.mean() if weight is None else (each * weight).sum() / weight.sum().clamp(min=1e-12)


def train(
    model: nn.Module, schedule: Schedule, steps: int, step_loss: Callable[[int], Tensor], seed: int
) -> nn.Module:
    """``steps`` steps of AdamW on ``step_loss(step)``.

    Dropout masks are functions of ``seed``, module and step, which fast kernels can make.
    """
    dropouts = [m for m in model.modules() if isinstance(m, Dropout) and m.p > 0]
    for module in dropouts:
        module.seeded = True
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=schedule.lr, weight_decay=schedule.weight_decay, fused=True
    )
    model.train()
    with threads_with_cores() as look:
        for step in range(steps):
            look()
            warm = min(1.0, (step + 1) / max(1, steps // 20))
            for group in optimizer.param_groups:
                group["lr"] = schedule.lr * warm * 0.5 * (1 + math.cos(math.pi * step / steps))
            for i, module in enumerate(dropouts):
                module.seed.fill_(((seed % 2**20 + 1) * _PRIME + i) * _PRIME + step)
            optimizer.zero_grad(set_to_none=True)
            step_loss(step).backward()
            optimizer.step()
    return model.eval()


def mlp_seconds(rows: int, columns: float, schedule: Schedule, width: int = 128) -> float:
    """What a fit of `MLP` takes on one core, roughly: 2 ms for a step, and 5·10¹⁰ operations a second."""
    steps = schedule.epochs * math.ceil(rows / batch_size(rows, schedule))
    return 2e-3 * steps + 6 * rows * schedule.epochs * (columns + width) * width / 5e10


def batch_size(rows: int, schedule: Schedule) -> int:
    """Rows of a step: a quarter where there are few."""
    return min(schedule.batch, max(16, rows // 4))


@dataclass
class MLP:
    """Two hidden layers on standardised columns.

    Attributes:
        arrays: ``center`` and ``scale`` of the columns; parameters are under ``net.…``.
    """

    output: Output
    width: int = 128
    dropout: float = 0.5
    schedule: Schedule = field(default_factory=Schedule)
    device: str = "cpu"
    arrays: dict[str, Array] = field(default_factory=dict)

    def make(self, columns: int) -> nn.Module:
        """The network for so many columns."""
        w = self.width
        return nn.Sequential(
            Dropout(self.dropout / 2), nn.Linear(columns, w), nn.LayerNorm(w), nn.ReLU(),
            Dropout(self.dropout), nn.Linear(w, w), nn.LayerNorm(w), nn.ReLU(),
            Dropout(self.dropout), nn.Linear(w, self.output.width),
        )  # fmt: skip

    def fit(self, x: Array, target: Array, rows: Array, weight: Array | None, seed: int) -> MLP:
        """Learn from the ``rows`` (numbers) of the dense ``x``."""
        self.arrays = standard(x[rows])
        data = self._tensor(x[rows])
        goal, given = tensors_of(target[rows], None if weight is None else weight[rows], self.device)
        generator = torch.Generator().manual_seed(seed)
        with OwnRandom(seed):
            model = self.make(x.shape[1]).to(self.device)
        size = batch_size(len(rows), self.schedule)
        per_epoch = math.ceil(len(rows) / size)
        order = torch.zeros(0, dtype=torch.int64)

        def step_loss(step: int) -> Tensor:
            nonlocal order
            if step % per_epoch == 0:
                order = torch.randperm(len(rows), generator=generator)
            part = order[(step % per_epoch) * size :][:size].to(self.device)
            return loss_of(self.output, model(data[part]), goal[part], None if given is None else given[part])

        train(model, self.schedule, self.schedule.epochs * per_epoch, step_loss, seed)
        self.arrays |= {f"net.{k}": v.cpu().numpy() for k, v in model.state_dict().items()}
        return self

    @torch.no_grad()
    def scores(self, x: Array) -> Array:
        """``[all rows, width]``."""
        model = restored(lambda: self.make(x.shape[1]), self.arrays, self.device)
        parts = [model(self._tensor(x[i : i + _CHUNK])).cpu() for i in range(0, len(x), _CHUNK)]
        found = torch.cat(parts) if parts else torch.zeros(0, self.output.width)
        return self.output.clean(found.double().numpy())

    def _tensor(self, x: Array) -> Tensor:
        return torch.from_numpy(((x - self.arrays["center"]) * self.arrays["scale"]).clip(-8, 8)).to(
            self.device
        )


def standard(x: Array) -> dict[str, Array]:
    """Center and factor that standardise columns; those of no rows are 0."""
    if not len(x):
        return dict.fromkeys(("center", "scale"), np.zeros(x.shape[1], np.float32))
    spread = x.std(0)
    scale = np.where(spread > 1e-6, 1 / np.maximum(spread, 1e-6), 0.0)
    return {"center": x.mean(0).astype(np.float32), "scale": scale.astype(np.float32)}


def restored(make: Callable[[], nn.Module], arrays: dict[str, Array], device: str) -> nn.Module:
    """A fitted network with the parameters among the ``arrays`` of a member."""
    with OwnRandom(0):  # the parameters that it starts with do not matter; the generator of the process does
        model = make()
    model.load_state_dict(
        {k[4:]: torch.from_numpy(np.asarray(v)) for k, v in arrays.items() if k.startswith("net.")}
    )
    return model.to(device).eval()


def tensors_of(target: Array, weight: Array | None, device: Any) -> tuple[Tensor, Tensor | None]:
    """Encoded targets and weights, where the network is."""
    goal = torch.from_numpy(target)
    goal = goal.float() if goal.is_floating_point() else goal
    given = None if weight is None else torch.from_numpy(weight).float().to(device)
    return goal.to(device), given
