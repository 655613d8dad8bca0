"""What a checkpoint must contain for a training to continue from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ehnn._utils.schema import check, count
from ehnn._utils.validation import short

from .checkpoint import RESTART

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What Adam keeps of a parameter: the number of its steps, and two tensors of its shape."""


def check_state(path: Path, state: Any, runs: int) -> None:
    """Raise a ValueError if the JSON of the checkpoint at ``path`` is not that of ``runs`` runs."""

    def numbers(value: Any) -> bool:
        """a list with a number for each run"""
        right = isinstance(value, list) and len(value) == runs
        return right and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in value)

    def epochs(value: Any) -> bool:
        """a list with an epoch for each run"""
        return isinstance(value, list) and len(value) == runs and all(map(count, value))

    row = {"epoch": count, ...: numbers}
    schema = {
        "epoch": count, "step": count, "last_gain": count, "identity": {"config": dict, ...: object},
        "history": [row], "best_valid": numbers, "best_epoch": epochs, ...: object,
    }  # fmt: skip
    with _naming(path):
        check(state, schema, "its state")


def check_tensors(
    path: Path,
    tensors: Mapping[str, Tensor],
    kept: Mapping[str, Mapping[str, Tensor]],
    optimizer: torch.optim.Optimizer,
) -> None:
    """Raise a ValueError unless there is a finite tensor ``part.name`` for each tensor of ``kept``.

    It must have the same shape and dtype. The rest must be the state of the optimiser and random numbers.
    """
    wanted = {f"{part}.{name}": value for part, held in kept.items() for name, value in held.items()}
    with _naming(path):
        _check_tensors(tensors, wanted, optimizer)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}; {RESTART}") from error


def _check_tensors(
    tensors: Mapping[str, Tensor], wanted: Mapping[str, Tensor], optimizer: torch.optim.Optimizer
) -> None:
    for name, like in wanted.items():
        _check_tensor(name, tensors.get(name), like)
    others = {name: value for name, value in tensors.items() if name not in wanted}
    _check_random(others.pop("rng", None))
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[int, set[str]] = {}
    for name, value in others.items():
        kind, _, rest = name.partition(".")
        place, _, key = rest.partition(".")
        if kind != "optimizer" or not place.isdecimal() or key not in _MOMENTS or len(place) > 9:
            raise ValueError(f"the tensor {short(name)} is unknown")
        if int(place) >= len(parameters):
            raise ValueError(f"the tensor {short(name)} is of parameter {place}, there are {len(parameters)}")
        like = parameters[int(place)]
        _check_tensor(name, value, like.new_zeros((), dtype=torch.float32) if key == "step" else like)
        state.setdefault(int(place), set()).add(key)
    part = next((place for place, keys in state.items() if len(keys) != len(_MOMENTS)), None)
    if part is not None:
        raise ValueError(f"the state of the optimiser lacks a part of parameter {part}")


def _check_tensor(name: str, value: Tensor | None, like: Tensor) -> None:
    if value is None:
        raise ValueError(f"the tensor {short(name)} is missing")
    if value.shape != like.shape or value.dtype != like.dtype:
        there, wanted = (f"{t.dtype} of shape {list(t.shape)}" for t in (value, like))
        raise ValueError(f"the tensor {short(name)} must be {wanted}, got {there}")
    if value.is_floating_point() and not bool(value.isfinite().all()):
        raise ValueError(f"the tensor {short(name)} is not finite")


def _check_random(state: Tensor | None) -> None:
    try:
        torch.Generator().set_state(torch.empty(0) if state is None else state)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"the state of the random numbers is missing or damaged: {error}") from error
