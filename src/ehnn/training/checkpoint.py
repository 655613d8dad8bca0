"""Checkpoints: one safetensors file with everything a run needs to go on, replaced atomically."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ehnn.io.atomic import atomic_write

NAME = "checkpoint.safetensors"


def save_checkpoint(directory: Path, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Write ``tensors`` and the JSON ``state`` in one file: either all of it is there, or the old one is."""
    from safetensors.torch import save

    data = {k: v.detach().cpu().contiguous() for k, v in tensors.items()}
    with atomic_write(directory / NAME, "wb") as file:
        file.write(save(data, metadata={"state": json.dumps(state)}))


def load_checkpoint(directory: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """The last checkpoint in ``directory``, or None; a damaged one is a ValueError that names the file."""
    from safetensors import SafetensorError, safe_open

    path = directory / NAME
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            state = json.loads(file.metadata()["state"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a checkpoint of ehnn: {error}") from error
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
