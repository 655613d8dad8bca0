"""Labels as classes numbered from 0, with -1 for nodes without one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor


def number_classes(values: np.ndarray) -> np.ndarray:
    """``[n]`` labels (NaN: missing) as class numbers in the order of the labels; missing is -1."""
    known = ~np.isnan(values)
    numbers = np.full(values.shape, -1, dtype=np.int64)
    numbers[known] = np.unique(values[known], return_inverse=True)[1]
    return numbers


def as_labels(numbers: np.ndarray, path: Path) -> Tensor:
    """``[n]`` class numbers as an int64 tensor; all of them missing is an error."""
    if numbers.size and bool((numbers < 0).all()):
        raise ValueError(f"{path}: not one of the {numbers.size} nodes has a label")
    return torch.from_numpy(np.ascontiguousarray(numbers, dtype=np.int64))
