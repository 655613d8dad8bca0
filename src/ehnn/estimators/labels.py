"""Labels as people give them: lists, arrays, frames, with some missing."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.validation import is_missing, short
from ehnn.io._names import EDGE_COLUMNS, NODE_COLUMNS

_ROW = (list, tuple, np.ndarray)
"""What a row of a matrix of labels may be."""


def plain(value: Any) -> Any:
    """A single number of NumPy or PyTorch as Python's; anything else as it is."""
    return value.item() if isinstance(value, (np.generic, Tensor)) and value.ndim == 0 else value


def as_list(y: Any, name: str = "y") -> list[Any]:
    """``y`` as a list of plain Python values, one per row; a row of a matrix of several columns is a list."""
    _refuse_names_as_labels(y)
    if isinstance(y, Tensor):
        y = y.detach().cpu().numpy()
    if hasattr(y, "toarray"):  # a sparse matrix of several labels
        y = y.toarray()
    if not hasattr(y, "tolist") and hasattr(y, "to_list"):  # of polars: NumPy has no missing whole numbers
        y = y.to_list()
    elif not hasattr(y, "tolist") and hasattr(y, "to_numpy"):  # a pandas frame
        y = y.to_numpy()
    elif not hasattr(y, "tolist") and hasattr(y, "__array__"):
        y = np.asarray(y)
    if isinstance(y, np.ndarray) and y.dtype.kind in "mM":  # tolist would give nanoseconds
        raise ValueError(f"{name} must be classes or numbers, such as numbers of days, got {y.dtype}")
    if hasattr(y, "tolist"):
        y = y.tolist()
    if isinstance(y, (str, bytes)) or not isinstance(y, Sequence):
        wanted = "one label per row or a mapping from names" if name == "y" else "a sequence with one per row"
        raise ValueError(f"{name} must be {wanted}, got {short(y)}")
    if len(y) and all(isinstance(v, list) and len(v) == 1 for v in y):
        y = [v[0] for v in y]
    return [plain(v) for v in y]


def _refuse_names_as_labels(y: Any) -> None:
    """A ValueError for a frame that has the names of the rows in a column beside the labels."""
    columns = list(getattr(y, "columns", ()))
    names = [c for c in columns if str(c).lower() in ("id", "name", *NODE_COLUMNS, *EDGE_COLUMNS)]
    if names and len(columns) > 1:
        label = next((c for c in columns if c not in names), columns[-1])
        raise ValueError(
            f"labels must not have the names of the rows as a column, got {short(columns)}; give "
            f"y[{label!r}] in the order of the rows, or a mapping from names to labels"
        )


def has_names(y: Any) -> bool:
    """Whether ``y`` is a pandas Series or frame with an index of its own.

    That is any but the default 0 … n−1 without a name.
    """
    index = getattr(y, "index", None)
    if index is None or callable(index) or not hasattr(y, "items"):
        return False
    default = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    return not default or index.name is not None


def is_matrix(values: Sequence[Any]) -> bool:
    """Whether the rows are rows of a matrix."""
    return any(isinstance(v, _ROW) for v in values)


def refuse_lists_of_names(values: Sequence[Any]) -> None:
    """A ValueError for several labels per row that are given by name."""
    for value in values:
        if isinstance(value, (set, frozenset)) or (
            isinstance(value, _ROW) and any(isinstance(v, str) for v in value)
        ):
            raise ValueError(
                f"several labels per row are a matrix of 0 and 1, got {short(value)}; "
                "sklearn.preprocessing.MultiLabelBinarizer makes one"
            )


def is_minus_one(value: Any) -> bool:
    """-1 as a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == -1


def minus_one_is_a_class(values: Sequence[Any]) -> bool:
    """Whether -1 among the labels is a class, not a missing label.

    It is where something else says missing (None, NaN), or where another label is negative. Beside 0 and 1
    alone it could be either, which is a ValueError; beside other classes from 0 it is a missing label.
    """
    if not any(map(is_minus_one, values)):
        return False
    others = {v for v in values if not is_minus_one(v) and not is_missing(v)}
    if any(map(is_missing, values)) or any(isinstance(v, (int, float)) and v < 0 for v in others):
        return True
    if others and others <= {0, 1}:
        raise ValueError(
            f"labels are -1 and {sorted(others)}: is -1 a class, or no label? For no label use None or NaN "
            "(numpy.where(y == -1, numpy.nan, y)) or a tensor; to keep it as a class, give classes as text"
        )
    return False


def hidden_minus_ones(y: Any, numbers: bool = False, own: bool = False) -> Any:
    """An integer tensor as a list with None for -1, which means no label there; anything else as it is.

    There is a warning where -1 may be meant as a ``number`` or class, unless the labels are a hypergraph's
    ``own``, as readers of files make them.
    """
    if not isinstance(y, Tensor) or y.is_floating_point() or y.ndim != 1:
        return y
    found = [None if v == -1 else v for v in y.tolist()]
    others = {v for v in found if v is not None}
    doubtful = numbers or (not own and (others <= {0, 1} or min(others) < 0))
    if None in found and others and doubtful:
        remedy = "make it a tensor of floats" if numbers else "give a list of text"
        warnings.warn(
            f"-1 in a tensor of integers means that there is no label: {found.count(None)} of {len(found)} "
            f"rows; to keep it as a {'number' if numbers else 'class'}, {remedy}",
            stacklevel=5,
        )
    return found


def plain_class(value: Any) -> Any:
    """A class as str, int or bool."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # what `class Team(str, Enum)` holds, and not its name
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, float):
        raise ValueError(f"label {value} is not a class; to predict continuous numbers, use a regressor")
    if not isinstance(value, int):
        raise ValueError(f"a label must be text or an integer, got {short(value)}")
    return value


def _number(value: Any) -> float:
    try:
        return math.nan if is_missing(value) else float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"labels must be numbers here, got {short(value)}") from error


def as_matrix(values: Sequence[Any], width: int | None) -> Tensor:
    """``[rows, width]`` float64; a missing row or entry is NaN."""
    single = next((v for v in values if not isinstance(v, _ROW) and not is_missing(v)), None)
    if single is not None:
        raise ValueError(f"each row of y must be a row of numbers, as others are, got {short(single)}")
    widths = {len(v) for v in values if isinstance(v, _ROW)}
    if len(widths) != 1 or (width is not None and widths != {width}):
        wanted = "equally many" if width is None else f"{width}"
        raise ValueError(f"each row of y must have {wanted} entries, got {sorted(widths) or 'no rows'}")
    empty: list[Any] = [None] * widths.pop()
    rows = [list(map(_number, empty if is_missing(row) else row)) for row in values]
    table = torch.tensor(rows, dtype=torch.float64).reshape(len(rows), len(empty))
    if bool(table.isinf().any()):
        raise ValueError("labels must be finite, got infinity")
    return table
