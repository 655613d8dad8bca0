"""Encodings of orders, kept for as long as the program runs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor


class Codes(dict[Any, Tensor]):
    """What networks make of the distinct values of an `Orders`; batch after batch these are the same few.

    Made anew for each batch, they would be copied from the host, and the host would wait for the device.
    """

    def __init__(self, orders: tuple[int, ...]) -> None:
        super().__init__()
        self.orders = orders


@lru_cache(maxsize=64)
def codes_of(orders: tuple[int, ...], device: torch.device) -> Codes:
    """The one dictionary for these distinct values on a device."""
    return Codes(orders)
