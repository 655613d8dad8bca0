"""The base class of layers ``layer(x, overlap) -> y``."""

from __future__ import annotations

from torch import Tensor, nn

from ehnn._utils.validation import as_count
from ehnn.hypergraph import Hypergraph
from ehnn.overlap import Overlap

from .dropout import Rows

AGGREGATIONS = ("mean", "sum")


class Layer(nn.Module):
    """Base class of layers: a map from features of source hyperedges to features of target hyperedges.

    ``layer(x, overlap)`` with ``x: [num_sources, d_in]`` returns ``[num_targets, d_out]``; the overlap
    says which families these are. A layer of your own is a subclass:

    >>> import ehnn, torch
    >>> class Sum(Layer):
    ...     def forward(self, x, overlap):
    ...         self.check(x, overlap)
    ...         return ehnn.ops.segment_sum(x, overlap.merged)
    >>> h = ehnn.Hypergraph.from_edges([[0, 1], [1, 2]])
    >>> Sum(1, 1)(torch.ones(3, 1), h.overlap("nodes", "edges")).tolist()
    [[2.0], [2.0]]
    """

    d_in: int
    d_out: int
    takes_roles = True
    """False for a layer that cannot use the roles of hyperedges: `check` then raises an error for them."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_in, self.d_out = as_count(d_in, "d_in", 1), as_count(d_out, "d_out", 1)

    def rows_seen(self) -> dict[nn.Module, Rows]:
        """Which rows each submodule processes; submodules that are not listed process the targets.

        `ehnn.parallel.number_rows` needs this, so that dropout masks do not depend on the number of ranks.
        """
        return {}

    def extra_repr(self) -> str:
        return f"{self.d_in}, {self.d_out}"

    def check(self, x: Tensor, overlap: Overlap) -> None:
        """Raise a ValueError if ``x`` does not fit the layer and the source family."""
        if not isinstance(overlap, Overlap):
            raise ValueError(
                f"a layer is called as layer(x, overlap), overlap being h.overlap(source, target), got "
                f"{type(overlap).__name__}"
            )
        if not self.takes_roles and overlap.num_roles != (1, 1):
            raise ValueError(
                f"{type(self).__name__} does not take roles; use h.replace(roles=None) to ignore them"
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


def check_hypergraph(model: nn.Module, h: Hypergraph) -> None:
    """Raise a ValueError if ``h`` is a tensor: a model takes a Hypergraph, and its features are in it."""
    if isinstance(h, Tensor):
        name = type(model).__name__
        raise ValueError(f"{name} is called as model(h) with a Hypergraph, got a tensor of {list(h.shape)}")


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
