"""Random splits of labelled nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

PARTS = ("train", "valid", "test")


def random_split(
    y: Any,
    fractions: Sequence[float] = (0.5, 0.25, 0.25),
    *,
    seed: int | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(train, valid, test): sorted int64 node numbers, disjoint, together all labelled nodes.

    ``y`` is ``[num_nodes]`` labels (negative or NaN: not labelled, in no part), or a number of nodes. The
    first two of the ``fractions`` are rounded down and the test part takes the rest. ``seed`` (0 if neither
    is given) makes a generator of its own; give it or ``generator``, not both.

    >>> [len(part) for part in random_split(10, (0.6, 0.2, 0.2))]
    [6, 2, 2]
    """
    shares = _check_fractions(fractions)
    if seed is not None and generator is not None:
        raise ValueError("give seed or generator, not both")
    labelled = _labelled(y)
    if generator is None:
        generator = torch.Generator().manual_seed(0 if seed is None else seed)
    count = labelled.shape[0]
    first, second = (math.floor(share * count + 1e-9) for share in shares[:2])
    sizes = (first, second, count - first - second)
    empty = [name for name, size in zip(PARTS, sizes, strict=True) if size < 1]
    if empty:
        raise ValueError(
            f"the {empty[0]} part is empty: {count} labelled nodes split by {tuple(shares)} give {sizes}"
        )
    order = torch.randperm(count, generator=generator, device=generator.device).to(labelled.device)
    train, valid, test = (labelled[part].sort().values for part in order.split(sizes))
    return train, valid, test


def _check_fractions(fractions: Sequence[float]) -> list[float]:
    shares = [float(share) for share in fractions]
    good = len(shares) == 3 and all(math.isfinite(s) and s > 0 for s in shares)
    if not good or abs(sum(shares) - 1) > 1e-6:
        raise ValueError(f"fractions must be three positive numbers that add up to 1, got {tuple(fractions)}")
    return shares


def _labelled(y: Any) -> Tensor:
    if isinstance(y, int) and not isinstance(y, bool):
        if y < 0:
            raise ValueError(f"a number of nodes must not be negative, got {y}")
        return torch.arange(y)
    labels = torch.as_tensor(y)
    if labels.dim() != 1:
        raise ValueError(
            f"y must be one label per node or a number of nodes, got shape {tuple(labels.shape)}"
        )
    # NaN >= 0 is False, so this masks missing labels of either kind.
    return (labels >= 0).nonzero().squeeze(1)
