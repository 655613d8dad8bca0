"""Random numbers as a function of a seed and a place, independent of the order of calls."""

from __future__ import annotations

import torch


def generator_of(seed: int, number: int = 0, device: torch.device | str = "cpu") -> torch.Generator:
    """The generator of (seed, number), for example of an epoch; any integers will do.

    >>> a, b = (torch.rand(1, generator=generator_of(2**62, epoch)) for epoch in (3, 3))
    >>> bool(a == b)
    True
    """
    return torch.Generator(device).manual_seed((seed * 1_000_003 + number) % 2**63)
