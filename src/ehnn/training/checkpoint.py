"""Checkpoints: one safetensors file with everything a run needs to continue, replaced atomically."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ehnn._utils.sealed import load_tensors, save_tensors
from ehnn._utils.untrusted import shortened

NAME = "checkpoint.safetensors"
RESTART = "remove it to start the run again"
"""What to do about a damaged checkpoint."""


def save_checkpoint(directory: Path, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Write ``tensors`` and the JSON ``state`` in one file: either all of it is there, or the old one is."""
    save_tensors(directory / NAME, tensors, state)


def load_checkpoint(directory: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """The last checkpoint in ``directory``, or None; a damaged one is a ValueError that names the file."""
    path = directory / NAME
    if not path.exists():
        return None
    try:
        tensors, state = load_tensors(path)
        if not isinstance(state, dict):
            raise ValueError("it holds no state of a training")
    except (ValueError, RecursionError) as error:
        reason = f"is not a checkpoint of ehnn, or damaged: {shortened(error)}"
        raise ValueError(f"{path} {reason}; {RESTART}") from error
    return tensors, state


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The tensors of an optimiser's state, by flat name."""
    state = optimizer.state_dict()["state"]
    return {f"optimizer.{i}.{k}": v for i, values in state.items() for k, v in values.items()}


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Inverse of `optimizer_tensors`."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, key = name.split(".", 2)
            state.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
