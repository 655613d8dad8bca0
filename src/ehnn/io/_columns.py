"""Columns of Python values (from JSON, attributes of graph libraries) as tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.optional import suggest
from ehnn._utils.validation import short

Key = str | Sequence[str] | None
DTYPES = {
    str(d).removeprefix("torch."): d
    for d in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32,
              torch.int16, torch.int8, torch.uint8, torch.bool)
}  # fmt: skip


def attribute(records: Sequence[Mapping[str, Any]], key: str, owners: Sequence[Any], what: str) -> list[Any]:
    """The value of ``key`` in every record; a ValueError names the first owner that has none."""
    for record, owner in zip(records, owners, strict=True):
        if key not in record:
            raise ValueError(
                f"{what} {short(owner)} has no attribute {short(key)}; "
                f"it has {short(sorted(map(str, record)), 200)}" + suggest(key, record)
            )
    return [record[key] for record in records]


def stored(values: list[Any], dtype: torch.dtype, shape: tuple[int, ...], what: str) -> Tensor:
    """The tensor that was written as ``values``, one per row: of this dtype and shape, the rows apart."""
    array = as_array(values, what, dtype.is_floating_point)
    if not values:
        array = array.reshape(0, *shape[1:])
    if array.shape[1:] != shape[1:]:
        raise ValueError(f"{what} must have rows of shape {shape[1:]}, got {array.shape[1:]}")
    tensor = torch.from_numpy(array)
    cast = tensor.to(dtype)
    exact = dtype.is_floating_point or not array.size or (array.dtype.kind in "ib" and torch.equal(
        cast.to(tensor.dtype), tensor))  # fmt: skip
    if not exact:
        raise ValueError(f"{what} must be numbers that {dtype} can hold")
    return cast


def features(columns: list[list[Any]], what: str) -> Tensor:
    """``[rows, channels]`` of the default dtype from columns of numbers or of lists of numbers."""
    parts = []
    for column in columns:
        array = as_array(column, what, floating=True)
        if array.ndim > 2:
            raise ValueError(f"{what} must be numbers or lists of numbers, got shape {array.shape}")
        parts.append(torch.from_numpy(array.reshape(len(column), array.size // max(len(column), 1))))
    return torch.cat(parts, 1).to(torch.get_default_dtype())


def labels(columns: list[list[Any]], what: str) -> Tensor:
    """``[rows]`` (one column) or ``[rows, columns]``: whole numbers, other numbers, or classes.

    Text becomes class numbers, in sorted order of the distinct texts.
    """
    parts = [_labels(column, what) for column in columns]
    return parts[0] if len(parts) == 1 else torch.stack(parts, 1)


def _labels(column: list[Any], what: str) -> Tensor:
    if column and all(isinstance(v, str) for v in column):
        return classes(column)
    array = as_array(column, what, floating=False)
    tensor = torch.from_numpy(array)
    return tensor.to(torch.get_default_dtype() if array.dtype.kind == "f" and column else torch.int64)


def classes(texts: Sequence[str]) -> Tensor:
    """``[len(texts)]`` number of each text among the sorted distinct texts."""
    number = {text: i for i, text in enumerate(sorted(set(texts)))}
    return torch.tensor([number[text] for text in texts], dtype=torch.int64)


def as_array(values: Any, what: str, floating: bool) -> np.ndarray:
    """``values`` as an array of float64, or of int64, bool or float64 as they are; otherwise a ValueError."""
    try:
        array = np.array(values, dtype=np.float64) if floating else np.array(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{what} must be numbers in rows of one length, got {short(values)}") from error
    if array.dtype.kind not in "ifb":
        raise ValueError(f"{what} must be numbers in rows of one length, got {short(values)}")
    return array if array.dtype.kind != "i" else array.astype(np.int64)


def plain(tensor: Tensor) -> list[Any]:
    """The rows of a tensor as Python values."""
    return tensor.detach().cpu().tolist()


def json_plain(tensor: Tensor) -> list[Any]:
    """The same for JSON, which has no NaN (here null) and no infinity (here the text "Infinity")."""
    tensor = tensor.detach().cpu()
    if not tensor.is_floating_point() or bool(torch.isfinite(tensor).all()):
        return tensor.tolist()
    array = tensor.double().numpy()
    values = array.astype(object)
    values[np.isnan(array)] = None
    values[np.isposinf(array)], values[np.isneginf(array)] = "Infinity", "-Infinity"
    return values.tolist()
