"""Mutations of safetensors files: header, metadata, names, types, shapes and values of tensors."""

from __future__ import annotations

import json
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from .json_files import mutate_json
from .plain import Random

_DTYPES = (torch.float32, torch.float64, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool)


def mutate_safetensors(data: bytes, rng: Random) -> bytes:
    """One change of the header as text, of its metadata, or of a tensor; something else stays as it is."""
    try:
        header, body = split(data)
        tensors = dict(sorted(load(data).items()))  # safetensors gives them in any order
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError):
        return data
    action = rng.randrange(4)
    if action == 0:
        return _joined(mutate_json(json.dumps(header).encode(), rng), body, rng)
    meta = header.get("__metadata__") or {}
    if action == 1 and meta:
        name = rng.choice(list(meta))
        meta[name] = mutate_json(meta[name].encode(), rng).decode("utf-8", "replace")
        return _joined(json.dumps(header).encode(), body, rng)
    _change(tensors, rng)
    return in_order(save({k: v.contiguous().clone() for k, v in tensors.items()}, metadata=meta or None))


def in_order(data: bytes) -> bytes:
    """The same file with the keys of its header sorted; safetensors writes metadata in any order."""
    header, body = split(data)
    text = json.dumps(header, sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + body


def split(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and tensors of a whole file."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def _joined(header: bytes, body: bytes, rng: Random) -> bytes:
    header += b" " * (-len(header) % 8)
    length = len(header) if rng.random() < 0.95 else rng.choice((0, 1, len(header) - 1, 2**32, 2**63))
    return length.to_bytes(8, "little") + header + body


def _change(tensors: dict[str, Tensor], rng: Random) -> None:
    name = rng.choice(list(tensors)) if tensors else "x"
    value = tensors.get(name, torch.zeros(1))
    action = rng.randrange(6)
    if action == 0:
        tensors.pop(name, None)
    elif action == 1:
        tensors[rng.choice((f"{name}x", "", "A" * 3000, "optimizer.a.b", "optimizer", *tensors))] = value
    elif action == 2:
        tensors[name] = value.to(rng.choice(_DTYPES))
    elif action == 3:
        flat = value.reshape(-1)
        shapes = (
            flat,
            flat[:-1],
            flat[:0],
            torch.cat([flat, flat]),
            value[None],
            flat[:1].reshape(()) if len(flat) else flat,
        )
        tensors[name] = rng.choice(shapes)
    else:
        tensors[name] = _values(value, rng)


def _values(value: Tensor, rng: Random) -> Tensor:
    """The same shape, other numbers: a single one of them or all."""
    new = value.clone().reshape(-1)
    if not len(new):
        return value
    at = slice(None) if rng.random() < 0.3 else rng.randrange(len(new))
    if new.is_floating_point():
        new[at] = rng.choice((float("nan"), float("inf"), -1.0, 1e30, 0.0))
    elif new.dtype == torch.bool:
        new[at] = True
    else:
        high = torch.iinfo(new.dtype).max
        new[at] = rng.choice((0, 1, 2, 5, high, high // 2, torch.iinfo(new.dtype).min))
    return new.reshape(value.shape)
