"""Refuse to predict from NaN or infinity."""

from __future__ import annotations

import torch
from torch import Tensor

HUGE = 1e100
"""Numbers above this are divided by the largest before they are squared."""


def finite_outputs(found: Tensor) -> Tensor:
    """``found`` ``[rows, …]``, the outputs of a fitted model; a ValueError if they are not all finite."""
    bad = ~found.isfinite()
    if not bool(bad.any()):
        return found
    rows = bad.reshape(bad.shape[0], -1).any(1).nonzero().squeeze(1)
    raise ValueError(
        f"the model has no finite output for {len(rows)} of {found.shape[0]} rows (row {int(rows[0])} is the "
        "first): features in or near them are far outside the range of those in fit"
    )


def finite_columns(x: Tensor, name: str) -> Tensor:
    """``x`` ``[rows, d]`` after scaling or rounding; a ValueError for numbers that were too large for it."""
    bad = ~x.isfinite()
    if not bool(bad.any()):
        return x
    row, column = (int(i) for i in bad.nonzero()[0])
    raise ValueError(
        f"{name} has numbers that are too large for {str(torch.get_default_dtype())[6:]} (row {row}, "
        f"column {column}): give them in larger units, or as logarithms"
    )
