"""One matrix of numbers from a MATLAB 5 file, read without trust: every length is checked before it is used.

A file is a header of 128 bytes and elements; an element is a type and a length, 4 bytes each, and the data,
padded to 8 bytes. Data of up to 4 bytes stand beside a type and length of 2 bytes each.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ehnn._utils.untrusted import allowed, check_file, shortened

_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = range(6, 16)
"""Classes of arrays: double, single and the integers."""


def read_matrix(path: Path, name: str) -> np.ndarray:
    """``[rows, columns]`` float64: the variable ``name`` of a MATLAB 5 file."""
    check_file(path)
    data = path.read_bytes()
    try:
        return _find(data, name)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"{path} is not a MATLAB file of numbers: {shortened(error)}") from error


def _find(data: bytes, name: str) -> np.ndarray:
    if len(data) < 128 or data[126:128] not in (b"IM", b"MI"):
        raise ValueError("it has no header of MATLAB 5")
    order = "<" if data[126:128] == b"IM" else ">"
    for kind, body in _elements(data[128:], order):
        if kind == _COMPRESSED:
            body = _unpacked(body, allowed(len(data)))
            kind, body = next(_elements(body, order), (0, b""))
        if kind != _MATRIX:
            continue
        parts = [body for _, body in _elements(body, order)]
        if len(parts) >= 3 and parts[2].decode("latin-1") == name:
            return _numbers(body, order)
    raise ValueError(f"it lacks the variable {name!r}")


def _unpacked(body: bytes, limit: int) -> bytes:
    found = zlib.decompressobj().decompress(body, limit)
    if len(found) >= limit:
        raise ValueError(f"it unpacks to more than {limit:,} bytes")
    return found


def _elements(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Types and data of the elements, one after the other."""
    at = 0
    while at + 8 <= len(data):
        kind, length = (int(n) for n in np.frombuffer(data, f"{order}u4", 2, at))
        if kind >> 16:  # small: the length stands in the upper half of the type
            kind, length, begin, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        else:
            begin, end = at + 8, at + 8 + length + (-length % 8 if kind != _COMPRESSED else 0)
        if begin + length > len(data) or (begin == at + 4 and length > 4):
            raise ValueError(f"an element at byte {at} claims {length:,} bytes, and there are fewer")
        yield kind, data[begin : begin + length]
        at = end


def _numbers(body: bytes, order: str) -> np.ndarray:
    parts = list(_elements(body, order))
    if len(parts) < 4 or len(parts[0][1]) < 4 or len(parts[1][1]) % 4:
        raise ValueError("a matrix lacks its kind, shape or numbers")
    flags = int(np.frombuffer(parts[0][1], f"{order}u4", 1)[0])
    if flags & 0xFF not in _NUMBERS or flags & 0x800:
        raise ValueError("the variable is not a matrix of real numbers")
    shape = [int(n) for n in np.frombuffer(parts[1][1], f"{order}i4")]
    kind, raw = parts[3]
    if kind not in _TYPES or len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"the variable has the shape {shape[:4]} and numbers of type {kind}")
    dtype = np.dtype(f"{order}{_TYPES[kind]}")
    if math.prod(shape) * dtype.itemsize != len(raw):
        raise ValueError(f"the variable claims the shape {shape} and has {len(raw):,} bytes of {dtype}")
    return np.frombuffer(raw, dtype).astype(np.float64).reshape(shape, order="F")
