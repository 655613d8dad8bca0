"""Combine the losses of all ranks into one gradient."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .ranks import Ranks


def mean_over_ranks(values: Tensor, ranks: Ranks) -> Tensor:
    """This rank's share of a mean: the sum of its ``values`` (any shape) over their number on all
    ranks, a scalar.

    The shares add up to the mean over all ranks, so `backward` on them gives its gradient.

    >>> mean_over_ranks(torch.tensor([1.0, 3.0]), Ranks())  # one rank alone
    tensor(2.)
    """
    count = ranks.sum(torch.tensor(values.numel(), device=values.device))
    return values.sum() / count.clamp(min=1)


def backward(loss: Tensor, model: nn.Module, ranks: Ranks) -> Tensor:
    """Gradients of Σ over ranks of ``loss``, the same on every rank; returns that sum. A collective.

    ``loss`` is the part of the loss that belongs to this rank's own rows (0 · rows = an empty sum if it has
    none; it must still depend on the model's output). What every rank has, such as the rows of a
    readout, must be divided by ``ranks.size`` first. As with ``loss.backward()``, gradients that are there
    already are added to.

    >>> model = nn.Linear(2, 1)
    >>> total = backward(model(torch.ones(3, 2)).sum(), model, Ranks())  # one rank alone
    >>> model.bias.grad
    tensor([3.])
    """
    before = [(p, p.grad) for p in model.parameters() if p.requires_grad]
    for p, _ in before:
        p.grad = None  # what is there is of all ranks already
    loss.backward()
    sum_gradients(model.parameters(), ranks)
    for p, old in before:
        if old is not None:
            p.grad = old if p.grad is None else old + p.grad
    return ranks.sum(loss)


def sum_gradients(parameters: Iterable[Tensor], ranks: Ranks) -> None:
    """Replace the gradients of ``parameters`` by their sums over ranks, with one all-reduce per dtype. A
    collective.

    A parameter that no rank used keeps None as its gradient.

    >>> weight = torch.ones(2, requires_grad=True)
    >>> weight.sum().backward()
    >>> sum_gradients([weight], Ranks())  # one rank alone
    >>> weight.grad
    tensor([1., 1.])
    """
    wanted = [p for p in parameters if p.requires_grad]
    for p, grad in zip(wanted, _summed([p.grad for p in wanted], wanted, ranks), strict=True):
        p.grad = grad


def replicated(parameters: Mapping[str, Tensor], ranks: Ranks) -> dict[str, Tensor]:
    """The same parameters, whose gradients are summed over ranks on the way back. A collective there.

    A loss must depend on them on every rank, if only as an empty sum.
    """
    return dict(zip(parameters, _Replicated.apply(ranks, *parameters.values()), strict=True))


class _Replicated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, ranks: Ranks, *parameters: Tensor) -> tuple[Tensor, ...]:
        ctx.ranks, ctx.like = ranks, [p.detach() for p in parameters]
        ctx.set_materialize_grads(False)
        return tuple(p.view_as(p) for p in parameters)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        return None, *_summed(list(grads), ctx.like, ctx.ranks)


def _summed(grads: Sequence[Tensor | None], like: Sequence[Tensor], ranks: Ranks) -> list[Tensor | None]:
    """Sums over ranks; None where no rank has a gradient."""
    total: list[Tensor | None] = [None] * len(grads)
    for places in _by_kind(like):
        here = [grads[i] for i in places]
        flags = torch.stack([like[i].new_tensor(float(grads[i] is not None)) for i in places])
        parts = [torch.zeros_like(like[i]) if g is None else g for i, g in zip(places, here, strict=True)]
        every = ranks.sum(torch.cat([flags, *(part.reshape(-1) for part in parts)]))
        flat = every[len(places) :].split([like[i].numel() for i in places])
        for i, used, grad in zip(places, every[: len(places)].tolist(), flat, strict=True):
            total[i] = grad.reshape(like[i].shape).clone() if used else None
    return total


def _by_kind(tensors: Sequence[Tensor]) -> list[list[int]]:
    """Places of the tensors of each dtype and device."""
    kinds: dict[tuple[torch.dtype, torch.device], list[int]] = {}
    for i, t in enumerate(tensors):
        kinds.setdefault((t.dtype, t.device), []).append(i)
    return list(kinds.values())
