"""A safetensors file of arrays that need not fit in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ehnn._utils.atomic import atomic_write

_DTYPES = {"int64": "I64", "float32": "F32"}


@dataclass(frozen=True)
class Streamed:
    """An array whose bytes come in ``blocks``, row after row."""

    shape: tuple[int, ...]
    dtype: str
    blocks: Iterable[bytes]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize


def write_tensors(
    path: str | Path, arrays: Mapping[str, np.ndarray | Streamed], meta: Mapping[str, str]
) -> dict[str, Any]:
    """Write int64 and float32 arrays atomically; returns size and checksum of the file."""
    given = {k: a if isinstance(a, Streamed) else _whole(a) for k, a in arrays.items()}
    given = dict(sorted(given.items(), key=lambda one: (one[1].dtype != "int64", one[0])))  # aligned
    header: dict[str, Any] = {"__metadata__": dict(meta)}
    end = 0
    for name, array in given.items():
        span = [end, end := end + array.size]
        header[name] = {"dtype": _DTYPES[array.dtype], "shape": list(array.shape), "data_offsets": span}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    digest, size = hashlib.sha256(), 0
    with atomic_write(path, "wb") as file:
        for block in _parts(len(text).to_bytes(8, "little") + text, given.values()):
            file.write(block)
            digest.update(block)
            size += len(block)
    if size != 8 + len(text) + end:
        raise ValueError(
            f"{path} must have {8 + len(text) + end} bytes, got {size}: a file of rows was cut off"
        )
    return {"bytes": size, "sha256": digest.hexdigest()}


def _whole(array: np.ndarray) -> Streamed:
    return Streamed(array.shape, str(array.dtype), [array.tobytes()])


def _parts(head: bytes, arrays: Iterable[Streamed]) -> Iterable[bytes]:
    yield head
    for array in arrays:
        yield from array.blocks
