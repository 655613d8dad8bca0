"""An EHNN-MLP layer that keeps its input alone, under `bounded_memory` on a GPU.

There, the kernels of φ keep nothing but their inputs; those of φ₂ and φ₃ are made again in the backward pass.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn.overlap import Overlap

from ..memory import bound, checkpointed
from ..phi import fused
from .naive import EhnnMlpParts, reference_ehnn_mlp


def supports(x: Tensor, overlap: Overlap, parts: EhnnMlpParts) -> str | None:
    """None where memory is bounded and φ keeps only its input. Otherwise an empty reason, which `explain`
    does not show.
    """
    wanted = bound(x.shape[0]) is not None and torch.is_grad_enabled() and type(overlap) is Overlap
    return None if wanted and _phi_keeps_its_input(x) else ""


def run(x: Tensor, overlap: Overlap, parts: EhnnMlpParts) -> Tensor:
    """`ehnn_mlp`."""
    return checkpointed(lambda x: reference_ehnn_mlp(x, overlap, parts), x)


def _phi_keeps_its_input(x: Tensor) -> bool:
    return x.is_cuda and x.shape[1] in fused.WIDTHS and fused.switched_off(x) is None
