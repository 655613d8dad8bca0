"""Speed and memory, measured here and now: ``ehnn bench``, or ``python -m ehnn.bench``.

Every benchmark is a function ``bench(*, device, out, repeats, …, say) -> rows``: it prints as it goes and
writes rows to ``out`` (`ehnn.results`). In these rows ``mean`` is the median of ``runs`` repeats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .cost import cost
from .k_edge import k_edge
from .peers import peers
from .report import merge
from .scale import scale
from .walmart import walmart

BENCHES: dict[str, Callable[..., list[dict[str, Any]]]] = {
    "cost": cost,
    "scale": scale,
    "peers": peers,
    "walmart": walmart,
    "k-edge": k_edge,
}
"""The benchmarks by name."""

__all__ = ["BENCHES", "cost", "k_edge", "merge", "peers", "scale", "walmart"]
