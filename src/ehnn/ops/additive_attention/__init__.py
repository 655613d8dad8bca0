r"""Softmax-weighted sums over the rows of a pattern, for logits that depend on both ends of a pair.

.. math::
    y_r = \sum_c \alpha_{rc} x_c, \qquad
    \alpha_{rc} = \mathrm{softmax}_c\, \mathrm{LeakyReLU}(t_r + s_c)

the additive attention of GAT.
"""

from __future__ import annotations

from torch import Tensor

from ehnn.hypergraph import SparsePattern

from ..dispatch import Implementation, Operation, definition
from . import recomputed
from .naive import reference_additive_attention


def additive_attention(x: Tensor, source: Tensor, target: Tensor, pairs: SparsePattern) -> Tensor:
    """``x [num_cols, heads, c] → y [num_rows, heads, c]``; 0 for empty rows.

    ``source [num_cols, heads]`` and ``target [num_rows, heads]`` are the parts s and t of the logits.
    LeakyReLU has the slope of the paper, 0.2.
    """
    return ADDITIVE_ATTENTION(x, source, target, pairs)


ADDITIVE_ATTENTION = Operation(
    "additive_attention",
    Implementation("recomputed", recomputed.supports, recomputed.run),
    definition(reference_additive_attention),
)
