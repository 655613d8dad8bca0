"""Files that may be damaged or hostile: what they claim is checked before it is used or allocated.

Every function raises a ValueError that names the file, and FileNotFoundError where there is none.
"""

from __future__ import annotations

import json
import math
import os
import stat
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

SPARE, FACTOR = 1 << 20, 100
"""A packed file may grow to so many bytes, and so many times its size, when it is unpacked."""
_HEADER = 10_000
_BROKEN = (
    ValueError, OSError, EOFError, RuntimeError, OverflowError, zipfile.BadZipFile, zlib.error, struct.error,
)  # fmt: skip
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def shortened(error: BaseException | str, limit: int = 200) -> str:
    """The error of a library about a file, cut to ``limit`` characters: it may repeat a whole header."""
    text = str(error) or type(error).__name__
    return text if len(text) <= limit else text[: limit - 1] + "…"


def check_file(path: str | os.PathLike[str]) -> None:
    """Refuse a folder or a device in the place of a file; pipes are read."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise ValueError(f"{path} is a folder; a file is expected")
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise ValueError(f"{path} is a device; a file is expected")


def allowed(size: int) -> int:
    """Bytes that a packed file of ``size`` bytes may unpack to."""
    return SPARE + FACTOR * size


def read_json(path: str | os.PathLike[str], what: str, pairs: Any = None) -> Any:
    """The value in a UTF-8 JSON file; a ValueError says that it is not one of ``what``.

    ``pairs`` makes an object of its list of keys and values, where it is not to be a plain dictionary.
    """
    check_file(path)
    return parse_json(Path(path).read_bytes(), f"{path} is not JSON of {what}", pairs)


def parse_json(data: bytes | str, wrong: str, pairs: Any = None) -> Any:
    """The value in a JSON text; errors begin with ``wrong``."""
    try:
        value = json.loads(data, object_pairs_hook=pairs)
        if (b"\\u" if isinstance(data, bytes) else "\\u") in data:  # type: ignore[operator]
            json.dumps(value, ensure_ascii=False).encode()  # half of a character could be written to no file
    except RecursionError:
        raise ValueError(f"{wrong}: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{wrong}: {shortened(error)}") from error
    return value


def read_arrays(path: str | os.PathLike[str], what: str) -> dict[str, np.ndarray]:
    """The arrays of an npz file by name; nothing is unpickled.

    A ValueError says that it is not one of ``what``.
    """
    check_file(path)
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            size = os.fstat(file.fileno()).st_size
            claimed = sum(info.file_size for info in infos)
            if claimed > allowed(size) or any(info.compress_size > size for info in infos):
                raise ValueError(f"it claims {claimed:,} bytes, and has {size:,}")
            return {info.filename.removesuffix(".npy"): _array(archive, info) for info in infos}
    except FileNotFoundError:
        raise
    except _BROKEN as error:
        raise ValueError(f"{path} is not an npz file of {what}: {shortened(error)}") from error


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    name = shortened(repr(info.filename), 60)
    if info.compress_type not in _METHODS or info.flag_bits & 1:
        raise ValueError(f"{name} is packed in a way that is not read")
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{name} has version {version} of the format of NumPy")
        shape, fortran, dtype = _header(file, version, name)
        if dtype.hasobject:
            raise ValueError(f"{name} holds Python objects; plain arrays are expected")
        data = file.read()
    if math.prod(shape) * dtype.itemsize != len(data) or min(shape, default=0) < 0:
        raise ValueError(
            f"{name} claims {dtype} of shape {shortened(str(shape), 60)} and has {len(data):,} bytes"
        )
    array = np.frombuffer(bytearray(data), dtype=dtype) if data else np.empty(0, dtype)
    return array.reshape(shape, order="F" if fortran else "C")


def _header(file: Any, version: tuple[int, int], name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    one = version == (1, 0)
    read = np.lib.format.read_array_header_1_0 if one else np.lib.format.read_array_header_2_0
    try:
        return read(file, max_header_size=_HEADER)
    except (ValueError, SyntaxError, TypeError, tokenize.TokenError, RecursionError) as error:
        raise ValueError(f"{name} has no header of NumPy: {shortened(error, 80)}") from error


def read_tensors(path: str | os.PathLike[str], what: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a safetensors file; a ValueError says that it is not one of ``what``."""
    check_file(path)
    return parse_tensors(Path(path).read_bytes(), f"{path} is not {what}")


def parse_tensors(data: bytes, wrong: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The same of bytes; errors begin with ``wrong``."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors = load(data)  # which checks that the tensors are where the header says, and nothing else is
        length = int.from_bytes(data[:8], "little")
        found = json.loads(data[8 : 8 + length]).get("__metadata__")
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise ValueError(f"{wrong}: {shortened(error)}") from error
    return tensors, found or {}
