"""A Hypergraph in one line, and whether two of them have the same content."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .hypergraph import Hypergraph


def counted(count: int, noun: str) -> str:
    """``counted(1, "node")`` is ``"1 node"``, ``counted(2, "node")`` is ``"2 nodes"``."""
    return f"{count} {noun}" + "s" * (count != 1)


def describe(h: Hypergraph) -> str:
    """``repr(h)``."""
    counts = {"node": h.num_nodes, "hyperedge": h.num_edges, "incidence": h.num_incidences}
    parts = [counted(count, name) for name, count in counts.items()]
    if h.num_edges:
        low, high = (int(v) for v in torch.aminmax(h.orders))
        parts.append(f"order {low}" if low == high else f"orders {low} to {high}")
    if h.num_members != 1:
        parts.append(f"batch of {h.num_members}")
    if h.roles is not None:
        parts.append(counted(h.num_roles, "role"))
    for name in ("x", "edge_x", "y", "edge_weight", "incidence_weight", "incidence_x"):
        value = getattr(h, name)
        if value is not None:
            parts.append(f"{name} {list(value.shape)} {str(value.dtype).removeprefix('torch.')}")
    if h.device.type != "cpu":
        parts.append(str(h.device))
    return f"Hypergraph({', '.join(parts)})"


def same_content(one: Hypergraph, other: Hypergraph) -> bool:
    """Whether two hypergraphs have the same counts, incidences and attributes, dtypes included."""
    if (one.num_nodes, one.num_edges) != (other.num_nodes, other.num_edges):
        return False
    mine, theirs = _content(one), _content(other)
    return all(_same(mine[k], theirs[k]) for k in mine)


def _content(h: Hypergraph) -> dict[str, Any]:
    content = {f.name: getattr(h, f.name) for f in dataclasses.fields(h)}
    del content["_overlaps"], content["incidence"]
    return content | {"ptr": h.incidence.ptr, "index": h.incidence.index}


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.dtype == b.dtype and a.device == b.device and torch.equal(a, b)
    return type(a) is type(b) and a == b
