"""A trained matcher in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ehnn.io.atomic import atomic_write

from .feature_cache import weights_hash
from .pair_model import PairModel
from .positional import make_model
from .vgg import VGG16, load_vgg16

NAME = "matcher.safetensors"
_KEYS = ("model", "dataset", "options", "channels", "whole_channels", "backbone")
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
    told = json.dumps({key: about[key] for key in _KEYS})
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
    try:
        matcher = make_model(about["model"], about["channels"], about["whole_channels"], **about["options"])
        model = PairModel(matcher, trained() if own else None)
        model.load_state_dict({name: value.float() for name, value in state.items()})
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"{path} does not fit its model {about['model']!r}: {error}") from error
    if not own:
        model.backbone = _checked(frozen(), about["backbone"], path)
    return model.eval(), about


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise ValueError(f"{path} is not there; a folder of a trained matcher holds {NAME}")
    try:
        with safe_open(path, framework="pt") as file:
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            about = json.loads(file.metadata()["about"])
        return state, {key: about[key] for key in _KEYS}
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a matcher of ehnn: {error}") from error


def _checked(backbone: nn.Module, told: str, path: Path) -> nn.Module:
    if weights_hash(backbone) != told:
        raise ValueError(f"{path} was trained on the features of a backbone with other weights")
    return backbone
