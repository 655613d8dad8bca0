"""Checks of what users pass in. Every error names the thing, its value and what was expected."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def as_index(values: Any, name: str, size: int | None = None) -> Tensor:
    """``values`` as an int64 tensor of indices in ``[0, size)``, or a ValueError that says what is wrong."""
    tensor = values if isinstance(values, Tensor) else _to_tensor(values, name)
    if tensor.numel() == 0:
        return tensor.reshape(-1).to(torch.int64)
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise ValueError(f"{name} must be integers, got dtype {tensor.dtype}, such as {_odd_one(tensor)}")
    if tensor.dim() != 1:
        raise ValueError(f"{name} must have one dimension, got shape {tuple(tensor.shape)}")
    tensor = tensor.to(torch.int64)
    low, high = (int(v) for v in torch.aminmax(tensor))
    if low < 0:
        raise ValueError(f"{name} must not be negative, got {low}")
    if size is not None and high >= size:
        raise ValueError(f"{name} must be below {size}, got {high}")
    return tensor


def _odd_one(tensor: Tensor) -> Any:
    """The first entry that is no whole number; the first of all if there is none."""
    flat = tensor.flatten()
    fraction = flat[flat != flat.round()] if flat.is_floating_point() else flat[:0]
    return (fraction if fraction.numel() else flat)[0].item()


def as_permutation(perm: Any, size: int) -> Tensor:
    """``perm`` as an int64 tensor that is a permutation of ``range(size)``."""
    index = as_index(perm, "perm", size)
    if index.shape[0] != size or not torch.equal(
        index.sort().values, torch.arange(size, device=index.device)
    ):
        raise ValueError(f"perm must be a permutation of {size} numbers, got {index.tolist()[:10]}")
    return index


def _to_tensor(values: Any, name: str) -> Tensor:
    try:
        array = np.asarray(values)
        if array.size == 0:
            return torch.zeros(0, dtype=torch.int64)
        if array.dtype.kind not in "iufb":
            raise TypeError
        if array.dtype.kind == "u" and int(array.max()) >= 2**63:
            raise OverflowError
        return numpy_to_torch(array.astype(np.int64) if array.dtype.kind == "u" else array)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be integers, got {short(values)}") from error


def numpy_to_torch(array: np.ndarray) -> Tensor:
    """``array`` as a tensor; copied if it is read-only, strided or byte-swapped, which torch refuses."""
    return torch.from_numpy(np.require(array, array.dtype.newbyteorder("="), ["C", "W"]))


_LEAST = {0: "an integer that is not negative", 1: "a positive integer"}


def as_count(value: Any, name: str, least: int = 0) -> int:
    """``value``, an integer of Python or NumPy, as an int of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        wanted = _LEAST.get(least, f"an integer of at least {least}")
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return int(value)


def as_rows(values: Any, name: str, rows: int, what: str, dims: tuple[int, ...]) -> Tensor | None:
    """``values`` as a tensor with one row for each of the ``rows`` things called ``what``."""
    if values is None:
        return None
    try:
        tensor = values if isinstance(values, Tensor) else numpy_to_torch(np.asarray(values))
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a list of tensors with gradients
        raise ValueError(f"{name} must be numbers, got {short(values)}") from error
    if tensor.dtype == torch.float64 and not isinstance(values, (Tensor, np.ndarray)):
        tensor = tensor.to(torch.get_default_dtype())
    if tensor.dim() not in dims:
        expected = " or ".join(map(str, dims))
        raise ValueError(f"{name} must have {expected} dimensions, got shape {tuple(tensor.shape)}")
    if tensor.shape[0] != rows:
        raise ValueError(f"{name} must have one row per {what} ({rows}), got {tensor.shape[0]} rows")
    return tensor


def as_names(names: Sequence[Hashable] | None, name: str, rows: int) -> tuple[Hashable, ...] | None:
    """``names`` as a tuple with one name per row."""
    if names is None:
        return None
    try:
        names = tuple(names)
    except TypeError as error:
        raise ValueError(f"{name} must be a sequence of names, got {short(names)}") from error
    if len(names) != rows:
        raise ValueError(f"{name} must have {rows} entries, got {len(names)}")
    return names


def is_missing(value: Any) -> bool:
    """Whether ``value`` is None, NaN, or pandas' NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def repeated(values: Iterable[Hashable]) -> Hashable:
    """The first value that was there before; None if all are distinct."""
    seen: set[Hashable] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def short(value: Any, limit: int = 60) -> str:
    """``repr(value)`` cut to ``limit`` characters, for error messages."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
