"""The coarser classes α and β of Lemma 1, for symmetric inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from ehnn._utils.validation import as_count

from .checks import check_parameter
from .patterns import set_partitions

BlockType = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class SymmetricClasses:
    """Classes of order-(k+l) multi-indices under node, input-axis and output-axis permutations.

    Attributes:
        types: one entry per class, in order of its first pattern: how many (input, output) positions
            each block of its patterns has, sorted.
        of_pattern: ``[bell(k+l)]`` the class of each pattern of `set_partitions`.
    """

    types: tuple[BlockType, ...]
    of_pattern: Tensor

    def __len__(self) -> int:
        return len(self.types)


def symmetric_classes(k: int, l: int) -> SymmetricClasses:
    """The classes α of Lemma 1 for L_[k]→[l]; those called β are ``symmetric_classes(0, l)``.

    Axis permutations inside i and inside j keep, of a pattern, only how many input and output
    positions fall into each block.

    >>> symmetric_classes(1, 1).types
    (((1, 1),), ((0, 1), (1, 0)))
    """
    as_count(k, "k"), as_count(l, "l")
    types, of_pattern = _classes(k, l)
    return SymmetricClasses(types, torch.tensor(of_pattern, dtype=torch.int64))


@cache
def _classes(k: int, l: int) -> tuple[tuple[BlockType, ...], tuple[int, ...]]:
    number: dict[BlockType, int] = {}
    of_pattern = []
    for pattern in set_partitions(k + l):
        blocks = range(max(pattern, default=-1) + 1)
        kind = tuple(sorted((pattern[:k].count(b), pattern[k:].count(b)) for b in blocks))
        of_pattern.append(number.setdefault(kind, len(number)))
    return tuple(number), tuple(of_pattern)


def overlap_class(kind: BlockType) -> tuple[int, int, int]:
    """(k, l, 𝓘) of a class α: distinct entries of i, distinct entries of j, and entries they share."""
    return (
        sum(a > 0 for a, _ in kind),
        sum(b > 0 for _, b in kind),
        sum(a > 0 and b > 0 for a, b in kind),
    )


def untie(parameters: Tensor, classes: SymmetricClasses) -> Tensor:
    """``[patterns, ...]`` general parameters from ``[len(classes), ...]`` symmetric ones.

    >>> classes = symmetric_classes(2, 0)
    >>> untie(torch.tensor([1.0, 5.0]), classes).tolist()  # i₁ = i₂ and i₁ ≠ i₂
    [1.0, 5.0]
    """
    check_parameter(parameters, parameters, (len(classes), *parameters.shape[1:]), "parameters")
    return parameters[classes.of_pattern.to(parameters.device)]


def tie(parameters: Tensor, classes: SymmetricClasses) -> Tensor:
    """``[len(classes), ...]`` the mean of ``[patterns, ...]`` general parameters over each class.

    On symmetric inputs the symmetric layer with these weights gives the output of the general layer,
    averaged over permutations of the output axes (so equal to it where that output is symmetric).
    """
    index = classes.of_pattern.to(parameters.device)
    check_parameter(parameters, parameters, (index.shape[0], *parameters.shape[1:]), "parameters")
    total = parameters.new_zeros(len(classes), *parameters.shape[1:]).index_add(0, index, parameters)
    count = torch.bincount(index, minlength=len(classes)).to(parameters.dtype)
    return total / count.reshape(-1, *[1] * (parameters.dim() - 1))
