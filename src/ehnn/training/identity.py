"""Checks that a checkpoint belongs to the training that continues from it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from torch import nn

from ehnn._utils.untrusted import shortened

from .config import TrainConfig
from .runs import Runs

_FREE = ("checkpoint_every", "cuda_graph")
"""Settings that may differ when a training continues from its checkpoint."""


def identity(runs: Runs, config: TrainConfig) -> dict[str, Any]:
    """Seeds, settings, shapes, and a sum over the model's ``repr`` and its modules' plain attributes."""
    plain = {name: _plain_attributes(module) for name, module in runs.model.named_modules()}
    return {
        "seeds": list(runs.seeds),
        "config": {k: v for k, v in config.to_dict().items() if k not in _FREE},
        "shapes": {k: list(v.shape) for k, v in runs.parameters.items()},
        "model": hashlib.sha256(f"{runs.model!r} {plain}".encode()).hexdigest(),
        "in_a_row": runs.in_a_row,
    }


def check_same(directory: Path, there: dict[str, Any], here: dict[str, Any]) -> None:
    """Raise a ValueError that names what differs between two identities."""
    if there != here:
        names = shortened(", ".join(differences(there, here)), 300)
        raise ValueError(
            f"{directory} holds a run with other settings (what differs: {names}); choose another directory"
        )


def differences(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Names of what differs between two identities; ``in_a_row``: one was trained on a CPU."""
    config = {**there["config"], **here["config"]}
    changed = [name for name in config if there["config"].get(name) != here["config"].get(name)]
    return changed + [k for k in {**there, **here} if k != "config" and there.get(k) != here.get(k)]


def _plain_attributes(module: nn.Module) -> dict[str, Any]:
    """Hyperparameters that a module keeps, whether it shows them or not."""
    own = {k: v for k, v in vars(module).items() if k != "training" and not k.startswith("_")}
    return {k: v for k, v in own.items() if _is_plain(v)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)
