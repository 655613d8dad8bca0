"""WHATsNet and CoNHD, trained on all hyperedges at each step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

import ehnn
from ehnn.nn.baselines import CoNHD, WHATsNet

from .data import RANK, Labelled

NETS: dict[str, Callable[..., nn.Module]] = {
    "whatsnet": WHATsNet,
    "conhd-unb": partial(CoNHD, diffusion="unb"),
    "conhd-isab": partial(CoNHD, diffusion="isab"),
}
LAYERS = {
    "whatsnet": {"email-eu": 1},
    "conhd-unb": {"email-eu": 1, "stack-physics": 1},
    "conhd-isab": {"email-eu": 1, "stack-physics": 1},
}
"""The authors' numbers of layers; 2 elsewhere."""
SIZES = {"whatsnet": 50e3, "conhd-unb": 30e3, "conhd-isab": 100e3}
"""Bytes of a step, for each incidence and layer, roughly."""
DROPOUTS = (0.3, 0.7)
LR, DECAY = 3e-3, 0.995
EVERY, PATIENCE = 10, 6


@dataclass(frozen=True)
class Trained:
    """The best validation accuracy, its step, and the classes of all incidences at that step."""

    accuracy: float
    step: int
    found: np.ndarray


class WithVectors(nn.Module):
    """A model whose node features are trained vectors, and the given features beside them."""

    def __init__(
        self, make: Callable[..., nn.Module], h: ehnn.Hypergraph, start: Tensor, classes: int
    ) -> None:
        super().__init__()
        self.vectors = nn.Parameter(start.clone())
        self.model = make(RANK + (0 if h.x is None else h.x.shape[1]), classes)

    def forward(self, h: ehnn.Hypergraph) -> Tensor:
        x = self.vectors if h.x is None else torch.cat([self.vectors, h.x], 1)
        return self.model(h, x)


def train(
    make: Callable[..., nn.Module], data: Labelled, start: Tensor, seed: int, steps: int, device: str
) -> Trained:
    """Adam on all training incidences at each step.

    It is judged on the validation part every 10 steps, and stops after 6 judgements that are no better.
    """
    torch.manual_seed(seed)
    h, y = data.h.to(device), data.y.to(device)
    model = WithVectors(make, data.h, start, int(y.max()) + 1).to(device)
    train, valid = ((data.part == k).nonzero().squeeze(1).to(device) for k in (0, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    rate = torch.optim.lr_scheduler.ExponentialLR(optimizer, DECAY)
    best = Trained(-1.0, 0, np.zeros(len(y), np.int64))
    for step in range(1, steps + 1):
        model.train()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(h)[train], y[train]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rate.step()
        if step % EVERY == 0:
            model.eval()
            with torch.no_grad():
                found = model(h).argmax(1)
            accuracy = float((found == y)[valid].float().mean())
            if accuracy > best.accuracy:
                best = Trained(accuracy, step, found.cpu().numpy())
            if step - best.step >= EVERY * PATIENCE:
                break
    return best
