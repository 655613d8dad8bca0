"""What every layer ``layer(x, overlap) -> y`` shares."""

from __future__ import annotations

from torch import Tensor, nn

from ehnn.hypergraph.validate import as_count
from ehnn.ops import segment_mean, segment_sum, spread
from ehnn.overlap import Overlap

AGGREGATIONS = ("mean", "sum")


class Layer(nn.Module):
    """A map from features of source hyperedges to features of target hyperedges.

    ``layer(x, overlap)`` with ``x: [num_sources, d_in]`` returns ``[num_targets, d_out]``; the overlap
    says which families these are.
    """

    d_in: int
    d_out: int

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_in, self.d_out = as_count(d_in, "d_in", 1), as_count(d_out, "d_out", 1)

    def check(self, x: Tensor, overlap: Overlap) -> None:
        """Raise a ValueError if ``x`` does not fit the layer and the source family."""
        if not isinstance(overlap, Overlap):
            raise ValueError(
                f"a layer is called as layer(x, overlap), overlap being h.overlap(source, target), got "
                f"{type(overlap).__name__}"
            )
        if not isinstance(x, Tensor):
            raise ValueError(f"x must be a tensor, got {type(x).__name__}")
        if x.dim() != 2 or x.shape[0] != overlap.num_sources:
            raise ValueError(
                f"x must have one row per source ({overlap.num_sources}), got shape {list(x.shape)}"
            )
        if x.shape[1] != self.d_in:
            raise ValueError(f"x must have d_in={self.d_in} channels, got {x.shape[1]}")
        if not x.is_floating_point():
            raise ValueError(f"x must be floating point, got {x.dtype}")


def check_heads(heads: int, d: int, name: str) -> int:
    """``heads`` if they divide the ``d`` channels called ``name``."""
    heads = as_count(heads, "heads", 1)
    if d % heads:
        raise ValueError(f"heads must divide {name}={d}, got {heads!r}")
    return heads


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    """``value`` if it is one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {choices}, got {value!r}")
    return value


def pool(x: Tensor, overlap: Overlap, aggregation: str) -> Tensor:
    """``[num_sources, d] → [num_members, d]``: the 𝓘 = 0 term, over all sources of a batch member."""
    if overlap.pool is None:
        total = x.sum(0, keepdim=True)
        return total / max(x.shape[0], 1) if aggregation == "mean" else total
    return segment_mean(x, overlap.pool) if aggregation == "mean" else segment_sum(x, overlap.pool)


def to_targets(groups: Tensor, overlap: Overlap) -> Tensor:
    """``[num_groups, d] → [num_targets, d]``: Σ over 𝓘 ≥ 1."""
    return groups if overlap.gather is None else segment_sum(groups, overlap.gather)


def members_to_targets(rows: Tensor, overlap: Overlap) -> Tensor:
    """``[num_members, d] → [num_targets, d]`` (broadcast where there is one member)."""
    return rows if overlap.spread is None else spread(rows, overlap.spread)


def to_targets_with_pool(rows: Tensor, overlap: Overlap) -> Tensor:
    """``[num_groups + num_members, d] → [num_targets, d]``: Σ over 𝓘 ≥ 0, the pool standing last."""
    groups, members = rows.split([overlap.num_groups, overlap.num_members])
    return to_targets(groups, overlap) + members_to_targets(members, overlap)
