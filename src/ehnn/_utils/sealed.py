"""Tensors and JSON on disk with a checksum of their contents. Nothing is pickled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .atomic import atomic_write
from .untrusted import parse_json, shortened

_SUM, _STATE = "sha256", "state"


def save_tensors(path: Path, tensors: Mapping[str, Tensor], state: Any = None) -> None:
    """Write tensors and a JSON value as one safetensors file, with a checksum of both.

    The same tensors and value give the same bytes.
    """
    from safetensors.torch import save

    data = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with atomic_write(path, "wb") as file:
        file.write(save(data, metadata=sealed_state(data, state)))


def sealed_state(tensors: Mapping[str, Tensor], state: Any) -> dict[str, str]:
    """The metadata of a file of ``tensors``: one entry, since safetensors writes several in any order."""
    return {_STATE: json.dumps({"value": state, _SUM: _sum(tensors, json.dumps(state))})}


def load_tensors(path: Path) -> tuple[dict[str, Tensor], Any]:
    """Read what `save_tensors` wrote; a damaged file, or one of another kind, is a ValueError."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, RuntimeError) as error:
        raise ValueError(shortened(error)) from error
    whole = json.loads(about.get(_STATE, "null"))
    if not isinstance(whole, dict) or not {"value", _SUM} <= whole.keys():
        raise ValueError("it has no checksum")
    if _sum(tensors, json.dumps(whole["value"])) != whole[_SUM]:
        raise ValueError("its contents do not have the checksum that it gives")
    return tensors, whole["value"]


def _sum(tensors: Mapping[str, Tensor], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        value = tensors[name]
        digest.update(f"\n{name} {value.dtype} {tuple(value.shape)}\n".encode())
        if value.numel():
            digest.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


# ---------------------------------------------------------------------- JSON with a file of tensors


def write_document(
    path: Path,
    about: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    stem: str,
    default: Callable[[Any], Any] | None = None,
) -> None:
    """Write ``about`` to the JSON file ``path`` and ``tensors`` to a file ``stem-….safetensors`` beside it.

    The tensors go to a file named by their checksum. Then the JSON, which names that file, takes the place of
    the old one in one step: a reader sees the old document or the new one, whole. The folder must exist.
    """
    from safetensors.torch import save

    data = save({name: value.detach().cpu().contiguous() for name, value in tensors.items()})
    digest = hashlib.sha256(data).hexdigest()
    name = f"{stem}-{digest[:16]}.safetensors"
    whole = {**about, "weights": {"file": name, _SUM: digest}}
    text = json.dumps(whole, ensure_ascii=False, allow_nan=False, default=default)
    whole = {**json.loads(text), _SUM: json_sum(json.loads(text))}
    with atomic_write(path.with_name(name), "wb") as file:
        file.write(data)
    with atomic_write(path) as file:
        file.write(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    for old in path.parent.glob(f"{stem}-{'?' * 16}.safetensors"):
        if old.name != name:
            old.unlink(missing_ok=True)


def read_document(
    path: Path, check: Callable[[dict[str, Any]], bool]
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read what `write_document` wrote; a missing file, a damaged one or another kind is a ValueError.

    ``check`` raises a ValueError for JSON of another format or version, and says whether this version has a
    checksum of the JSON itself (those of the tensors are always compared).
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    about = parse_json(path.read_bytes(), f"{path} is damaged")
    about = about if isinstance(about, dict) else {}
    if check(about) and about.pop(_SUM, None) != json_sum(about):
        raise ValueError(f"{path} is damaged: its contents do not have the checksum that it gives")
    name, digest = _weights(about, path)
    try:
        data = path.with_name(name).read_bytes()
    except OSError as error:
        raise ValueError(f"{path.with_name(name)} cannot be read: {error.strerror}") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError(f"{path.with_name(name)} is damaged: its contents are not what {path.name} says")
    try:
        return about, load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise ValueError(f"{path.with_name(name)} is damaged: {shortened(error)}") from error


def json_sum(about: Mapping[str, Any]) -> str:
    """The checksum of JSON values, whatever the white space and the order of keys."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _weights(about: dict[str, Any], path: Path) -> tuple[str, str]:
    """Name and checksum of the file with the tensors; the name must be a plain one in the same folder."""
    weights = about.get("weights")
    name = weights.get("file") if isinstance(weights, dict) else None
    if not isinstance(weights, dict) or not isinstance(name, str) or Path(name).name != name:
        raise ValueError(f"{path} is damaged: it names no file of weights")
    return name, str(weights.get(_SUM))
