"""Vectors of small counts, one per row, as a table of the distinct ones: role counts and overlap matrices."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

_LARGEST = 2**62


def distinct_vectors(
    row: Tensor, entry: Tensor, count: Tensor, num_rows: int, num_entries: int
) -> tuple[Tensor, Tensor]:
    """The distinct vectors among c[row] with c[row[p], entry[p]] = count[p], and which one each row has.

    Each (row, entry) occurs at most once; entries that do not occur are 0. ``row``, ``entry`` and ``count``
    are ``[n]``. Returns the table ``[distinct, num_entries]``, in lexicographic order, and ``[num_rows]``
    places in it. A vector is read as the digits of one number, so memory is linear in n and the table; where
    the number would not fit into 64 bits, digits that were read are replaced by the rank of what they spell.

    >>> distinct_vectors(*(torch.tensor(v) for v in ([0, 1, 1], [0, 0, 1], [2, 1, 3])), 3, 2)
    (tensor([[0, 0],
            [1, 3],
            [2, 0]]), tensor([2, 1, 0]))
    """
    base = torch.ones(num_entries, dtype=torch.int64, device=row.device)
    base.scatter_reduce_(0, entry, count + 1, "amax")
    index = torch.zeros(num_rows, dtype=torch.int64, device=row.device)
    table = index.new_zeros(min(num_rows, 1), 0)
    for first, end in _parts(base.tolist(), num_rows):
        digits = base[first:end]
        place = torch.flip(torch.cumprod(torch.flip(digits, (0,)), 0), (0,))  # of a digit, times its base
        size = int(place[0])
        place = torch.cat([place[1:], place.new_ones(1)])
        here = (entry >= first) & (entry < end)
        number = (index * size).index_add(0, row[here], count[here] * place[entry[here] - first])
        found, index = torch.unique(number, return_inverse=True)
        before, rest = torch.div(found, size, rounding_mode="floor"), found % size
        spelled = torch.div(rest.unsqueeze(1), place, rounding_mode="floor") % digits
        table = torch.cat([table[before], spelled], 1)
    return table, index


def _parts(bases: list[int], num_rows: int) -> Iterator[tuple[int, int]]:
    """Ranges of digits whose numbers, after those of ``num_rows`` ranks, fit into 64 bits."""
    first, size = 0, max(num_rows, 1)
    for entry, base in enumerate(bases):
        if size * base > _LARGEST and entry > first:
            yield first, entry
            first, size = entry, max(num_rows, 1)
        size *= base
    if bases:
        yield first, len(bases)
