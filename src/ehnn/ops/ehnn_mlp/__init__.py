r"""A whole EHNN-MLP layer (Eqs. 7 and 8 of the paper).

.. math:: y_j = \phi_3\Big(l, \sum_{\mathcal I \ge 0} \phi_2\big(\mathcal I,
    \sum_i B^{\mathcal I}_{ij}\, \phi_1(k, x_i)\big)\Big) + \mathcal B(l)
"""

from __future__ import annotations

from torch import Tensor

from ehnn.overlap import Overlap

from ..dispatch import Implementation, Operation, definition
from . import cpu, pipelined, recomputed
from .naive import EhnnMlpParts, reference_ehnn_mlp


def ehnn_mlp(x: Tensor, overlap: Overlap, parts: EhnnMlpParts) -> Tensor:
    """``[num_sources, d_in] → [num_targets, d_out]``."""
    return EHNN_MLP(x, overlap, parts)


EHNN_MLP = Operation(
    "ehnn_mlp",
    Implementation("cpu", cpu.supports, cpu.run),
    Implementation("pipelined", pipelined.supports, pipelined.run),
    Implementation("recomputed", recomputed.supports, recomputed.run),
    definition(reference_ehnn_mlp),
)

__all__ = ["EHNN_MLP", "EhnnMlpParts", "ehnn_mlp"]
