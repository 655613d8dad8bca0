"""Labels as people give them: lists, arrays, frames, with some missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph.validate import short


def is_missing(value: Any) -> bool:
    """None, NaN and pandas' NA say: no label."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def plain(value: Any) -> Any:
    """A single number of NumPy or PyTorch as Python's; anything else as it is."""
    return value.item() if isinstance(value, (np.generic, Tensor)) and value.ndim == 0 else value


def as_list(y: Any, name: str = "y") -> list[Any]:
    """``y`` as a list of plain Python values, one per row; a row of a matrix of several columns is a list."""
    if isinstance(y, Tensor):
        y = y.detach().cpu().numpy()
    if hasattr(y, "tolist"):
        y = y.tolist()
    elif hasattr(y, "to_numpy"):  # a pandas frame
        y = y.to_numpy().tolist()
    if isinstance(y, (str, bytes)) or not isinstance(y, Sequence):
        raise ValueError(f"{name} must be one label per row or a mapping from names, got {short(y)}")
    if len(y) and all(isinstance(v, list) and len(v) == 1 for v in y):
        y = [v[0] for v in y]
    return [plain(v) for v in y]


def has_names(y: Any) -> bool:
    """Whether ``y`` is a pandas Series or frame with an index of its own, not the default 0 … n−1."""
    index = getattr(y, "index", None)
    if index is None or callable(index) or not hasattr(y, "items"):
        return False
    return type(index).__name__ != "RangeIndex" or (index.start, index.step) != (0, 1)


def is_matrix(values: Sequence[Any]) -> bool:
    """Whether the rows are rows of a matrix."""
    return any(isinstance(v, (list, tuple, np.ndarray)) for v in values)


def no_class(value: Any) -> bool:
    """Missing, or -1."""
    return is_missing(value) or (isinstance(value, (int, float)) and value == -1)


def plain_class(value: Any) -> Any:
    """A class as str, int or bool."""
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, float):
        raise ValueError(f"label {value} is not a class; to predict numbers, use a regressor")
    if not isinstance(value, int):
        raise ValueError(f"a label must be text or an integer, got {short(value)}")
    if value < 0:
        raise ValueError(f"label {value} is negative; classes count from 0, and -1 means no label")
    return value


def as_matrix(values: Sequence[Any], width: int | None) -> Tensor:
    """``[rows, width]`` float64; a missing row or entry is NaN."""
    widths = {len(v) for v in values if isinstance(v, (list, tuple, np.ndarray))}
    if len(widths) != 1 or (width is not None and widths != {width}):
        wanted = "equally many" if width is None else f"{width}"
        raise ValueError(f"each row of y must have {wanted} entries, got {sorted(widths) or 'no rows'}")
    empty: list[Any] = [None] * widths.pop()
    try:
        rows = [
            [math.nan if is_missing(v) else float(v) for v in (empty if is_missing(row) else row)]
            for row in values
        ]
    except (TypeError, ValueError) as error:
        raise ValueError(f"a matrix of labels must hold numbers: {error}") from error
    table = torch.tensor(rows, dtype=torch.float64).reshape(len(rows), len(empty))
    if bool(table.isinf().any()):
        raise ValueError("labels must be finite, got infinity")
    return table
