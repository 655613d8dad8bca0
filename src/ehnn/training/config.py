"""How to train."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

OPTIMIZERS = ("adam", "adamw")
SCHEDULES = ("constant", "cosine")


@dataclass(frozen=True)
class TrainConfig:
    """Hyperparameters of a training run.

    Args:
        epochs: passes over the training batches.
        lr: learning rate of Adam.
        weight_decay: added to the gradient (``"adam"``) or decoupled (``"adamw"``).
        clip_norm: largest norm of the gradient of a run; None leaves it.
        schedule: ``"constant"`` or ``"cosine"`` (to zero over the epochs).
        patience: stop when no run has a new best validation metric for this many epochs.
        evaluate_every: epochs between evaluations (the last epoch always is).
        checkpoint_every: epochs between checkpoints.
        amp: bfloat16 autocast in the forward pass.
        cuda_graph: on a GPU, record the whole step (forward, loss, backward, clipping, optimiser) of each
            batch that comes back and replay it; the same numbers without the launches.
    """

    epochs: int = 500
    lr: float = 1e-3
    weight_decay: float = 0.0
    clip_norm: float | None = 5.0
    optimizer: str = "adam"
    schedule: str = "constant"
    patience: int | None = None
    evaluate_every: int = 1
    checkpoint_every: int = 25
    amp: bool = False
    cuda_graph: bool = True

    def __post_init__(self) -> None:
        for name in ("epochs", "evaluate_every", "checkpoint_every"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise ValueError(f"{name} must be a positive integer, got {getattr(self, name)!r}")
        if self.patience is not None and self.patience < 1:
            raise ValueError(f"patience must be a positive integer or None, got {self.patience!r}")
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise ValueError(f"clip_norm must be above 0 or None, got {self.clip_norm!r}")
        if not self.lr > 0 or not self.weight_decay >= 0:
            raise ValueError(
                f"lr must be above 0 and weight_decay not below, got {self.lr}, {self.weight_decay}"
            )
        for name, choices in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {getattr(self, name)!r}")

    def lr_at(self, epoch: int) -> float:
        """The learning rate of an epoch (from 0)."""
        if self.schedule == "cosine":
            return self.lr * 0.5 * (1 + math.cos(math.pi * epoch / self.epochs))
        return self.lr

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """From a mapping; an unknown key is a ValueError that names it."""
        unknown = set(values) - {f.name for f in fields(cls)}
        if unknown:
            raise ValueError(f"unknown training options {sorted(unknown)}")
        return cls(**values)
