r"""A matrix per group of rows: :math:`y_i = x_i W_{g(i)}` for rows sorted by group."""

from __future__ import annotations

import torch
from torch import Tensor

from ..dispatch import Implementation, Operation, definition, not_reference
from . import by_length
from .naive import reference_grouped_matmul


def grouped_matmul(x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
    """``x [rows, d], weight [groups, d, e] → [rows, e]``: rows ``ptr[g]:ptr[g+1]`` times ``weight[g]``.

    Every derivative exists.

    >>> x, weight = torch.ones(3, 1), torch.tensor([[[2.0]], [[5.0]]])
    >>> grouped_matmul(x, weight, torch.tensor([0, 1, 3])).flatten().tolist()
    [2.0, 5.0, 5.0]
    """
    if weight.shape[0] != ptr.shape[0] - 1 or x.shape[1] != weight.shape[1]:
        raise ValueError(
            f"x {list(x.shape)}, weight {list(weight.shape)} and {ptr.shape[0] - 1} groups "
            "do not fit together"
        )
    if torch.is_autocast_enabled(x.device.type) and x.dtype != torch.float64:
        dtype = torch.get_autocast_dtype(x.device.type)
        x, weight = x.to(dtype), weight.to(dtype)
    return GROUPED_MATMUL(x, weight, ptr)


GROUPED_MATMUL = Operation(
    "grouped_matmul",
    Implementation("by_length", not_reference, by_length.run),
    definition(reference_grouped_matmul),
)
