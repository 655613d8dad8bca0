"""The settings of a training."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from ehnn._utils.validation import as_count

OPTIMIZERS = ("adam", "adamw")
SCHEDULES = ("constant", "cosine", "steps")


@dataclass(frozen=True)
class TrainConfig:
    """Hyperparameters of a training run.

    >>> TrainConfig(epochs=100, lr=0.01, patience=20).optimizer
    'adam'

    Args:
        epochs: passes over the training batches.
        lr: learning rate of Adam.
        weight_decay: added to the gradient (``"adam"``) or decoupled (``"adamw"``).
        clip_norm: largest norm of the gradient of a run; None leaves it.
        optimizer: ``"adam"`` or ``"adamw"``.
        schedule: ``"constant"``, ``"cosine"`` (to zero over the epochs) or ``"steps"`` (halved after each of
            ``lr_steps``).
        lr_steps: numbers of epochs, ascending.
        lr_factors: pairs of a prefix of parameter names and a factor on their learning rate, such as
            ``(("backbone.", 0.01),)``; the first prefix that fits counts.
        patience: stop when an evaluation finds that no run has had a new best validation metric for this many
            epochs.
        evaluate_every: epochs between evaluations (the last epoch always is).
        checkpoint_every: epochs between checkpoints.
        amp: bfloat16 autocast in the forward pass.
        compile: run the model through ``torch.compile``, for one seed and for batches that occur again as the
            same object; the second visit waits for the compiler. On a GPU, without ``cuda_graph``.
        ema: evaluate and keep a moving average of the parameters with this decay a step (at first with
            (step + 1) / (step + 10), which is smaller); None evaluates the parameters themselves.
        cuda_graph: on a GPU, record the whole step (forward, loss, backward, clipping, optimiser) of each
            batch that occurs again and replay it; the same numbers without the launches.
    """

    epochs: int = 500
    lr: float = 1e-3
    weight_decay: float = 0.0
    clip_norm: float | None = 5.0
    optimizer: str = "adam"
    schedule: str = "constant"
    lr_steps: tuple[int, ...] = ()
    lr_factors: tuple[tuple[str, float], ...] = ()
    patience: int | None = None
    evaluate_every: int = 1
    checkpoint_every: int = 25
    amp: bool = False
    compile: bool = False
    ema: float | None = None
    cuda_graph: bool = True

    def __post_init__(self) -> None:
        for name in ("epochs", "evaluate_every", "checkpoint_every"):
            object.__setattr__(self, name, as_count(getattr(self, name), name, 1))
        if self.patience is not None:
            object.__setattr__(self, "patience", as_count(self.patience, "patience", 1))
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise ValueError(f"clip_norm must be above 0 or None, got {self.clip_norm!r}")
        if self.ema is not None and not 0 < self.ema < 1:
            raise ValueError(f"ema must be in (0, 1) or None, got {self.ema!r}")
        if not 0 < self.lr < math.inf:
            raise ValueError(f"lr must be above 0 and finite, got {self.lr!r}")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay must be finite and not below 0, got {self.weight_decay!r}")
        for name, choices in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {getattr(self, name)!r}")
        self._check_rates()

    def _check_rates(self) -> None:
        # Read back from JSON, tuples are lists.
        object.__setattr__(self, "lr_steps", tuple(as_count(step, "lr_steps", 1) for step in self.lr_steps))
        object.__setattr__(self, "lr_factors", tuple((p, f) for p, f in self.lr_factors))
        if list(self.lr_steps) != sorted(set(self.lr_steps)):
            raise ValueError(f"lr_steps must be ascending, got {self.lr_steps}")
        if self.lr_steps and self.schedule != "steps":
            raise ValueError(f"lr_steps need schedule='steps', got {self.schedule!r}")
        for prefix, factor in self.lr_factors:
            if not 0 < factor < math.inf:
                raise ValueError(f"lr_factors must be above 0 and finite, got {factor} for {prefix!r}")

    def lr_at(self, epoch: int) -> float:
        """The learning rate of an epoch (from 0)."""
        if self.schedule == "cosine":
            return self.lr * 0.5 * (1 + math.cos(math.pi * epoch / self.epochs))
        return self.lr * 0.5 ** sum(epoch >= step for step in self.lr_steps)

    def lr_factor(self, name: str) -> float:
        """The factor on the learning rate of a parameter."""
        return next((factor for prefix, factor in self.lr_factors if name.startswith(prefix)), 1.0)

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON values."""
        return asdict(self)
