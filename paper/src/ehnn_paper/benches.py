"""The benchmarks of ``ehnn bench``, by name.

Every benchmark is a function ``bench(*, device, out, repeats, …, say) -> rows``: it prints as it goes and
writes rows to ``out`` (`ehnn_paper.results`). In these rows ``mean`` is the median of ``runs`` repeats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .cost.cost import cost
from .k_edge.speed import k_edge
from .measure.tables import merge
from .nodes.speed import walmart
from .scale.peers import peers
from .scale.scale import scale

BENCHES: dict[str, Callable[..., list[dict[str, Any]]]] = {
    "cost": cost,
    "scale": scale,
    "peers": peers,
    "walmart": walmart,
    "k-edge": k_edge,
}
"""The benchmarks by name."""

__all__ = ["BENCHES", "cost", "k_edge", "merge", "peers", "scale", "walmart"]
