"""Features of families of hyperedges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .hypergraph import Hypergraph

FAMILIES = ("nodes", "edges", "all", "incidences")
_MISSING = {"nodes": "x", "edges": "edge_x", "all": "x and edge_x", "incidences": "incidence_x"}


def family_features(h: Hypergraph, family: str) -> Tensor:
    """`Hypergraph.features`."""
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {FAMILIES}, got {family!r}")
    found = _all(h) if family == "all" else getattr(h, _MISSING[family])
    if found is None:
        raise ValueError(f"this hypergraph has no features of {family!r}: {_MISSING[family]} is None")
    return found


def _all(h: Hypergraph) -> Tensor | None:
    """Nodes, then hyperedges; each has zeros in the channels of the other."""
    if h.x is not None and h.edge_x is not None:
        pad = torch.nn.functional.pad
        return torch.cat([pad(h.x, (0, h.edge_x.shape[1])), pad(h.edge_x, (h.x.shape[1], 0))])
    if h.x is not None:
        return torch.cat([h.x, h.x.new_zeros(h.num_edges, h.x.shape[1])])
    if h.edge_x is not None:
        return torch.cat([h.edge_x.new_zeros(h.num_nodes, h.edge_x.shape[1]), h.edge_x])
    return None
