"""A batch as one array of bytes: it crosses from process to process, and to a GPU, in a single copy."""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .order_codes import Codes, codes_of

_DTYPES = (torch.float64, torch.int64, torch.float32, torch.int32, torch.bool)
"""In the order in which they lie. Integers travel as int32."""
_WIDTHS = {torch.float64: 8, torch.int64: 4, torch.float32: 4, torch.int32: 4, torch.bool: 1}
_ALIGNED = 16
"""Bytes: a tensor begins at a multiple of it, or Triton would compile kernels anew for those that do not."""


@dataclass(frozen=True)
class Packed:
    """Any object that holds tensors, taken apart.

    Attributes:
        skeleton: the object with numbers in the place of its tensors.
        places: of the tensors with these numbers, among ``shapes``.
        shapes: dtype (as its place among those known) and shape of each tensor, sorted by dtype.
        data: all of their elements, each tensor aligned, uint8.
        pinned: the same in pinned memory, or None.
        reusable: whether others of this layout are expected (`ehnn.training.replay` asks).
    """

    skeleton: bytes
    places: Sequence[int]
    shapes: Sequence[tuple[int, tuple[int, ...]]]
    data: np.ndarray
    pinned: Tensor | None = None
    reusable: bool = False

    @property
    def layout(self) -> tuple[Any, ...]:
        """Everything but the data; those of one layout can take each other's place."""
        return self.skeleton, tuple(self.places), tuple(self.shapes)

    def pin_memory(self) -> Packed:
        """This with its data where a GPU can fetch it; `DataLoader` does so in a thread of its own."""
        return replace(self, pinned=torch.from_numpy(self.data).pin_memory())

    def to_device(self, device: torch.device | str) -> Landed:
        """This on a device, by one copy; from pinned memory nothing waits for it."""
        light = replace(self, data=self.data[:0], pinned=None)
        return Landed(light, self.host.to(device, non_blocking=True))

    @property
    def host(self) -> Tensor:
        """``data``, in pinned memory if it is there."""
        return torch.from_numpy(self.data) if self.pinned is None else self.pinned


@dataclass(frozen=True, eq=False)
class Landed:
    """A `Packed` whose data is on a device alone, where others of its layout can be copied over it."""

    packed: Packed
    data: Tensor

    def copy_from(self, other: Packed) -> None:
        """Be ``other``, which has the same layout, from now on."""
        self.data.copy_(other.host, non_blocking=True)

    def open(self) -> Any:
        """The object again, made of operations on the device alone."""
        tensors = _tensors(self.data, self.packed.shapes)
        ordered = [tensors[i] for i in self.packed.places]
        return _Unpacker(self.packed.skeleton, ordered, self.data.device).load()


def pack(value: Any) -> Packed:
    """Take an object on the CPU apart. Integers must fit into 32 bits. What is there twice travels once."""
    skeleton = io.BytesIO()
    packer = _Packer(skeleton)
    packer.dump(value)
    order = sorted(range(len(packer.tensors)), key=lambda i: _DTYPES.index(packer.tensors[i].dtype))
    tensors = [packer.tensors[i] for i in order]
    places = sorted(range(len(order)), key=order.__getitem__)
    shapes = [(_DTYPES.index(t.dtype), tuple(t.shape)) for t in tensors]
    data = np.concatenate([np.zeros(0, np.uint8), *map(_bytes, tensors)])
    return Packed(skeleton.getvalue(), places, shapes, data)


def unpack(packed: Packed, device: torch.device | str = "cpu") -> Any:
    """The object again, on a device, by one copy; from pinned memory nothing waits for it.

    Only for what `pack` made in a process of this program: the skeleton is a pickle.
    """
    return packed.to_device(device).open()


class _Packer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=5)
        self.tensors: list[Tensor] = []
        self._numbers: dict[Any, int] = {}

    def persistent_id(self, value: Any) -> Any:
        if isinstance(value, Codes):
            return value.orders
        if not isinstance(value, Tensor):
            return None
        key = (value.data_ptr(), value.dtype, value.shape, value.stride())
        if key not in self._numbers:
            self._numbers[key] = len(self.tensors)
            self.tensors.append(value)  # and so its memory is not used again meanwhile
        return self._numbers[key]


class _Unpacker(pickle.Unpickler):
    def __init__(self, skeleton: bytes, tensors: Sequence[Tensor], device: torch.device) -> None:
        super().__init__(io.BytesIO(skeleton))
        self._tensors, self._device = tensors, device

    def persistent_load(self, told: Any) -> Any:
        return self._tensors[told] if isinstance(told, int) else codes_of(told, self._device)


def _bytes(tensor: Tensor) -> np.ndarray:
    tensor = tensor.to(torch.int32) if tensor.dtype == torch.int64 else tensor
    found = tensor.contiguous().flatten().view(torch.uint8).numpy()
    return np.pad(found, (0, -len(found) % _ALIGNED))


def _tensors(data: Tensor, shapes: Sequence[tuple[int, tuple[int, ...]]]) -> list[Tensor]:
    """One view, and for integers one cast, for all tensors of a dtype."""
    found: list[Tensor] = []
    start = 0
    for number, dtype in enumerate(_DTYPES):
        own = [shape for at, shape in shapes if at == number]
        if not own:
            continue
        sizes = [size for shape in own for size in _with_gap(math.prod(shape), _ALIGNED // _WIDTHS[dtype])]
        stop = start + sum(sizes) * _WIDTHS[dtype]
        stored = torch.int32 if dtype == torch.int64 else dtype
        flat = data[start:stop].view(stored).to(dtype)
        parts = flat.split_with_sizes(sizes)[::2]
        found += [p if len(s) == 1 else p.view(s) for p, s in zip(parts, own, strict=True)]
        start = stop
    return found


def _with_gap(size: int, unit: int) -> tuple[int, int]:
    """A number of elements, and how many more make it a multiple of ``unit``."""
    return size, -size % unit
