"""A trained matcher in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ehnn._utils.atomic import atomic_write
from ehnn._utils.schema import check, positive
from ehnn._utils.untrusted import parse_json, read_tensors, shortened
from ehnn._utils.validation import short

from .feature_cache import weights_hash
from .pair_model import PairModel
from .positional import make_model
from .vgg import VGG16, load_vgg16

NAME = "matcher.safetensors"
MOST, MOST_CHANNELS = 1024, 65_536
"""Sizes beyond these are of no matcher."""


def _option(value: Any) -> bool:
    """text, true, false, null, a number of at most 1,024 or a list of them"""
    if isinstance(value, list):
        return len(value) <= MOST and not any(isinstance(v, list) for v in value) and all(map(_option, value))
    return (
        value is None
        or isinstance(value, str | bool)
        or (isinstance(value, int | float) and abs(value) <= MOST)
    )


def _channels(value: Any) -> bool:
    """a count from 1 to 65,536"""
    return positive(value) and value <= MOST_CHANNELS


ABOUT = {
    "model": str, "dataset": str, "options": {...: _option}, "channels": _channels,
    "whole_channels": _channels, "backbone": str,
}  # fmt: skip
TRAINED = "trained"


def save_matcher(
    directory: str | os.PathLike[str], state: Mapping[str, Tensor], about: Mapping[str, Any]
) -> Path:
    """Write the parameters of a `PairModel`, in float16, and what it is.

    ``about`` has ``model``, ``dataset``, ``options``, ``channels``, ``whole_channels``, and as ``backbone``
    "trained" where its parameters are among ``state``, or else the hash of the frozen one's weights.
    """
    from safetensors.torch import save

    path = Path(directory) / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    tensors = {name: value.detach().to("cpu", torch.float16).contiguous() for name, value in state.items()}
    told = json.dumps({key: about[key] for key in ABOUT})
    with atomic_write(path, "wb") as file:
        file.write(save(tensors, metadata={"about": told}))
    return path


def load_matcher(
    place: str | os.PathLike[str],
    frozen: Callable[[], nn.Module] = load_vgg16,
    trained: Callable[[], nn.Module] = VGG16,
) -> tuple[PairModel, dict[str, Any]]:
    """The matcher in a folder, or in the file itself, with its backbone, and what was said of it.

    ``frozen`` makes the backbone of a matcher that was trained on frozen features; one with other weights is
    a ValueError. A matcher that was trained with its backbone brings its weights along; ``trained`` makes
    what they are put into: VGG16, or say ``lambda: VGG16(torchvision.models.vgg16_bn().features)``.
    """
    path = Path(place) / NAME if Path(place).is_dir() else Path(place)
    state, about = _read(path)
    own = about["backbone"] == TRAINED

    def make() -> nn.Module:
        return make_model(about["model"], about["channels"], about["whole_channels"], **about["options"])

    try:
        with torch.device("meta"):  # where sizes that are not those of the tensors cost no memory
            _check_shapes(state, PairModel(make()).state_dict())
        model = PairModel(make(), trained() if own else None)
        model.load_state_dict({name: value.float() for name, value in state.items()})
    except (RuntimeError, TypeError, ValueError, ArithmeticError, AttributeError, KeyError) as error:
        raise ValueError(
            f"{path} does not fit its model {short(about['model'])}: {shortened(error)}"
        ) from error
    if not own:
        model.backbone = _checked(frozen(), about["backbone"], path)
    return model.eval(), about


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    if not path.is_file():
        raise ValueError(f"{path} is not there; a folder of a trained matcher holds {NAME}")
    state, metadata = read_tensors(path, "a matcher of ehnn")
    about = parse_json(metadata.get("about", ""), f"{path} is not a matcher of ehnn: about")
    check(about, ABOUT, f"{path} is not a matcher of ehnn: about")
    return state, about


def _check_shapes(state: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Of everything but the backbone, which brings its own shapes along."""
    odd = sorted({name for name in state if not name.startswith("backbone.")} ^ wanted.keys())
    if odd:
        raise ValueError(f"{short(odd[0])} is {'missing' if odd[0] in wanted else 'unknown'}")
    for name, value in wanted.items():
        found = state[name]
        if found.shape != value.shape or not found.is_floating_point():
            raise ValueError(f"{name} must have shape {list(value.shape)}, got {list(found.shape)}")
        if not bool(torch.isfinite(found).all()):
            raise ValueError(f"{name} must be finite")


def _checked(backbone: nn.Module, told: str, path: Path) -> nn.Module:
    if weights_hash(backbone) != told:
        raise ValueError(f"{path} was trained on the features of a backbone with other weights")
    return backbone
