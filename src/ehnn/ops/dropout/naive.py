"""The definition of `seeded_dropout`: the mask, a hash of a seed and a position."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Mask(NamedTuple):
    """Which elements are dropped: a function of the seed, the number of rows and the element's place.

    Attributes:
        seed: int64, no dimensions.
        p: probability of zero.
        rows: ``[rows]``, where only some rows of a whole are here: their numbers in the whole.
        whole: how many rows the whole has.
    """

    seed: Tensor
    p: float
    rows: Tensor | None = None
    whole: int | None = None


def of_part(mask: Mask | None, whole: tuple[int, int] | None, rows: int) -> Mask | None:
    """The mask of ``rows`` rows of a ``whole`` (number of the first, rows in all); None: of all rows."""
    if mask is None or whole is None:
        return mask
    first, total = whole
    if mask.rows is not None:
        return mask._replace(rows=mask.rows[first : first + rows])
    return mask._replace(rows=torch.arange(first, first + rows, device=mask.seed.device), whole=total)


def reference_dropout(x: Tensor, mask: Mask) -> Tensor:
    """``x [rows, …]`` with the elements of the mask zeroed and the rest divided by 1 − p."""
    keep = uniform(mask, x.shape) >= mask.p
    return torch.where(keep, x * (1 / (1 - mask.p)), 0)


def uniform(mask: Mask, shape: torch.Size) -> Tensor:
    """Numbers in [0, 1) from a 32-bit integer hash (two multiply-xorshift rounds) of seed + position."""
    rows = torch.arange(shape[0], device=mask.seed.device) if mask.rows is None else mask.rows
    width = shape[1:].numel()
    place = (rows.unsqueeze(1) * width + torch.arange(width, device=rows.device)).reshape(shape)
    whole = shape[0] if mask.whole is None else mask.whole
    value = place * 0x85EBCA6B + (mask.seed + 0x9E3779B9 * whole)
    for factor in (0x7FEB352D, 0x846CA68B):
        value = value & 0xFFFFFFFF
        value = ((value ^ (value >> 16)) * factor) & 0xFFFFFFFF
    value = value ^ (value >> 15)
    return value.to(torch.float32) * 2.0**-32
