"""Hypothesis strategies that draw hypergraphs, including degenerate ones."""

from __future__ import annotations

from typing import Any

import torch

from ehnn.hypergraph import Hypergraph, batch

try:
    from hypothesis import strategies as st
except ImportError as error:  # pragma: no cover
    raise ImportError("ehnn.testing.strategies needs hypothesis: pip install hypothesis") from error

_NAMES = ("alpha", 7, ("a", 1), "ünïcode", "", 2.5)


@st.composite
def hypergraphs(
    draw: Any,
    *,
    min_nodes: int = 0,
    max_nodes: int = 8,
    min_edges: int = 0,
    max_edges: int = 8,
    features: bool | None = None,
    weights: bool | None = None,
    names: bool | None = None,
    d_node: int = 3,
    d_edge: int = 2,
) -> Hypergraph:
    """A Hypergraph of up to ``max_nodes`` nodes and ``max_edges`` hyperedges.

    Among those drawn: zero nodes, zero hyperedges, empty hyperedges (also at the end), isolated nodes,
    one node, repeated hyperedges, more hyperedges than nodes and fewer.

    Args:
        min_nodes, max_nodes, min_edges, max_edges: bounds on the counts.
        features: whether there are ``x`` (``[nodes, d_node]``), ``edge_x`` (``[hyperedges, d_edge]``) and
            ``y``; None draws it for each of them.
        weights: the same for ``edge_weight`` and ``incidence_weight``.
        names: the same for ``node_names`` and ``edge_names``.
    """
    num_nodes = draw(st.integers(min_nodes, max_nodes))
    edges = draw(_edges(num_nodes, min_edges, max_edges))
    present = {k: _decide(draw, features) for k in ("x", "edge_x", "y")}
    present |= {k: _decide(draw, weights) for k in ("edge_weight", "incidence_weight")}
    present |= {k: _decide(draw, names) for k in ("node_names", "edge_names")}
    return _dress(edges, num_nodes, present, d_node, d_edge, draw(st.integers(0, 2**16)))


@st.composite
def batches(draw: Any, *, max_members: int = 4, max_nodes: int = 5, max_edges: int = 5) -> Hypergraph:
    """A batch of up to ``max_members`` hypergraphs (also none) with the same attributes."""
    return batch(draw(members(max_members=max_members, max_nodes=max_nodes, max_edges=max_edges)))


@st.composite
def members(draw: Any, *, max_members: int = 4, max_nodes: int = 5, max_edges: int = 5) -> list[Hypergraph]:
    """Hypergraphs that can be batched: each attribute is there in all of them or in none."""
    keys = ("x", "edge_x", "y", "edge_weight", "incidence_weight", "node_names", "edge_names")
    present = {k: draw(st.booleans()) for k in keys}
    found = []
    for _ in range(draw(st.integers(0, max_members))):
        num_nodes = draw(st.integers(0, max_nodes))
        edges = draw(_edges(num_nodes, 0, max_edges))
        found.append(_dress(edges, num_nodes, present, 3, 2, draw(st.integers(0, 2**16))))
    return found


@st.composite
def _edges(draw: Any, num_nodes: int, min_edges: int, max_edges: int) -> list[list[int]]:
    node = st.integers(0, num_nodes - 1) if num_nodes else st.nothing()
    edge = st.sets(node, max_size=num_nodes)
    edges = [sorted(e) for e in draw(st.lists(edge, min_size=min_edges, max_size=max_edges))]
    again = draw(st.integers(0, len(edges)))
    empty = draw(st.integers(0, 2))
    return (edges + edges[:again] + [[]] * empty)[:max_edges]


def _decide(draw: Any, given: bool | None) -> bool:
    return draw(st.booleans()) if given is None else given


def _dress(
    edges: list[list[int]], num_nodes: int, present: dict[str, bool], d_node: int, d_edge: int, seed: int
) -> Hypergraph:
    """The hypergraph of ``edges`` with the attributes that are ``present``, drawn from ``seed``."""
    generator = torch.Generator().manual_seed(seed)
    bare = Hypergraph.from_edges(edges, num_nodes)
    n, m = bare.num_nodes, bare.num_edges
    values = {
        "x": torch.randn(n, d_node, generator=generator),
        "edge_x": torch.randn(m, d_edge, generator=generator),
        "y": torch.randint(5, (n,), generator=generator),
        "edge_weight": torch.rand(m, generator=generator) + 0.5,
        "incidence_weight": torch.rand(bare.num_incidences, generator=generator) + 0.5,
        "node_names": _names(n, "v"),
        "edge_names": _names(m, "e"),
    }
    return bare.replace(**{k: v for k, v in values.items() if present[k]})


def _names(count: int, letter: str) -> tuple[Any, ...]:
    """Distinct names of several types."""
    return (*_NAMES[:count], *(f"{letter}{i}" for i in range(len(_NAMES), count)))
