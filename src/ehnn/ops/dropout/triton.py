"""Dropout on a GPU, which makes the mask where it is used."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..autograd import opaque


def _fake(x: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(x)


@opaque("ehnn::seeded_dropout", _fake)
def dropout(x: Tensor, seed: Tensor, p: float, rows: Tensor | None, whole: int | None) -> Tensor:
    """``x [runs, rows, d]`` with ``seed [runs]``; ``rows [rows]`` are the rows' numbers in the whole."""
    from .triton_kernels import forward

    return forward(x, None, None, seed, p, rows, whole)
