r"""φ(k, x): a residual MLP on a feature and the order that goes with it (Eq. 7 of the paper).

.. math:: \phi(k, x) = x + \mathrm{MLP}([\mathrm{LayerNorm}(x), \mathrm{enc}(k)]) + r

with ReLU and dropout between the linear layers, a linear map on the skip connection where the width changes,
and a residual table r that serves rows by their order or member. `naive.py` is the definition.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn.hypergraph import SparsePattern

from ..dispatch import Implementation, Operation, definition, not_reference
from ..dropout import Mask, check_rows
from . import chunked, cpu, fused, steps, triton
from .fusable import Fusable
from .naive import PhiWeights, Residual, reference_phi


def phi(
    x: Tensor,
    codes: Tensor | None,
    orders: SparsePattern | None,
    weights: PhiWeights,
    masks: tuple[Mask | None, ...],
    residual: Residual | None = None,
) -> Tensor:
    """``[rows, d_in] → [rows, d_out]``.

    Args:
        codes: ``[distinct, c]`` constant encodings of the distinct orders; None if φ sees none.
        orders: rows × distinct orders, one each.
        weights: see `PhiWeights`.
        masks: of the dropout behind each hidden layer.
        residual: a table and rows × rows of the table, one each (None if one row serves all): what is
            added to each row.
    """
    weight = weights.last[0]
    if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
        raise ValueError(f"x must be {weight.dtype}, as the parameters are, got {x.dtype}")
    for mask in masks:
        check_rows(x, mask)
    for table, pairs in ((codes, orders), residual or (None, None)):
        if table is not None and pairs is not None:
            _check_table(x, table, pairs)
    return PHI(x, codes, orders, weights, masks, residual)


def _check_table(x: Tensor, table: Tensor, pairs: SparsePattern) -> None:
    """Raise a ValueError if ``pairs`` do not name a row of the table for each row of x."""
    if (pairs.num_rows, pairs.num_cols) != (x.shape[0], table.shape[0]):
        raise ValueError(
            f"each of {x.shape[0]} rows must have one of {table.shape[0]} rows of a table, got a pattern of "
            f"{pairs.num_rows} × {pairs.num_cols}"
        )


PHI = Operation(
    "phi",
    Implementation("cpu", cpu.supports, cpu.run),
    Implementation("fused", fused.supports, fused.run),
    Implementation("chunked", chunked.supports, chunked.run),
    Implementation("triton", triton.supports, triton.run),
    Implementation("steps", not_reference, steps.run),
    definition(reference_phi),
)

__all__ = ["PHI", "Fusable", "PhiWeights", "Residual", "phi"]
