"""From a loss on every rank to one gradient."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from .ranks import Ranks


def mean_over_ranks(values: Tensor, ranks: Ranks) -> Tensor:
    """This rank's share of a mean: the sum of its ``values`` over the number of values on all ranks.

    The shares add up to the mean over all ranks, so `backward` on them gives its gradient.
    """
    count = ranks.sum(torch.tensor(values.numel(), device=values.device))
    return values.sum() / count.clamp(min=1)


def backward(loss: Tensor, model: nn.Module, ranks: Ranks) -> Tensor:
    """Gradients of Σ over ranks of ``loss``, the same on every rank; returns that sum. A collective.

    ``loss`` is the part of the loss that belongs to this rank's own rows (0 · rows = an empty sum if it has
    none; it must still depend on the model's output). What every rank has, such as the rows of a
    readout, must be divided by ``ranks.size`` first.
    """
    loss.backward()
    sum_gradients(model.parameters(), ranks)
    return ranks.sum(loss)


def sum_gradients(parameters: Iterable[Tensor], ranks: Ranks) -> None:
    """Replace every gradient by its sum over ranks, with one all-reduce per dtype. A collective.

    A parameter that no rank used keeps None as its gradient.
    """
    for same in _by_kind([p for p in parameters if p.requires_grad]):
        flags = torch.stack([_flag(p) for p in same])
        parts = [(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in same]
        total = ranks.sum(torch.cat([flags, *parts]))
        flags, flat = total[: len(same)], total[len(same) :]
        for p, used, grad in zip(same, flags.tolist(), flat.split([p.numel() for p in same]), strict=True):
            p.grad = grad.reshape(p.shape).clone() if used else None


def _flag(p: Tensor) -> Tensor:
    return torch.full((), float(p.grad is not None), dtype=p.dtype, device=p.device)


def _by_kind(parameters: list[Tensor]) -> list[list[Tensor]]:
    kinds: dict[tuple[torch.dtype, torch.device], list[Tensor]] = {}
    for p in parameters:
        kinds.setdefault((p.dtype, p.device), []).append(p)
    return list(kinds.values())
