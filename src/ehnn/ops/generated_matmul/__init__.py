r"""Products with matrices that a network makes from keys, such as 𝓦(k, l, 𝓘) from (k, l, 𝓘).

.. math:: y_i = x_i W(\mathrm{key}_{g(i)}), \qquad y_{bl} = \sum_k x_{bk} W(\mathrm{key}_{kl})

for rows sorted by group, and for a vector of each member b and source order k. There is one matrix for each
distinct key, and at most `MOST` entries of matrices are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from ..dispatch import Implementation, Operation, definition
from . import chunked
from .naive import reference_matmul, reference_mix

Make = Callable[[Tensor], Tensor]
"""Keys ``[n, c] → [n, d_in, d_out]`` matrices."""


def generated_matmul(
    x: Tensor, make: Make, keys: Tensor, ptr: Tensor, ends: Sequence[int], d_out: int
) -> Tensor:
    """``x [rows, d_in], keys [groups, c] → [rows, d_out]``.

    Rows ``ptr[g]:ptr[g+1]`` are multiplied by ``make(keys)[g]``. ``ends`` has the numbers of
    ``ptr [groups + 1]`` on the host.

    >>> import torch
    >>> x, ptr = torch.ones(3, 1), torch.tensor([0, 1, 3])
    >>> double = lambda keys: 2.0 * keys.unsqueeze(1)
    >>> generated_matmul(x, double, torch.tensor([[1], [5]]), ptr, (0, 1, 3), 1).flatten().tolist()
    [2.0, 10.0, 10.0]
    """
    return GENERATED_MATMUL(x, make, keys, ptr, ends, d_out)


def generated_mix(x: Tensor, make: Make, keys: Tensor, d_out: int) -> Tensor:
    """``x [members, K, d_in], keys [K, L, c] → [members, L, d_out]``: Σ over K of rows times matrices."""
    return GENERATED_MIX(x, make, keys, d_out)


GENERATED_MATMUL = Operation(
    "generated_matmul",
    Implementation("chunked", chunked.supports, chunked.run),
    definition(reference_matmul),
)
GENERATED_MIX = Operation(
    "generated_mix",
    Implementation("chunked", chunked.supports_mix, chunked.run_mix),
    definition(reference_mix),
)
