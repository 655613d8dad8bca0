r"""The logits of the paper's attention (Eq. 11), for queries that depend on 𝓘 alone.

.. math:: s^{h, \mathcal I}_i = \mathcal Q(\mathcal I)_h \cdot \mathcal K(\mathcal I, x_i)_h / \sqrt{d_H}

𝓚 is one linear map for 𝓘 = 0 and one for 𝓘 ≥ 1.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ehnn.overlap.source_sizes import SourceSizes

from ..dispatch import Implementation, Operation, definition
from . import folded
from .naive import reference_logits


def attention_logits(
    x: Tensor, query: Tensor, key: Any, slots: SourceSizes, heads: int, pooled: bool
) -> tuple[Tensor, Tensor]:
    """Logits of 𝓘 = 0, ``[num_sources, heads or 0]``, and of 𝓘 ≥ 1, ``[num_slots, heads]``.

    Args:
        x: ``[num_sources, d]``.
        query: ``[1 + distinct 𝓘, d]``, of 𝓘 = 0 first.
        key: ``[rows, d] → [rows, 2d]``, the keys of 𝓘 = 0 first; ``[rows, d]`` unless ``pooled``.
        slots: the sources once for each 𝓘 with which they meet some target.
        pooled: whether there is the term 𝓘 = 0.
    """
    return LOGITS(x, query, key, slots, heads, pooled)


LOGITS = Operation(
    "attention_logits", Implementation("folded", folded.supports, folded.run), definition(reference_logits)
)
