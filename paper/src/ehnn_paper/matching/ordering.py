"""Places of pairs in another order, made on the device."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn.ops.autograd import opaque


def _fake_sort(numbers: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(numbers), torch.empty_like(numbers, dtype=torch.int64)


@opaque("ehnn::stable_sort", _fake_sort)
def stable_sort(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers in ascending order and where each stood, ``[n]`` both; equals keep their order.

    `torch.compile` calls it as it is: its own sort would be compiled again for other sizes.
    """
    values, order = torch.sort(numbers, stable=True)
    return values, order


def pointer_of(ascending: Tensor, size: int) -> Tensor:
    """``[size + 1]``: where each number below ``size`` begins; unlike a count it does not wait."""
    return torch.searchsorted(ascending, torch.arange(size + 1, device=ascending.device))
